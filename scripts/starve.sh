#!/usr/bin/env bash
# Runs a command on a host that takes its CPUs away, as a crowded hypervisor does:
# on each CPU a real-time thread spins for random spells, of TAKEN_MS on average,
# and leaves LEFT_MS between them. Tests must pass then as well, only later.
#
#   sudo scripts/starve.sh [TAKEN_MS [LEFT_MS]] -- COMMAND…
#   sudo scripts/starve.sh -- make test
set -euo pipefail

taken_ms=150 left_ms=60
[ "${1:---}" = -- ] || { taken_ms=$1; shift; }
[ "${1:---}" = -- ] || { left_ms=$1; shift; }
for ms in "$taken_ms" "$left_ms"; do
    [[ $ms =~ ^[1-9][0-9]{0,3}$ ]] || { echo "'$ms' is no time: 1 to 9999 ms" >&2; exit 2; }
done
if [ "${1:-}" != -- ] || [ "$#" -lt 2 ]; then
    echo "no command; scripts/starve.sh [TAKEN_MS [LEFT_MS]] -- COMMAND…" >&2
    exit 2
fi
shift
chrt -f 1 true || { echo "real-time threads need root, and chrt of util-linux" >&2; exit 1; }

# Uniform from nothing to twice the average. What waits for a CPU of a thread that
# never sleeps waits for ever: only `sleep` lets go, and the clock is bash's own.
spin() {
    local end pause
    while :; do
        end=$((${EPOCHREALTIME/[.,]/} + RANDOM * taken_ms * 1000 / 16384))
        while ((${EPOCHREALTIME/[.,]/} < end)); do :; done
        pause=$((RANDOM * left_ms * 1000 / 16384))
        sleep "$((pause / 1000000)).$(printf %06d $((pause % 1000000)))"
    done
}
export -f spin
export taken_ms left_ms

spinners=()
trap 'kill "${spinners[@]}" 2>/dev/null || true' EXIT
for cpu in $(taskset -pc $$ | sed 's/.*: //; s/,/ /g'); do
    for ((one = ${cpu%-*}; one <= ${cpu#*-}; one++)); do
        chrt -f 50 taskset -c "$one" bash -c spin &
        spinners+=($!)
    done
done
"$@"
