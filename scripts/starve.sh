#!/usr/bin/env bash
# Runs a command on a host that takes its CPUs away, as a crowded hypervisor does:
# on each CPU a real-time thread spins for random spells, of SPELL_MS on average, so
# that PERCENT of its time are gone. No test may fail then.
#
#   sudo scripts/starve.sh [PERCENT [SPELL_MS]] -- COMMAND…      80 and 150
#   sudo scripts/starve.sh 80 -- make test
set -euo pipefail

percent=80 spell_ms=150
[ "${1:---}" = -- ] || { percent=$1; shift; }
[ "${1:---}" = -- ] || { spell_ms=$1; shift; }
[[ $percent =~ ^[1-9][0-9]?$ ]] || { echo "'$percent' is not a share: 1 to 99 percent" >&2; exit 2; }
[[ $spell_ms =~ ^[1-9][0-9]{0,3}$ ]] || { echo "'$spell_ms' is not a time: 1 to 9999 ms" >&2; exit 2; }
if [ "${1:-}" != -- ] || [ "$#" -lt 2 ]; then
    echo "no command; scripts/starve.sh [PERCENT [SPELL_MS]] -- COMMAND…" >&2
    exit 2
fi
shift
chrt -f 1 true || { echo "real-time threads need root, and chrt of util-linux" >&2; exit 1; }

# Uniform from nothing to twice the average. What waits for a CPU of a thread that
# never sleeps waits for ever: only `sleep` lets go, and the clock is bash's own.
spin() {
    local end pause
    while :; do
        end=$((${EPOCHREALTIME/[.,]/} + RANDOM * spell_ms * 1000 / 16384))
        while ((${EPOCHREALTIME/[.,]/} < end)); do :; done
        pause=$((RANDOM * left_us / 16384))
        sleep "$((pause / 1000000)).$(printf %06d $((pause % 1000000)))"
    done
}
export -f spin
export spell_ms left_us=$((spell_ms * 1000 * (100 - percent) / percent))

spinners=()
trap 'kill "${spinners[@]}" 2>/dev/null || true' EXIT
for cpu in $(taskset -pc $$ | sed 's/.*: //; s/,/ /g'); do
    for ((one = ${cpu%-*}; one <= ${cpu#*-}; one++)); do
        chrt -f 50 taskset -c "$one" bash -c spin &
        spinners+=($!)
    done
done
"$@"
