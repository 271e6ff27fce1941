# shellcheck shell=sh
# Our measuring module, built for each kernel in the cache from kmod/ of this
# repository, and again when its sources or the kernel have changed.
# shellcheck disable=SC2154 # $cache, $work and $scripts are set by setup-guests.sh

# Copies the sources to folder $1; fails if there are none.
copy_kspeed_source() {
    [ -f "$scripts/../kmod/Kbuild" ] || return 1
    rm -rf "$1"
    mkdir -p "$1"
    cp "$scripts"/../kmod/*.[ch] "$scripts/../kmod/Kbuild" "$1/"
}

# Names the state of the sources in folder $1.
kspeed_source() { (cd "$1" && sha256sum ./*) | sha256sum | cut -d ' ' -f 1; }

# The folder for `make -C` of release $1.
headers_of() { echo "headers/$1/src/linux-headers-$1"; }

kernel_releases() {
    for part in kernel-bookworm kernel-backports; do
        ! has_part "$part" || part_values "$part" kernel | cut -d ' ' -f 1
    done
}

# Whether release $1 has the module of the sources named $2.
has_kspeed() {
    [ -f "$cache/kernels/$1/lockgate_kspeed.ko" ] &&
        [ "$(cat "$cache/kernels/$1/.kspeed-source" 2>/dev/null)" = "$2" ]
}

# Builds the sources in folder $2 for release $1 with the headers in folder $3,
# then renames the module into folder $4. Debugging information would be most of
# every guest's image.
build_kspeed() {
    if ! make -C "$3" M="$2" modules >"$work/log" 2>&1 </dev/null; then
        say "lockgate_kspeed does not build for $1:"
        tail -n 20 "$work/log" >&2
        return 1
    fi
    ! is_command strip || strip --strip-debug "$2/lockgate_kspeed.ko"
    mv "$2/lockgate_kspeed.ko" "$4/lockgate_kspeed.ko"
    say "built lockgate_kspeed for $1"
}

# A module that cannot be built anew is removed: it would not be what the
# sources say.
drop_kspeed() {
    rm -f "$cache/kernels/$1/lockgate_kspeed.ko" "$cache/kernels/$1/.kspeed-source"
}

build_kspeed_of_all() {
    copy_kspeed_source "$work/kspeed" || return 0
    source_now=$(kspeed_source "$work/kspeed")
    for release in $(kernel_releases); do
        if has_kspeed "$release" "$source_now"; then continue; fi
        if ! is_command make || ! is_command gcc; then
            say "no gcc or no make here, so no lockgate_kspeed for $release; apt-get install gcc make, then start this again"
            drop_kspeed "$release"
            continue
        fi
        copy_kspeed_source "$work/kspeed"
        if build_kspeed "$release" "$work/kspeed" "$cache/$(headers_of "$release")" \
            "$cache/kernels/$release"; then
            echo "$source_now" >"$cache/kernels/$release/.kspeed-source"
        else
            drop_kspeed "$release"
            # shellcheck disable=SC2034 # what setup-guests.sh exits with
            status=1
        fi
    done
}

# For the kernel that runs here, which `lockgate run kspeed --kernel host` measures;
# nothing is loaded. LOCKGATE_HEADERS: other headers than those installed.
build_kspeed_of_host() {
    release=$(uname -r)
    headers=${LOCKGATE_HEADERS:-/lib/modules/$release/build}
    [ -f "$headers/Makefile" ] ||
        fail "no headers of this host's kernel in $headers; apt-get install linux-headers-$release"
    copy_kspeed_source "$work/kspeed" || fail "no kmod/ beside $scripts"
    rm -f "$cache/host/$release/lockgate_kspeed.ko"
    mkdir -p "$cache/host/$release"
    # shellcheck disable=SC2034 # what setup-guests.sh exits with
    build_kspeed "$release" "$work/kspeed" "$headers" "$cache/host/$release" || status=1
}
