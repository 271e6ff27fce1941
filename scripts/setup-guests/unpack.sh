# shellcheck shell=sh
# The parts of the cache: what each is made of, and how it is unpacked. A part
# NAME is there when .parts/NAME lists its folders and files and they are there.
# shellcheck disable=SC2154 # $cache and $work are set by setup-guests.sh

# Hardware no guest of ours has: half of what a kernel package takes.
UNNEEDED_MODULES="sound drivers/bluetooth drivers/comedi drivers/gpu drivers/hid drivers/hwmon
    drivers/iio drivers/infiniband drivers/input drivers/isdn drivers/media drivers/mmc drivers/mtd
    drivers/net/wireless drivers/platform drivers/staging drivers/usb drivers/video"


# Prints the values of key $2 in the part $1's description.
part_values() { sed -n "s/^$2 //p" "$cache/.parts/$1" 2>/dev/null; }

has_part() {
    [ -f "$cache/.parts/$1" ] || return 1
    for path in $(part_values "$1" folder) $(part_values "$1" file); do
        [ -e "$cache/$path" ] || return 1
    done
}

# The packages of part $1 as its description has them.
describe_packages() {
    packages_of "$1" | while read -r name version; do
        echo "package $name $version $(sha256sum "$(file_of "$name" "$version")" | cut -d ' ' -f 1)"
    done
}

# Whether what is there was unpacked from the very packages now wanted.
is_current() {
    has_part "$1" && packages_of "$1" >"$work/packages-now" &&
        part_values "$1" package | cut -d ' ' -f 1,2 | cmp -s - "$work/packages-now"
}

# Puts a whole folder $1 in its place $2 in the cache.
settle() {
    mkdir -p "$cache/${2%/*}"
    rm -rf "${cache:?}/$2"
    mv "$1" "$cache/$2"
}

# Writes the description of part $1 from standard input and its packages.
describe() {
    mkdir -p "$cache/.parts"
    { cat; describe_packages "$1"; } >"$work/part"
    mv "$work/part" "$cache/.parts/$1"
}

# An empty folder to unpack into.
fresh_tree() {
    tree=$work/tree
    rm -rf "$tree"
    mkdir -p "$tree"
}

# Unpacks package $1, version $2, into $tree; what follows goes to tar.
unpack() {
    unpacked_file=$(file_of "$1" "$2")
    shift 2
    dpkg-deb --fsys-tarfile "$unpacked_file" 2>"$work/log" | tar -x -C "$tree" --no-same-owner "$@" ||
        fail "could not unpack ${unpacked_file##*/} into $tree (is the disk full?); start this again: $(tail -n 1 "$work/log")"
}

plan_busybox() {
    version=$(candidate "$1" busybox-static)
    want "$1" busybox-static "$version"
}

unpack_busybox() {
    read -r name version <<NAMES
$(packages_of "$1")
NAMES
    fresh_tree
    unpack "$name" "$version"
    mkdir "$work/tree/out"
    mv "$(find "$tree/bin" "$tree/usr/bin" -name busybox -type f 2>/dev/null | head -n 1)" "$tree/out/busybox"
    settle "$tree/out" busybox
    describe "$1" <<DESCRIPTION
folder busybox
file busybox/busybox
busybox $version
DESCRIPTION
}

plan_kernel() {
    version=$(candidate "$1" linux-image-amd64)
    image=$(dependencies linux-image-amd64 "$version" | sed -n 's/^\(linux-image-[^ ]*\) .*/\1/p' | head -n 1)
    headers=linux-headers-${image#linux-image-}
    want "$1" "$image" "$version"
    want "$1" "$headers" "$version"
    for name in $(dependencies "$headers" "$version" | sed -n 's/^\(linux-headers-[^ ]*-common\|linux-kbuild-[^ ]*\).*/\1/p'); do
        want "$1" "$name" "$version"
    done
}

unpack_kernel() {
    read -r image image_version <<NAMES
$(packages_of "$1" | grep '^linux-image-')
NAMES
    release=${image#linux-image-}
    say "unpacks kernel $release ($image_version)"
    unpack_image "$image" "$image_version"
    unpack_headers "$1"
    settle "$tree/headers" "headers/$release"
    settle "$tree/kernel" "kernels/$release"
    describe "$1" <<DESCRIPTION
folder kernels/$release
folder headers/$release
file kernels/$release/vmlinuz
file kernels/$release/config
file kernels/$release/modules
file $(headers_of "$release")/Makefile
kernel $release $image_version
DESCRIPTION
}

# From the image's package: vmlinuz, config, modules.
unpack_image() {
    fresh_tree
    set -- "$1" "$2" --wildcards --exclude='./usr/share/*' --exclude=./boot/System.map*
    for folder in $UNNEEDED_MODULES; do
        set -- "$@" --exclude="*/kernel/$folder"
    done
    unpack "$@"
    mkdir "$tree/kernel"
    mv "$tree/boot/vmlinuz-$release" "$tree/kernel/vmlinuz"
    mv "$tree/boot/config-$release" "$tree/kernel/config"
    modules=$tree/lib/modules/$release
    [ -d "$modules" ] || modules=$tree/usr/lib/modules/$release
    rm -f "$modules/build" "$modules/source"
    mv "$modules" "$tree/kernel/modules"
}

# Keeps Debian's two folders side by side, src and lib, since links inside them
# are relative; only the absolute path in the makefile must be made so too.
# Without vmlinux, which is there for its BTF only, nothing asks for pahole.
unpack_headers() {
    packages_of "$1" | grep -v '^linux-image-' >"$work/headers"
    while read -r name version; do
        unpack "$name" "$version" --wildcards --exclude='./usr/share/*' --exclude=./lib/modules \
            --exclude='*/include/dt-bindings' --exclude='./usr/src/*/vmlinux'
    done <"$work/headers"
    mkdir "$tree/headers"
    mv "$tree/usr/src" "$tree/headers/src"
    mv "$tree/usr/lib" "$tree/headers/lib"
    rm -rf "$tree/headers/lib/modules"
    for folder in "$tree"/headers/src/*-common*/arch/*; do
        case ${folder##*/} in
            x86 | Kconfig) ;;
            *) rm -rf "$folder" ;;
        esac
    done
    # shellcheck disable=SC2016 # make's variables
    find "$tree/headers/src" -name Makefile -maxdepth 2 -exec sed -i -E \
        's|^include /usr/src/([^ ]*)/Makefile|include $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../\1)/Makefile|' {} +
    write_kernelvariables >"$tree/headers/src/linux-headers-$release/.kernelvariables"
}

# Debian's names the tools of its own packages; other hosts have them by their
# plain names.
write_kernelvariables() {
    cat <<'MAKE'
override ARCH = x86
CC = $(if $(shell command -v gcc-12),gcc-12,gcc)
DEBIAN_KERNEL_NO_CC_VERSION_CHECK = y
MAKE
    echo "override KERNELRELEASE = $release"
}
