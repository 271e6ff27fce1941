#!/usr/bin/env bash
# README's two commands on a machine as new: a minimal Debian in a folder of its own.
# Of this host it has the kernel, the Rust toolchain (rustup's servers are not within
# everybody's reach), and the way to the registries: mirror, proxies, certificates.
# What it runs is a fresh clone of HEAD.
#
#   scripts/fresh.sh            `make run`, then `make test`: half an hour or more
#   scripts/fresh.sh COMMAND…   these instead, each a line for the shell
#
#   KEEP=1                      keeps the folder, and says how to enter it
#   FRESH_FOLDER                where that is made; else $TMPDIR, else /var/tmp
#   FRESH_LIMIT_S               bounds each command; 7200
#   LOCKGATE_DEBIAN_MIRROR      as for setup-guests.sh
#
# Needs root and mmdebstrap. All mounts are in a namespace of its own, and end with
# it. Ends with 1 when a command fails, or when more than SKIPS_MAX tests are skipped.
set -euo pipefail

# With all that can be installed, what a machine cannot mend.
SKIPS_MAX=10
LIMIT_S=${FRESH_LIMIT_S:-7200}
DEBIAN_LIMIT_S=1200
# Who has a clone, and Rust that fetches what it builds, has these.
BASE_PACKAGES=git,make,ca-certificates
# Of the user there.
HOME_THERE=/root
COUNTS='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'

scripts=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$scripts/.." && pwd)
# As for the guest cache: this host's mirror and proxies.
mirror='' security=''
# shellcheck source=/dev/null
. "$scripts/setup-guests/packages.sh"
# shellcheck source=/dev/null
. "$scripts/setup-guests/say.sh"
say() { printf 'fresh: %s\n' "$*" >&2; }

# In the namespace: shows in the root what a machine has, and makes it the root.
enter() {
    local root=$1 toolchain=$2
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
    mkdir -p "$root/opt/rust" "$root/.host"
    read_only "$toolchain" "$root/opt/rust"
    if [ -d /lib/modules ]; then
        mkdir -p "$root/lib/modules"
        read_only /lib/modules "$root/lib/modules"
    fi
    cd "$root"
    pivot_root . .host
    umount -l /.host
    rmdir /.host
}

read_only() {
    mount --bind "$1" "$2"
    mount -o remount,bind,ro "$2"
}

# What a shell of root's has on such a machine, and the proxies of this one.
in_a_new_shell() {
    local name kept=()
    while read -r name; do
        kept+=("$name=${!name}")
    done < <(compgen -e | grep -i -E '^(https?|no|all)_proxy$|^CARGO_(HTTP|NET|REGISTR|SOURCE)')
    env -i HOME=$HOME_THERE USER=root LOGNAME=root SHELL=/bin/bash TERM="${TERM:-dumb}" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$HOME_THERE/.cargo/bin \
        "${kept[@]}" "$@"
}

# Folders of earlier ones that were killed: nobody has their lock.
sweep() {
    local folder
    for folder in "$1"/lockgate-fresh.*; do
        if [ -f "$folder/lock" ] && [ ! -e "$folder/keep" ]; then
            (flock -n 9 && rm -rf --one-file-system "$folder") 9<"$folder/lock" || true
        fi
    done
}

