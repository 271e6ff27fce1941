#!/bin/sh
# Compiles bpf/*.bpf.c to the objects beside them, which are committed, so that
# a build of Lockgate needs no clang.
#
#   scripts/build-bpf.sh [DIR]   into DIR instead
#   scripts/build-bpf.sh --version   the compiler it takes, or why there is none
#
# Only this one compiler, so that the same sources give the same bytes. Ends with
# 77 where it is missing.
set -eu

# Debian 12's; CLANG names another place for it.
VERSION=14.0.6
CLANG=${CLANG:-clang-14}
STRIP=${STRIP:-llvm-strip-14}
MISSING=77

say() { printf 'build-bpf: %s\n' "$*" >&2; }

for tool in "$CLANG" "$STRIP"; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        say "no $tool here; apt-get install clang-14 llvm-14"
        exit "$MISSING"
    fi
done
found=$("$CLANG" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
if [ "$found" != "$VERSION" ]; then
    say "$CLANG is $found, not $VERSION: other bytes would come out; CLANG=… names another"
    exit "$MISSING"
fi
if [ "${1:-}" = --version ]; then
    echo "$found"
    exit 0
fi

cd "$(dirname "$0")/../bpf"
to=${1:-.}
mkdir -p "$to"
for source in *.bpf.c; do
    object=$to/${source%.c}.o
    # No header but ours and no path of this machine: nothing else decides the bytes.
    "$CLANG" -target bpf -mcpu=v3 -O2 -g -nostdinc -ffreestanding -fdebug-compilation-dir=. \
        -Wall -Wextra -Werror -c "$source" -o "$object"
    # Keeps the type information that the loader reads (BTF).
    "$STRIP" --strip-debug "$object"
done
