#!/bin/sh
# Loads, runs and unloads lockgate_kspeed in a guest, again and again, and
# unloads it while it runs; then looks for warnings in the guest's log and for
# memory that did not come back.
#
#   scripts/kspeed-soak.sh            1,000 cycles and 100 unloads, some minutes
#   scripts/kspeed-soak.sh 50 10      that many
#
# Needs the guest cache (make setup-guests). RELEASE chooses the kernel, KSPEED
# another build of the module, LIMIT the seconds it may take (1800). Prints PASS
# or FAIL with the figures; ends with 1 on FAIL, with 2 if it cannot run.
set -eu

cannot() { echo "kspeed-soak: $1" >&2; exit 2; }

for count in "$@"; do
    case $count in
        '' | *[!0-9]*) cannot "\"$count\" is not a whole number; usage: $0 [CYCLES [UNLOADS]]" ;;
    esac
done
cycles=${1:-1000}
unloads=${2:-100}
here=$(cd "$(dirname "$0")" && pwd)
cache=${LOCKGATE_GUESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/lockgate/guests}
[ -d "$cache/kernels" ] || cannot "no guest cache in $cache; make setup-guests"
release=${RELEASE:-$(find "$cache/kernels" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort | head -n 1)}
kernel=$cache/kernels/$release
[ -f "$kernel/vmlinuz" ] || cannot "no kernel $release in $cache; make setup-guests"
kspeed=${KSPEED:-$kernel/lockgate_kspeed.ko}
[ -f "$kspeed" ] || cannot "no $kspeed; make setup-guests with the headers, or KSPEED=FILE"
qemu=${LOCKGATE_QEMU:-qemu-system-x86_64}
command -v "$qemu" >/dev/null || cannot "no $qemu; make setup-guests, or LOCKGATE_QEMU=FILE"
busybox=$cache/busybox/busybox

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin" "$root/mod" "$root/dev"
cp "$busybox" "$root/bin/busybox"
cp "$kspeed" "$root/mod/lockgate_kspeed.ko"
cp "$here/kspeed-soak/guest.sh" "$root/soak.sh"
: >"$root/order"

# Modules and what they depend on, in the order in which to load them.
add() {
    grep -qx "$1" "$root/order" && return
    file=$(find "$kernel/modules/kernel" \( -name "$1.ko*" -o -name "$(echo "$1" | tr _ -).ko*" \) |
        head -n 1)
    # What is not there is built in.
    [ -n "$file" ] || return 0
    case $file in
        *.xz) xz -dc "$file" >"$work/$1.ko" ;;
        *) cp "$file" "$work/$1.ko" ;;
    esac
    for needed in $(tr '\0' '\n' <"$work/$1.ko" | sed -n 's/^depends=//p' | tr ,- ' _'); do
        add "$needed"
    done
    mv "$work/$1.ko" "$root/mod/$1.ko"
    echo "$1" >>"$root/order"
}
for module in virtio_pci virtio_crypto cryptd pcrypt aesni_intel gcm xts ctr ecb \
    sha256_ssse3 ghash_generic hmac; do
    # In a process of its own, because sh has no local names.
    (add "$module")
done

cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /tmp
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t debugfs debug /sys/kernel/debug
/bin/busybox --install -s /bin
export PATH=/bin
for name in $(cat /order); do insmod /mod/$name.ko; done
sh /soak.sh $(sed -n 's/.*soak=\([0-9,]*\).*/\1/p' /proc/cmdline | tr , ' ')
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | "$busybox" cpio -o -H newc) >"$work/image" 2>/dev/null

# The options let the kernel notice what is written after it was freed.
timeout "${LIMIT:-1800}" "$qemu" -machine q35,accel=tcg -cpu max -m 512 -smp 1 \
    -nodefaults -no-user-config -display none -no-reboot \
    -kernel "$kernel/vmlinuz" -initrd "$work/image" -serial stdio \
    -append "console=ttyS0 quiet panic=-1 mitigations=off slub_debug=FZP slub_nomerge page_poison=1 soak=$cycles,$unloads" \
    -object cryptodev-backend-builtin,id=c0 -device virtio-crypto-pci,cryptodev=c0 \
    </dev/null >"$work/log" 2>&1 || echo "kspeed-soak: QEMU ended with $?" >>"$work/log"
grep -a '^soak:' "$work/log" || true
if grep -aq '^soak: PASS' "$work/log"; then
    echo "PASS $release"
    exit 0
fi
tail -n 60 "$work/log"
echo "FAIL $release"
exit 1
