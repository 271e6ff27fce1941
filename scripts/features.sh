#!/bin/sh
# Prints which arguments leave out of a cargo command what this machine cannot
# build, and says on stderr what is left out and why. Nothing where all can be.
#
#   scripts/features.sh            for a command about the package lockgate
#   scripts/features.sh workspace  for one about the workspace
#
# The cargo feature `bpf` (XDP and AF_XDP) compiles libbpf, which wants the
# headers of libelf and zlib, make and pkg-config.
set -eu

missing=

needs_header() {
    printf '#include <%s>\nint main(void) { return 0; }\n' "$1" |
        cc -x c -fsyntax-only - 2>/dev/null || missing="$missing $2"
}

needs_command() {
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

needs_header libelf.h libelf-dev
needs_header zlib.h zlib1g-dev
needs_command make make
needs_command pkg-config pkg-config
[ -n "$missing" ] || exit 0

printf 'features: without bpf (no XDP, no AF_XDP): it cannot be built here; apt-get install%s\n' "$missing" >&2
case ${1:-} in
    workspace) echo "--no-default-features --exclude lockgate-xdp" ;;
    *) echo "--no-default-features" ;;
esac
