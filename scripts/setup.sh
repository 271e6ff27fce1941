#!/bin/sh
# Installs what a build and a run want, on a Debian-like machine.
#
# Says first what it wants. Touches the package system only when something is
# missing, never adds a source, and goes on without what is optional.
# NO_INSTALL=1 installs nothing.
set -eu

REQUIRED_PACKAGES="gcc libc6-dev"
OPTIONAL_PACKAGES="openssl ethtool dmsetup libipsec-mb1 dpdk-dev make pkg-config libelf-dev zlib1g-dev clang-14 llvm-14"

say() { printf 'setup: %s\n' "$*" >&2; }

# Compiling and linking one program proves compiler, linker and headers at once.
can_compile() {
    command -v cc >/dev/null 2>&1 &&
        printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' |
        cc -x c -o "$scratch/program" - 2>/dev/null
}

# ethtool lives in /usr/sbin, which is not on every user's path.
has_command() {
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1
}

# A library has no command: the loader knows it, or it lies where it looks.
has_library() {
    PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null | grep -q "$1"
}

has_header() {
    printf '#include <%s>\n' "$1" | cc -x c -fsyntax-only - 2>/dev/null
}

has_package() {
    case $1 in
        dpdk-dev) has_command dpdk-test-crypto-perf ;;
        libipsec-mb1) has_library libIPSec_MB.so.1 ;;
        libelf-dev) has_header libelf.h ;;
        zlib1g-dev) has_header zlib.h ;;
        llvm-14) has_command llvm-strip-14 ;;
        *) has_command "$1" ;;
    esac
}

missing_optional() {
    for package in $OPTIONAL_PACKAGES; do
        has_package "$package" || printf '%s ' "$package"
    done
}

what_is_lost() {
    case $1 in
        openssl) echo "no 'openssl speed' reference arm in crypto-speed and crypto-peers" ;;
        libipsec-mb1) echo "no back-end ipsec-mb: CBC encryption and hashes many times slower" ;;
        dpdk-dev) echo "no DPDK arm in crypto-peers (it takes about 100 MB)" ;;
        libelf-dev | zlib1g-dev | make | pkg-config) echo "no XDP and no AF_XDP: lockgate is built without its feature bpf" ;;
        clang-14 | llvm-14) echo "BPF programs that were changed cannot be compiled; the committed ones are used" ;;
        dmsetup) echo "no dm-crypt in guests: disk-guest is not measured, and nothing is compared with the kernel live" ;;
        ethtool) echo "no interrupt coalescing settings of network cards at hand" ;;
        *) echo "it is optional" ;;
    esac
}

# Prints the prefix that makes a command run as root, or fails.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        echo "env"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        echo "sudo -n env"
    else
        return 1
    fi
}

apt() {
    # shellcheck disable=SC2086 # the prefix is several words
    $as_root DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
        "$@" >"$scratch/log" 2>&1 </dev/null
}

apt_reason() {
    grep -E '^(E|W|Err)[:0-9]' "$scratch/log" | tail -n 1 || true
}

# Installs packages one transaction a call; says why when it cannot.
install() {
    say "installing $*"
    if apt install --no-install-recommends "$@"; then
        return 0
    fi
    say "could not install $*: $(apt_reason)"
    return 1
}

check_rust() {
    if ! command -v cargo >/dev/null 2>&1; then
        say "cargo is not on the path; install Rust 1.95 or newer from https://rustup.rs, then try again"
        exit 1
    fi
}

install_missing() {
    if ! command -v apt-get >/dev/null 2>&1; then
        say "no apt-get here; install by hand: $wanted"
        return 0
    fi
    if ! as_root=$(root_prefix); then
        say "not root, and sudo would ask for a password; install by hand: apt-get install $wanted"
        return 0
    fi
    apt update || say "apt-get update failed, going on with the lists at hand: $(apt_reason)"
    if [ -n "$required" ]; then
        # shellcheck disable=SC2086 # a list of packages
        install $required || true
    fi
    for package in $optional; do
        install "$package" || true
    done
}

check_rust
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
required=
can_compile || required=$REQUIRED_PACKAGES
optional=$(missing_optional)
# shellcheck disable=SC2086,SC2116 # words joined by single spaces
wanted=$(echo $required $optional)
say "wants $REQUIRED_PACKAGES (or another C compiler as 'cc'); optional: $OPTIONAL_PACKAGES; missing: ${wanted:-nothing}"
[ -n "$wanted" ] || exit 0

if [ "${NO_INSTALL:-0}" = 1 ]; then
    say "NO_INSTALL=1: installing nothing"
else
    install_missing
fi

for package in $(missing_optional); do
    say "without $package: $(what_is_lost "$package")"
done
if ! can_compile; then
    say "no working C compiler: AWS-LC cannot be built; install $REQUIRED_PACKAGES"
    exit 1
fi