# Ends whatever runs there, also in namespaces and containers made there: their mounts
# are of the root's folder. A process namespace would do it, but hide the kernel's
# threads, and what else keeps the CPUs busy.
end_all() {
    local process pids
    for _ in {1..100}; do
        pids=()
        for process in /proc/[0-9]*; do
            ! grep -qsF "${work##*/}/" "$process/mountinfo" || pids+=("${process#/proc/}")
        done
        [ ${#pids[@]} -gt 0 ] || return 0
        kill -KILL "${pids[@]}" 2>/dev/null || true
        sleep 0.1
    done
    say "does not end: ${pids[*]}"
}

clean_up() {
    trap '' INT TERM HUP
    end_all
    if [ "${KEEP:-0}" = 1 ]; then
        touch "$work/keep"
        say "kept; rm -rf $work removes it; a command there: unshare --mount --propagation private $scripts/fresh.sh --inside $root $toolchain COMMAND"
    else
        rm -rf --one-file-system "$work"
    fi
}

suite() {
    # shellcheck source=/dev/null
    (. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-bookworm}") || echo bookworm
}

# How this host's apt gets packages, and nothing else of its configuration.
host_apt_options() {
    host_proxies
    apt-config dump 2>/dev/null | grep -E '^Acquire::Check-(Valid-Until|Date) ' || true
}

make_root() {
    local suite begun=$SECONDS
    suite=$(suite)
    choose_mirror
    host_apt_options >"$work/apt.conf"
    {
        echo "deb $mirror $suite main"
        echo "deb $mirror $suite-updates main"
        echo "deb $security $suite-security main"
    } >"$work/sources.list"
    say "makes a minimal Debian $suite in $root from $mirror"
    timeout --kill-after=30 "$DEBIAN_LIMIT_S" mmdebstrap --quiet --mode=root --variant=minbase --include="$BASE_PACKAGES" \
        --aptopt="$work/apt.conf" --format=directory "$suite" "$root" "$work/sources.list" >"$work/log" 2>&1 </dev/null ||
        fail "mmdebstrap failed: $(tail -n 3 "$work/log")"
    trust_as_here
    install_rust
    git clone --quiet --no-hardlinks "$repository" "$root$HOME_THERE/lockgate"
    [ -z "$(git -C "$repository" status --porcelain)" ] || say "what is not committed is not in the clone"
    say "it took $((SECONDS - begun)) s and $(du -sm "$root" | cut -f 1) MiB"
}

# Names and certificates beyond Debian's own.
trust_as_here() {
    local certificate
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    for certificate in /usr/local/share/ca-certificates/*.crt; do
        [ ! -f "$certificate" ] || cp "$certificate" "$root/usr/local/share/ca-certificates/"
    done
    chroot "$root" update-ca-certificates >"$work/log" 2>&1 ||
        fail "update-ca-certificates failed: $(tail -n 1 "$work/log")"
}

# Where rustup puts it; the toolchain itself is this host's, read-only.
install_rust() {
    local file
    mkdir -p "$root$HOME_THERE/.cargo/bin"
    for file in "$toolchain"/bin/*; do
        ln -s "/opt/rust/bin/${file##*/}" "$root$HOME_THERE/.cargo/bin/"
    done
    for file in config config.toml; do
        file=${CARGO_HOME:-$HOME/.cargo}/$file
        [ ! -f "$file" ] || cp "$file" "$root$HOME_THERE/.cargo/"
    done
    say "Rust there is this host's $toolchain, read-only; a user has it from rustup"
}

# Prints what comes, and writes what time the phases of a command took: the last word
# of set-up, and cargo's, tell where they end.
watch() {
    local begun=$SECONDS set_up=0 built=0 all line
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in
            setup:* | setup-guests:*) set_up=$((SECONDS - begun)) ;;
            *Finished\ \`*) [ "$built" -gt 0 ] || built=$((SECONDS - begun)) ;;
        esac
    done
    all=$((SECONDS - begun))
    [ "$built" -ge "$set_up" ] || built=$set_up
    echo "$all s: set-up $set_up s, build $((built - set_up)) s, the rest $((all - built)) s" >"$work/times"
}

# One command, as a shell of that machine runs it.
run() {
    local ended=0 watcher
    say "$1"
    rm -f "$work/pipe"
    mkfifo "$work/pipe"
    watch <"$work/pipe" | tee "$work/output" &
    watcher=$!
    # A process group of its own: in the shell's, tests could not send Ctrl-C, which
    # the shell has its background ignore.
    set -m
    unshare --mount --propagation private \
        "$scripts/fresh.sh" --inside "$root" "$toolchain" "$1" </dev/null >"$work/pipe" 2>&1 9>&- &
    set +m
    wait $! || ended=$?
    # What it left behind would keep the CPUs from the next command, and the pipe open.
    end_all
    wait "$watcher"
    return "$ended"
}

# What was not done, and why, as scripts/count-tests.awk lists it; fails if that is
# too much.
tell_counts() {
    local counts skips
    counts=$(grep -E "$COUNTS" "$work/output" | tail -n 1 || true)
    [ -n "$counts" ] || return 0
    awk '/^(failed|inconclusive.*|skipped|parts left out|held at .*|warnings):$/ { on = 1 } on' "$work/output"
    skips=${counts##*failed, }
    skips=${skips% skipped}
    if [ "$skips" -gt "$SKIPS_MAX" ]; then
        echo "$skips tests were skipped, more than $SKIPS_MAX"
        return 1
    fi
}

if [ "${1:-}" = --inside ]; then
    enter "$2" "$3"
    cd "$HOME_THERE/lockgate"
    in_a_new_shell timeout --kill-after=30 "$LIMIT_S" /bin/bash -c "$4"
    exit
fi

[ "$(id -u)" -eq 0 ] || fail "needs root; sudo $0"
for tool in mmdebstrap unshare pivot_root flock git rustc; do
    is_command "$tool" || fail "no $tool here (Debian has mmdebstrap, util-linux and git; rustup has rustc)"
done
toolchain=$(cd "$repository" && rustc --print sysroot)
case $toolchain in
    /usr | /usr/local) fail "the Rust toolchain lies in $toolchain with what else this host has; install one of rustup's" ;;
esac
places=${FRESH_FOLDER:-${TMPDIR:-/var/tmp}}
sweep "$places"
work=$(mktemp -d "$places/lockgate-fresh.XXXXXX")
root=$work/root
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
exec 9>"$work/lock"
flock 9

make_root
[ $# -gt 0 ] || set -- "make run" "make test"
status=0
for command in "$@"; do
    ended=0
    run "$command" || ended=$?
    [ "$ended" -eq 0 ] || status=1
    { echo "$command: ended with $ended; $(cat "$work/times")"; tell_counts; } >>"$work/summary" || status=1
done
say "on a machine as new:"
cat "$work/summary"
[ "$status" -eq 0 ]
