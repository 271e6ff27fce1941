#!/bin/sh
# Makes routers and takes them away, many times, and kills the program that keeps them at
# random moments: nothing may be left. As root; outside CI.
#   scripts/router-soak.sh [TIMES] [PROGRAM]
set -eu
times=${1:-1000}
program=${2:-target/release/lockgate}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
file=$folder/soak.toml
cat > "$file" <<'TOML'
schema = 1
[router.soak1]
path = "xdp"
[[router.soak1.port]]
name = "lan"
veth = "lgsoak1"
addresses = ["192.0.2.1/30"]
[[router.soak1.port]]
name = "core"
to = "soak2.core"
addresses = ["198.51.100.0/31"]
[[router.soak1.port]]
name = "guest"
tap = true
addresses = ["203.0.113.1/24"]
[[router.soak1.route]]
to = "198.18.0.0/16"
via = "192.0.2.2"
[router.soak2]
[[router.soak2.port]]
name = "core"
to = "soak1.core"
addresses = ["198.51.100.1/31"]
TOML

left() {
    ip netns list | grep -E '^lockgate-soak' || true
    ip -brief link | grep -E '^lgsoak' || true
    pgrep -f "router up --foreground $file" || true
    find /run/lockgate -name '*soak*' -newer "$file" || true
}

kills=0
count=0
while [ "$count" -lt "$times" ]; do
    count=$((count + 1))
    # Two of three are killed: while they come up, or after.
    case $(($(od -An -N1 -tu1 /dev/urandom) % 3)) in
    0)
        "$program" --quiet router up "$file" > /dev/null
        ;;
    1)
        "$program" --quiet router up "$file" > /dev/null
        pkill -9 -f "router up --foreground $file" || true
        kills=$((kills + 1))
        ;;
    2)
        "$program" --quiet router up "$file" > /dev/null 2>&1 &
        up=$!
        sleep "0.0$(($(od -An -N1 -tu1 /dev/urandom) % 99 + 1))"
        pkill -9 -f "router up --foreground $file" || true
        kills=$((kills + 1))
        wait "$up" || true
        ;;
    esac
    "$program" --quiet router down "$file" > /dev/null
    if [ -n "$(left)" ]; then
        echo "after $count times, $kills kills, there is left:"
        left
        exit 1
    fi
done
echo "$count times, $kills kills: nothing left"
