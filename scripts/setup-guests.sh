#!/bin/sh
# Fills the guest cache: kernels, busybox and, if asked, a newer QEMU, unpacked
# from Debian packages. Needs no root and installs nothing of this.
#
#   --optional                 for who can do without: ends well whatever is missing,
#                              and does nothing with NO_INSTALL=1
#   GUESTS=all                 also backports' kernel and QEMU 10
#   GUESTS=host                instead the measuring module for the kernel that runs
#                              here, from its installed headers; nothing is loaded
#   REFRESH=1                  look for newer packages even if all is there
#   LOCKGATE_GUESTS            the cache; else $XDG_CACHE_HOME/lockgate/guests,
#                              else ~/.cache/lockgate/guests
#   LOCKGATE_DEBIAN_MIRROR     where the packages come from; else this host's
#                              own Debian mirror, else deb.debian.org
#
# Ends with 75 when the mirror could not be reached (or has not what it should),
# with 1 for everything else that went wrong.
#
# A part is unpacked aside and renamed when whole; then a line in .parts/ names
# it, and manifest.json, which readers go by, is written from those. So one may
# interrupt this at any point and start it again.
set -eu
umask 022
LC_ALL=C
export LC_ALL

scripts=$(cd "$(dirname "$0")" && pwd)
for library in say packages unpack qemu kspeed manifest; do
    # shellcheck source=/dev/null
    . "$scripts/setup-guests/$library.sh"
done

# The folder the cache is in, and that its name suits apt, make and JSON alike.
locate_cache() {
    # A relative one does not count, XDG says, and the program goes by that.
    caches=${XDG_CACHE_HOME:-}
    if [ -n "${LOCKGATE_GUESTS:-}" ]; then
        cache=$LOCKGATE_GUESTS
    elif [ "$caches" != "${caches#/}" ]; then
        cache=$caches/lockgate/guests
    elif [ -n "${HOME:-}" ]; then
        cache=$HOME/.cache/lockgate/guests
    else
        fail "no place for the guest cache: neither LOCKGATE_GUESTS nor HOME is set; set LOCKGATE_GUESTS=FOLDER"
    fi
    case $cache in
        /*) ;;
        *) cache=$PWD/$cache ;;
    esac
    case $cache in
        *[!A-Za-z0-9._/+@%,=~-]*)
            fail "the guest cache \"$cache\" has a character in its name that a kernel build cannot take; set LOCKGATE_GUESTS to a folder without spaces, colons or quotes" ;;
    esac
    check_owners
    mkdir -p "$cache" 2>/dev/null ||
        fail "cannot create the guest cache $cache; set LOCKGATE_GUESTS to a folder you may write"
    cache=$(cd "$cache" && pwd)
    [ -w "$cache" ] ||
        fail "the guest cache $cache is not yours to write; set LOCKGATE_GUESTS to another folder"
    work=$cache/.setup
}

# As root, nothing is written where another user may have put a link: the cache,
# each folder above it that is there, and links among these must be root's, and
# writable for no others but where sticky. The program looks closer.
check_owners() {
    [ "$(id -u)" -eq 0 ] || return 0
    for path in "$cache" "$(readlink -m "$cache")"; do
        while [ "$path" != / ]; do
            if [ -e "$path" ] || [ -L "$path" ]; then
                [ "$(stat -c %u "$path")" -eq 0 ] ||
                    fail "the guest cache $cache is not filled by root: $path belongs to uid $(stat -c %u "$path"); run as that user, or set LOCKGATE_GUESTS to a folder of root's"
                [ -L "$path" ] || [ -z "$(find "$path" -prune -perm -002 ! -perm -1000)" ] ||
                    fail "the guest cache $cache is not filled by root: every user may write to $path; chmod o-w it, or set LOCKGATE_GUESTS to a folder of root's"
            fi
            path=$(dirname "$path")
        done
    done
}

# One set-up of a cache at a time; the lock ends with this process.
lock_cache() {
    command -v flock >/dev/null 2>&1 || fail "no flock here; it is in util-linux"
    exec 9>"$cache/.lock"
    if ! flock -n 9; then
        say "another set-up of $cache runs; waiting for it"
        flock -w 1800 9 || fail "another set-up of $cache still runs after 30 minutes; end it, then try again"
    fi
}

wanted_parts() {
    echo busybox kernel-bookworm
    [ "${GUESTS:-}" != all ] || echo kernel-backports qemu-backports
}

missing_parts() {
    for part in $1; do
        if [ "${REFRESH:-0}" = 1 ] || ! has_part "$part"; then printf '%s ' "$part"; fi
    done
}

# Downloads, then unpacks, the parts given that are not there or outdated.
add_parts() {
    check_tools
    say "wants $1for the guest cache $cache"
    fetch_lists
    : >"$work/wanted"
    outdated=
    for part in $1; do
        "plan_${part%%-*}" "$part"
        if is_current "$part"; then drop_wanted "$part"; else outdated="$outdated $part"; fi
    done
    [ -n "$outdated" ] || return 0
    download_wanted
    for part in $outdated; do "unpack_${part%%-*}" "$part"; done
}

if [ "${1:-}" = --optional ]; then
    if [ "${NO_INSTALL:-0}" = 1 ]; then
        say "NO_INSTALL=1: leaves the guest cache as it is"
    else
        sh "$0" || say "goes on without; what wants a guest says that it is left out"
    fi
    exit 0
fi
# Not within $(…), where a failure would only end the subshell.
case ${GUESTS:-default} in
    default | all | host) ;;
    *) fail "GUESTS=$GUESTS is not known; say GUESTS=all or host, or leave it away for one kernel" ;;
esac
locate_cache
lock_cache
status=0
if [ "${GUESTS:-}" = host ]; then
    mkdir -p "$work"
    build_kspeed_of_host
    rm -rf "$work"
    exit "$status"
fi
wanted=$(wanted_parts)
missing=$(missing_parts "$wanted")
if [ -n "$missing" ]; then
    add_parts "$missing"
fi
mkdir -p "$work"
build_kspeed_of_all
write_manifest
remove_leftovers
check_qemu
if [ -n "$missing" ]; then
    say "the guest cache $cache now takes $(megabytes_of "$cache") MB"
elif [ "$status" -eq 0 ]; then
    say "the guest cache $cache has what is wanted; REFRESH=1 looks for newer packages"
fi
exit "$status"
