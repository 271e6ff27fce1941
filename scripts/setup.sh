#!/bin/sh
# Installs what a build, a run and the tests want, on a Debian-like machine.
#
#   scripts/setup.sh            says what is missing, and for what; installs it as
#                               root or with a sudo that asks for no password
#   scripts/setup.sh --install  only installs what is missing, as root
#   NO_INSTALL=1                installs nothing
#
# Touches the package system only when something is missing, never adds a source,
# and goes on without what is optional. Services that come with a package are
# neither started nor left to start with the machine.
set -eu

REQUIRED_PACKAGES="gcc libc6-dev"

# What else is wanted: the package, how it is told that it is there, what there is not
# without it, and the services that Debian would start.
optional_table() {
    cat <<'TABLE'
make|command make|XDP and AF_XDP (lockgate's feature bpf), modules for guests' kernels
pkg-config|command pkg-config|XDP and AF_XDP (lockgate's feature bpf)
libelf-dev|header libelf.h|XDP and AF_XDP (lockgate's feature bpf)
zlib1g-dev|header zlib.h|XDP and AF_XDP (lockgate's feature bpf)
clang-14|command clang-14|compiler for BPF programs that are changed
llvm-14|command llvm-strip-14|compiler for BPF programs that are changed
libipsec-mb1|library libIPSec_MB.so.1|crypto back-end ipsec-mb, many times faster at CBC encryption and hashes
libipsec-mb-dev|header intel-ipsec-mb.h|tests of our view of that library
openssl|command openssl|arm 'openssl speed' (crypto-speed, crypto-peers), section cpu-guest
dpdk-dev|command dpdk-testpmd|DPDK beside us (crypto-peers, router-paths)|dpdk
ethtool|command ethtool|word of how network cards coalesce interrupts
iproute2|command ip|tests of what needs networks
nftables|command nft|tests of routers behind nftables
iptables|command iptables-legacy|tests of routers behind iptables
iperf3|command iperf3|TCP flows (router-tcp, quic-share and others)|iperf3
lxc|command lxc-start|routers in containers of LXC|lxc lxc-net lxc-monitord
runc|command runc|routers in containers of runc
bird2|command bird|routes by BIRD (router-bgp, router up)|bird
frr|file /usr/lib/frr/zebra|routes by FRR (router-bgp, router up)|frr
qemu-system-x86|command qemu-system-x86_64|guests
dmsetup|command dmsetup|section disk-guest, disks compared with the kernel's
cryptsetup-bin|command cryptsetup|new images by scripts/disk-fixtures.sh
kmod|command insmod|section kspeed in this host's own kernel
libvirt0|file /usr/share/libvirt/schemas/domain.rng|tests of CPU lines for libvirt
libxml2-utils|command xmllint|tests of CPU lines for libvirt
sparse|command sparse|close look at the kernel module (.ci/run)
shellcheck|command shellcheck|check of the scripts (.ci/run)
TABLE
}

say() { printf 'setup: %s\n' "$*" >&2; }

# Compiling and linking one program proves compiler, linker and headers at once.
can_compile() {
    command -v cc >/dev/null 2>&1 &&
        printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' |
        cc -x c -o "$scratch/program" - 2>/dev/null
}

# Many lie in /usr/sbin, which is not on every user's path.
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

has_file() { [ -e "$1" ]; }

# The rows of what is missing.
missing_optional() {
    optional_table | while IFS='|' read -r package sign purpose services; do
        # shellcheck disable=SC2086 # the kind of sign, and what it looks for
        has_$sign || echo "$package|$sign|$purpose|$services"
    done
}

# The names of all missing packages, in one line.
missing_packages() {
    can_compile || printf '%s ' "$REQUIRED_PACKAGES"
    missing_optional | cut -d '|' -f 1 | tr '\n' ' '
}

check_rust() {
    if ! command -v cargo >/dev/null 2>&1; then
        say "cargo is not on the path; install Rust 1.95 or newer from https://rustup.rs, then try again"
        exit 1
    fi
}

tell_missing() {
    say "missing here:"
    can_compile || say "  $REQUIRED_PACKAGES: a C compiler for AWS-LC, without which nothing is built"
    missing_optional | while IFS='|' read -r package _ purpose _; do
        say "  $package: $purpose"
    done
}

# Prints the prefix that makes a command run as root, or fails.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        echo "env"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        echo "sudo -n"
    else
        return 1
    fi
}

install_or_tell_how() {
    by_hand="install by hand: apt-get install --no-install-recommends $*"
    if [ "${NO_INSTALL:-0}" = 1 ]; then
        say "NO_INSTALL=1: installing nothing"
    elif ! command -v apt-get >/dev/null 2>&1; then
        say "no apt-get here; $by_hand"
    elif ! as_root=$(root_prefix); then
        say "not root, and sudo would ask for a password; sudo scripts/setup.sh --install, or $by_hand"
    else
        # A removal of what it made for a while must not wait for a password: all
        # that root does is one process.
        $as_root "$0" --install || say "the installation ended early"
    fi
}

# From here on: what root does.

apt() {
    LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1 \
        -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
        "$@" >"$scratch/log" 2>&1 </dev/null
}

apt_reason() {
    grep -E '^(E|W|Err)[:0-9]' "$scratch/log" | tail -n 1 || true
}

# What Debian asks before it starts a service of a package; 101 is a no.
POLICY=/usr/sbin/policy-rc.d
POLICY_MARK="# lockgate's setup, process"

# Puts a policy there for the time of this process, if there is none. One of a set-up
# that was killed counts as none.
forbid_starts() {
    owner=$(sed -n "s/^$POLICY_MARK \([0-9]*\)\$/\1/p" "$POLICY" 2>/dev/null || true)
    if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then rm -f "$POLICY"; fi
    if (set -C && printf '#!/bin/sh\n%s %s\nexit 101\n' "$POLICY_MARK" $$ >"$POLICY") 2>/dev/null; then
        is_our_policy=yes
        chmod 755 "$POLICY"
    fi
}

may_start() {
    asked=0
    "$POLICY" "$1" start >/dev/null 2>&1 || asked=$?
    [ "$asked" -ne 101 ]
}

# The missing rows, less those whose services a policy of somebody else's would start.
wanted_rows() {
    missing_optional | while IFS='|' read -r package sign purpose services; do
        starts=
        for service in $services; do
            if may_start "$service"; then starts="$starts $service"; fi
        done
        if [ -z "$starts" ]; then
            echo "$package|$sign|$purpose|$services"
        else
            say "leaves $package to you: $POLICY of this host would let it start$starts"
        fi
    done
}

# Before it happens: how much it is, by apt's own word.
tell_size() {
    if ! apt --print-uris install "$@"; then
        say "installing $*"
        return
    fi
    count=$(sed -n 's/.* upgraded, \([0-9]*\) newly installed.*/\1/p' "$scratch/log")
    load=$(sed -n 's/^Need to get \(.*\) of archives.*/\1/p' "$scratch/log")
    room=$(sed -n 's/^After this operation, \(.*\) of additional disk space.*/\1/p' "$scratch/log")
    say "installing $*; with what these depend on ${count:-?} packages: ${load:-nothing} to download, ${room:-nothing} on disk (NO_INSTALL=1: nothing)"
}

# All in one transaction; one by one where that fails, so that one of them does not
# keep the others away.
install_packages() {
    tell_size "$@"
    apt install "$@" && return 0
    say "could not install them together: $(apt_reason)"
    for package in "$@"; do
        apt install "$package" || say "could not install $package: $(apt_reason)"
    done
}

# The links by which services start with the machine: systemd's and System V's.
start_links() {
    find /etc/systemd/system/ /etc/rc[2-5].d/ -type l '(' -path '*.wants/*' -o -path '/etc/rc*/S*' ')' 2>/dev/null || true
}

# As `systemctl disable` and `update-rc.d disable` do, which may not be here.
disable_link() {
    case $1 in
        /etc/rc*) mv "$1" "${1%/*}/K${1##*/S}" ;;
        *) rm -f "$1" ;;
    esac
}

# Of all that came, not only of what was asked for: cron comes with FRR's logrotate.
disable_new_links() {
    start_links | grep -vxF -f "$scratch/before" >"$scratch/new" || return 0
    while read -r link; do disable_link "$link"; done <"$scratch/new"
    say "neither started nor left to start with the machine: $(sed 's|.*/||; s|^S[0-9][0-9]||; s|\.service$||' "$scratch/new" | sort -u | tr '\n' ' ')(by systemctl enable NAME it does)"
}

# At any end: what was half installed must not start with the machine either.
clean_up() {
    [ ! -f "$scratch/before" ] || disable_new_links
    [ -z "$is_our_policy" ] || rm -f "$POLICY"
    rm -rf "$scratch"
}

install_missing() {
    [ "$(id -u)" -eq 0 ] || { say "--install is for root"; exit 1; }
    is_our_policy=
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    forbid_starts
    rows=$(wanted_rows)
    packages=$(printf '%s\n' "$rows" | cut -d '|' -f 1 | tr '\n' ' ')
    can_compile || packages="$REQUIRED_PACKAGES $packages"
    start_links >"$scratch/before"
    apt update || say "apt-get update failed, going on with the lists at hand: $(apt_reason)"
    # shellcheck disable=SC2086 # a list of packages
    set -- $packages
    [ $# -eq 0 ] || install_packages "$@"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "${1:-}" = --install ]; then
    install_missing
    exit 0
fi
check_rust
missing=$(missing_packages)
if [ -z "$missing" ]; then
    say "nothing is missing here"
    exit 0
fi
tell_missing
# shellcheck disable=SC2086 # a list of packages
install_or_tell_how $missing
missing_optional | while IFS='|' read -r package _ purpose _; do
    say "without $package: no $purpose"
done
if ! can_compile; then
    say "no working C compiler: AWS-LC cannot be built; install $REQUIRED_PACKAGES"
    exit 1
fi
