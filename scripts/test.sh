#!/usr/bin/env bash
# Builds all tests, runs them side by side, then those in documentation. Says how long
# each part took. Arguments are those of `cargo test`.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
# As .cargo/config.toml says for what cargo runs.
export LOCKGATE_CACHE=$PWD/target/lockgate-cache
list=$(mktemp)
trap 'rm -f "$list"' EXIT
status=0

# Runs a part of the work, and says how long it took.
part() {
    local began=$SECONDS ended=0
    "${@:2}" || ended=$?
    parts+="  $((SECONDS - began)) $1"$'\n'
    [ "$ended" -eq 0 ] || status=1
    return "$ended"
}

parts=
if part "building" ./scripts/list-programs.sh "$list" "$@"; then
    part "test programs" ./scripts/run-programs.sh "$list"
    part "tests in documentation" "${CARGO:-cargo}" test --doc --no-fail-fast "$@"
fi
printf 'seconds of each part:\n%s' "$parts"
exit "$status"
