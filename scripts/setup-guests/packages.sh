# shellcheck shell=sh
# Debian's packages by a private apt: its own sources, lists and (empty) list of
# what is installed, so that it works without root and on any release.
#
# Reads $cache and $work; $work/wanted is the list "part name version" of what
# to download, $work/packages where it goes.
# shellcheck disable=SC2154 # both are set by setup-guests.sh

# Measured; told before the download.
KERNEL_UNPACKED_MB=265
QEMU_UNPACKED_MB=65
QEMU_ASIDE_MB=170

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

check_tools() {
    for tool in apt-get apt-cache dpkg-deb tar; do
        is_command "$tool" || fail "no $tool here, which unpacks Debian's packages; run this in a Debian container with the cache shared: docker run --rm -v '$cache:/guests' -v '${scripts%/*}:/lockgate:ro' -e LOCKGATE_GUESTS=/guests ${GUESTS:+-e GUESTS=$GUESTS } debian:12 sh -c 'apt-get update && apt-get install -y gcc make libelf1 ca-certificates && /lockgate/scripts/setup-guests.sh'"
    done
    [ -r "$KEYRING" ] ||
        fail "no $KEYRING here, by which packages are checked; apt-get install debian-archive-keyring"
}

# This host's own mirror, if it has Debian's packages.
host_mirror() {
    apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 2>/dev/null |
        sed -n -E 's|^(https?://[A-Za-z0-9._~:/@%+-]*/debian)/?$|\1|p' | head -n 1
}

choose_mirror() {
    mirror=${LOCKGATE_DEBIAN_MIRROR:-$(host_mirror)}
    mirror=${mirror:-http://deb.debian.org/debian}
    mirror=${mirror%/}
    case $mirror in
        *[!A-Za-z0-9._~:/@%+-]*) fail "LOCKGATE_DEBIAN_MIRROR=$mirror is not an address; one is http://deb.debian.org/debian" ;;
        http://* | https://* | file:/*) ;;
        *) fail "LOCKGATE_DEBIAN_MIRROR=$mirror is not an http, https or file address; one is http://deb.debian.org/debian" ;;
    esac
    # Mirrors name the two archives so; the others have no security archive.
    case $mirror in
        */debian) security=$mirror-security ;;
        *) security=http://security.debian.org/debian-security ;;
    esac
}

write_sources() {
    for suite in bookworm bookworm-updates; do
        echo "deb [arch=amd64 signed-by=$KEYRING] $mirror $suite main"
    done
    echo "deb [arch=amd64 signed-by=$KEYRING] $security bookworm-security main"
    if [ "${GUESTS:-}" = all ]; then
        echo "deb [arch=amd64 signed-by=$KEYRING] $mirror bookworm-backports main"
    fi
}

configure_apt() {
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/packages"
    : >"$work/apt/status"
    write_sources >"$work/apt/sources.list"
    cat >"$work/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
CONF
    host_proxies >>"$work/apt/apt.conf"
}

# How this host's own apt gets out; nothing else of its configuration is taken.
host_proxies() {
    apt-config dump 2>/dev/null |
        grep -i -E '^Acquire::https?::(Proxy|Proxy-Auto-Detect|CAInfo|CAPath)[ :]' || true
}

private_apt() {
    APT_CONFIG=$work/apt/apt.conf "$@"
}

how_to_go_on() {
    reason=$(grep -E '^[EW]: Failed to fetch' "$work/log" | head -n 1 || true)
    reason=${reason:-$(grep -E '^[EW]:' "$work/log" | head -n 1 || true)}
    fail_for_now "could not $1 from $mirror: ${reason:-$(tail -n 1 "$work/log")}; check the network, or name another mirror by LOCKGATE_DEBIAN_MIRROR=http://…/debian, and start this again: what has been downloaded is kept"
}

fetch_lists() {
    choose_mirror
    configure_apt
    say "fetches Debian's package lists (about 10 MB, removed afterwards) from $mirror"
    private_apt apt-get -q update >"$work/log" 2>&1 </dev/null || how_to_go_on "fetch package lists"
}

# What makes apt prefer the suite of part $1. Among bookworm, its updates and
# its security archive the newest wins by itself.
suite_option() {
    case $1 in
        *-backports) echo APT::Default-Release=bookworm-backports ;;
        *) echo APT::Default-Release= ;;
    esac
}

# Prints the version of package $2 for the part $1.
candidate() {
    found=$(private_apt apt-cache -o "$(suite_option "$1")" policy "$2" 2>/dev/null |
        sed -n 's/^  Candidate: \([0-9].*\)/\1/p')
    [ -n "$found" ] || fail_for_now "the mirror $mirror has no $2 for $1; name another by LOCKGATE_DEBIAN_MIRROR"
    echo "$found"
}

