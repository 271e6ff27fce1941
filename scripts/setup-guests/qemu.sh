# shellcheck shell=sh
# QEMU: this host's own, and a newer one with all its libraries in the cache.
# shellcheck disable=SC2154 # $cache, $work and $tree are set by setup-guests.sh

# Every package QEMU needs down to libc, since the host's own libraries may be
# of any release; apt says which.
plan_qemu() {
    private_apt apt-get -q -s -o "$(suite_option "$1")" \
        install qemu-system-x86 >"$work/log" 2>&1 </dev/null || how_to_go_on "find qemu-system-x86 in bookworm-backports"
    sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' "$work/log" >"$work/qemu"
    while read -r name version; do want "$1" "$name" "$version"; done <"$work/qemu"
}

unpack_qemu() {
    packages_of "$1" >"$work/qemu"
    version=$(sed -n 's/^qemu-system-x86 \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p' "$work/qemu")
    say "unpacks QEMU $version"
    fresh_tree
    while read -r name package_version; do
        unpack "$name" "$package_version" --wildcards --exclude='./usr/share/doc' --exclude='./usr/share/locale'
    done <"$work/qemu"
    gather_qemu
    "$out/qemu-system-x86_64" --version >"$work/log" 2>&1 || true
    grep -q "version $version" "$work/log" ||
        fail "the unpacked QEMU $version does not start: $(tail -n 1 "$work/log"); report this, and go on without GUESTS=all"
    settle "$out" "qemus/$version"
    describe "$1" <<DESCRIPTION
folder qemus/$version
file qemus/$version/program
file qemus/$version/qemu-system-x86_64
qemu qemus/$version/qemu-system-x86_64 $version
DESCRIPTION
}

# Library folders of the unpacked tree, joined by colons.
library_folders() {
    find "$tree/lib" "$tree/usr/lib" -name '*.so.*' -exec dirname {} + 2>/dev/null | sort -u | tr '\n' ':'
}

# Of all that was unpacked: the program, the libraries it loads, and the firmware
# of a PC. Its modules (displays, sound, USB) are left out.
gather_qemu() {
    out=$work/out
    rm -rf "$out"
    mkdir -p "$out/lib" "$out/firmware"
    cp "$tree/usr/bin/qemu-system-x86_64" "$out/program"
    loader=$(find "$tree/lib" "$tree/usr/lib" -name 'ld-linux-x86-64.so.2' | head -n 1)
    cp -L "$loader" "$out/lib/"
    "$out/lib/ld-linux-x86-64.so.2" --library-path "$(library_folders)" --list "$out/program" |
        sed -n 's|.* => \(/[^ ]*\) (.*|\1|p' | sort -u >"$work/libraries"
    while read -r library; do
        case $library in "$tree"/*) cp -L "$library" "$out/lib/" ;; esac
    done <"$work/libraries"
    gather_firmware
    write_wrapper
}

gather_firmware() {
    for folder in usr/share/qemu usr/share/seabios usr/lib/ipxe/qemu; do
        for pattern in 'bios*.bin' 'vgabios*.bin' 'kvmvapic.bin' 'linuxboot*.bin' 'multiboot*.bin' \
            'pvh.bin' 'qboot.rom' 'efi-*.rom' 'pxe-*.rom'; do
            find "$tree/$folder" -maxdepth 1 -type f -name "$pattern" -exec cp {} "$out/firmware/" \; 2>/dev/null || true
        done
    done
}

# Its own loader and libraries, so that nothing of the host's is mixed in.
write_wrapper() {
    cat >"$out/qemu-system-x86_64" <<'WRAPPER'
#!/bin/sh
# QEMU with the libraries and firmware of this folder, and no modules of others.
here=$(cd "${0%/*}" && pwd -P)
export QEMU_MODULE_DIR="$here/firmware"
exec "$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib" --argv0 qemu-system-x86_64 \
    "$here/program" -L "$here/firmware" "$@"
WRAPPER
    chmod 755 "$out/qemu-system-x86_64" "$out/program" "$out/lib/ld-linux-x86-64.so.2"
}

# A guest needs some QEMU: this host's, which setup.sh installs, or the cache's.
check_qemu() {
    if [ -n "${LOCKGATE_QEMU:-}" ] || is_command qemu-system-x86_64 || has_part qemu-backports; then return; fi
    say "no qemu-system-x86_64 on this host; guests need one: apt-get install qemu-system-x86, or without root GUESTS=all make setup-guests"
}
