#!/bin/busybox sh
# The first process of a guest: mounts what programs expect, loads modules,
# starts the agent and waits for it. When the agent ends, so does the guest.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
# Libraries of host programs, where the image has any.
[ ! -d /usr/lib/lockgate ] || export LD_LIBRARY_PATH=/usr/lib/lockgate

/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox mount -t debugfs debugfs /sys/kernel/debug
/bin/busybox mount -t tmpfs -o mode=1777 tmpfs /tmp
/bin/busybox mount -t tmpfs -o mode=755 tmpfs /run
/bin/busybox mkdir -p /run/lockgate /dev/pts /dev/shm
/bin/busybox mount -t devpts devpts /dev/pts
/bin/busybox mount -t tmpfs -o mode=1777 tmpfs /dev/shm
# What the image brought along under such a name stays.
/bin/busybox --install -s /bin

ifconfig lo up 2>/dev/null
hostname lockgate

# The kernel may have asked for one by itself, through modprobe.
while read -r name path; do
    [ ! -d "/sys/module/$name" ] || continue
    insmod "$path" || [ -d "/sys/module/$name" ] || {
        echo "lockgate: module $name was not loaded" >&2
        echo "$name" >>/run/lockgate/modules_failed
    }
done </etc/lockgate/modules

cd /root || cd /
/bin/busybox sh /etc/lockgate/agent.sh
echo "lockgate: the agent ended with $?" >&2
sync
poweroff -f
