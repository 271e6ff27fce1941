#!/usr/bin/env bash
# Builds test programs, and writes a line "folder<tab>program<tab>" for each to a file,
# the largest first: what is made of most takes longest, and is not left for the end.
# Examples are built, too: a test runs one.
#
#   list-programs.sh FILE [ARGUMENT…]      arguments of `cargo test`
set -euo pipefail

built=$(mktemp)
trap 'rm -f "$built"' EXIT
"${CARGO:-cargo}" test --no-run --message-format=json-render-diagnostics "${@:2}" >"$built"
grep '"test":true},"features"' "$built" |
    sed -n 's|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"executable":"\([^"]*\)".*|\1\t\2\t|p' |
    while IFS=$'\t' read -r folder program _; do
        printf '%s\t%s\t%s\t\n' "$(stat -c %s "$program")" "$folder" "$program"
    done | sort -rn | cut -f 2- >"$1"