# Prints the dependencies of package $1, version $2, one a line.
dependencies() {
    private_apt apt-cache show "$1=$2" 2>/dev/null | sed -n 's/^Depends: //p' | head -n 1 |
        tr ',' '\n' | sed 's/^ *//'
}

# Puts package $2, version $3, on the list for the part $1.
want() { echo "$1 $2 $3" >>"$work/wanted"; }

drop_wanted() {
    awk -v part="$1" '$1 != part' "$work/wanted" >"$work/still-wanted"
    mv "$work/still-wanted" "$work/wanted"
}

# "name version" of the packages of a part.
packages_of() { awk -v part="$1" '$1 == part { print $2, $3 }' "$work/wanted"; }

# Downloads all that is wanted and not there yet, whole.
download_wanted() {
    sed 's/^[^ ]* \([^ ]*\) /\1=/' "$work/wanted" | sort -u >"$work/names"
    # shellcheck disable=SC2046 # a list of packages
    private_apt apt-get -q download --print-uris $(cat "$work/names") >"$work/uris" 2>"$work/log" </dev/null ||
        how_to_go_on "find the packages"
    missing_downloads >"$work/to-download"
    download_mb=$(megabytes "$(awk '{ sum += $2 } END { print sum + 0 }' "$work/to-download")")
    estimate_room
    say "downloads $(awk 'END { print NR }' "$work/to-download") packages, $download_mb MB, from $mirror to $cache; unpacked they take about $unpacked_mb MB"
    check_room
    # shellcheck disable=SC2046 # a list of packages
    (cd "$work/packages" && private_apt apt-get -q download $(cat "$work/names")) >"$work/log" 2>&1 </dev/null ||
        how_to_go_on "download packages"
    missing_downloads >"$work/to-download"
    [ ! -s "$work/to-download" ] ||
        fail_for_now "$mirror sent packages that are not those in its signed lists; start this again, or name another by LOCKGATE_DEBIAN_MIRROR: $(cut -d ' ' -f 1 "$work/to-download" | tr '\n' ' ')"
}

# Prints "file bytes" of what $work/uris names and is not there with the hash in
# the signed lists; apt itself goes by the size only when a file is there.
missing_downloads() {
    while read -r _uri deb bytes hash; do
        is_whole "$work/packages/$deb" "$bytes" "$hash" || echo "$deb $bytes"
    done <"$work/uris"
}

# Whether file $1 has $2 bytes and the hash $3, written as SHA256:HEX. Removes a
# wrong one; what is only too short, apt resumes.
is_whole() {
    [ -f "$1" ] && [ "$(wc -c <"$1")" -ge "$2" ] || return 1
    case $3 in
        SHA256:*) computed=$(sha256sum "$1") ;;
        SHA512:*) computed=$(sha512sum "$1") ;;
        *) return 1 ;;
    esac
    [ "${computed%% *}" = "${3#*:}" ] || { rm -f "$1"; return 1; }
}

# What the parts now wanted take in the end, and while they are unpacked.
estimate_room() {
    kernels=$(grep -c '^kernel-[a-z]* linux-image' "$work/wanted" || true)
    qemus=$(grep -c '^qemu-[a-z]* qemu-system-x86 ' "$work/wanted" || true)
    unpacked_mb=$((5 + kernels * KERNEL_UNPACKED_MB + qemus * QEMU_UNPACKED_MB))
    passing_mb=$((download_mb + qemus * QEMU_ASIDE_MB))
}

# Fails early if what is downloaded, unpacked aside and kept does not fit.
check_room() {
    free_mb=$(df -Pk "$cache" | awk 'NR == 2 { printf "%d", $4 * 1024 / 1e6 }')
    wanted_mb=$((unpacked_mb + passing_mb))
    [ "$free_mb" -ge "$wanted_mb" ] ||
        fail "$cache has $free_mb MB free, this takes up to $wanted_mb MB; make room, or set LOCKGATE_GUESTS to a folder on another disk"
}

# The file of package $1, version $2: apt writes a version's colon as %3a.
file_of() {
    version_in_name=$(printf '%s' "$2" | sed 's/:/%3a/g')
    for file in "$work/packages/$1_${version_in_name}_amd64.deb" "$work/packages/$1_${version_in_name}_all.deb"; do
        if [ -f "$file" ]; then
            echo "$file"
            return
        fi
    done
    fail "apt downloaded no $1 $2; remove $work, then start this again"
}
