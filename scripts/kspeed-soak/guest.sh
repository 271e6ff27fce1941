# shellcheck shell=sh
# In the guest: sh soak.sh CYCLES UNLOADS
cycles=$1
unloads=$2
files=/sys/kernel/debug/lockgate_kspeed
failures=0

fail() {
    failures=$((failures + 1))
    [ $failures -gt 20 ] || echo "soak: failure: $1"
}

# One of every kind in turn; $1 counts.
chosen() {
    case $(($1 % 4)) in
        0) mode=sync ;;
        1) mode="batch" ;;
        2) mode=async ;;
        3) mode=resubmit ;;
    esac
    case $(($1 / 4 % 8)) in
        0) what="type=skcipher driver=virtio_crypto_aes_cbc" ;;
        1) what="type=skcipher driver=cbc(aes-generic) size=4096 threads=3" ;;
        2) what="type=skcipher driver=cryptd(cbc(aes-generic)) op=decrypt" ;;
        3) what="type=aead driver=gcm(aes) op=decrypt" ;;
        4) what="type=aead driver=pcrypt(gcm_base(ctr(aes-generic),ghash-generic)) threads=2" ;;
        5) what="type=ahash driver=cryptd(sha256-generic) size=100" ;;
        6) what="type=akcipher driver=rsa" ;;
        7) what="type=aead driver=gcm(aes) place=in" ;;
    esac
}

load() {
    insmod /mod/lockgate_kspeed.ko || fail "insmod"
}

unload() {
    rmmod lockgate_kspeed || fail "rmmod ($1)"
}

cycle() {
    chosen "$1"
    load
    echo "start $what mode=$mode ms=5 warmup_ms=1" >$files/control || fail "start $what"
    read -r line <$files/result
    case $line in
        *'"ok":true'*'"errors":0,"verified":true'*) ;;
        *) fail "$what mode=$mode: $line" ;;
    esac
    read -r _ _ used _ </proc/modules
    [ "$used" = 0 ] || fail "used by $used after $what"
    unload "$what"
}

unload_while_running() {
    chosen "$1"
    load
    echo "start $what mode=$mode ms=60000 warmup_ms=$(($1 % 3))" >$files/control ||
        fail "start $what"
    usleep $(($1 % 10 * 3000))
    unload "$what mode=$mode"
}

# Bytes in the kmalloc caches and per CPU, and KiB of vmalloc space.
memory() {
    echo 3 >/proc/sys/vm/drop_caches
    echo 1 >/proc/sys/vm/compact_memory
    sleep 1
    slab=$(awk '/^kmalloc-/ { bytes += $2 * $4 } END { print bytes / 1024 }' /proc/slabinfo)
    percpu=$(awk '/^Percpu/ { print $2 }' /proc/meminfo)
    vmalloc=$(awk '/^VmallocUsed/ { print $2 }' /proc/meminfo)
    set -- /proc/[0-9]*
    threads=$#
}

some_cycles=$((cycles < 112 ? cycles : 112))
some_unloads=$((unloads < 28 ? unloads : 28))
dmesg -c >/dev/null
echo 1 >/proc/sys/kernel/panic_on_warn
# The first ones instantiate templates and fill caches, which stay.
i=0
while [ $i -lt $some_cycles ]; do cycle $i; i=$((i + 1)); done
i=0
while [ $i -lt $some_unloads ]; do unload_while_running $i; i=$((i + 1)); done
memory
cp /proc/slabinfo /tmp/slabs
slab_before=$slab percpu_before=$percpu vmalloc_before=$vmalloc threads_before=$threads

read -r started _ </proc/uptime
i=0
while [ $i -lt "$cycles" ]; do cycle $i; i=$((i + 1)); done
i=0
while [ $i -lt "$unloads" ]; do unload_while_running $i; i=$((i + 1)); done
read -r ended _ </proc/uptime
memory
echo "soak: $cycles cycles and $unloads unloads while running in $started to $ended s"
echo "soak: kmalloc $slab_before to $slab KiB, per CPU $percpu_before to $percpu KiB, vmalloc $vmalloc_before to $vmalloc KiB, processes $threads_before to $threads"

# Caches keep some objects for themselves: less than 32 bytes a cycle is none of ours.
allowed=$(((cycles + unloads) * 32 / 1024 + 64))
over() { awk "BEGIN { exit !($1 > $2) }"; }
if over "$slab" "$slab_before + $allowed"; then
    fail "kmalloc grew by more than $allowed KiB"
    awk '/^kmalloc-/ && NR == FNR { before[$1] = $2; next }
        /^kmalloc-/ && $2 > before[$1] { print "soak: " $1 " " before[$1] " to " $2 }' \
        /tmp/slabs /proc/slabinfo
fi
over "$percpu" "$percpu_before + 64" && fail "per-CPU memory grew by more than 64 KiB"
over "$vmalloc" "$vmalloc_before + 256" && fail "vmalloc grew by more than 256 KiB"
over "$threads" "$threads_before + 8" && fail "there are more processes"
dmesg | grep -iE 'warning:|bug:|leak|stall|lockup|corrupt|hung_task|oops|call trace' >/tmp/found &&
    fail "the log: $(head -n 5 /tmp/found)"
if [ $failures -eq 0 ]; then echo "soak: PASS"; else echo "soak: FAIL, $failures failures"; fi
