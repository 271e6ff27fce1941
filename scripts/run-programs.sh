#!/usr/bin/env bash
# Runs test programs side by side, each in its folder as cargo would, and shows what
# each printed when it has ended. Then, one program after the other, those of their
# tests that want the host alone or found it busy. Last, what took longest.
#
#   run-programs.sh LIST [COMMAND…]
#
# LIST has a line "folder<tab>program<tab>arguments" for each; COMMAND… starts it, as
# `env` does. LOCKGATE_TEST_PROGRAMS says how many run at once; of those that may boot
# guests, half as many.
set -uo pipefail

LIST=$1
shift
THROUGH=("$@")
SLOWEST=8
# Tests wait more than they compute.
AT_ONCE=${LOCKGATE_TEST_PROGRAMS:-$(($(nproc) < 4 ? 2 * $(nproc) : 8))}
NOTES=${LOCKGATE_TEST_NOTES:-/dev/null}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Tests of any user write there.
chmod 755 "$work"
status=0
: >"$work/programs"
: >"$work/tests"
: >"$work/again"

# Runs program $2 in folder $1 with the arguments that follow; all about it is in $run.*.
run() {
    local TIMEFORMAT='%R %U %S'
    : >"$run.notes"
    chmod 666 "$run.notes"
    cd "$1" || exit
    # What a shell starts in the background would ignore Ctrl-C. The harness tells the
    # times of tests as an unstable option only.
    time "${THROUGH[@]}" env --default-signal=INT,QUIT CARGO_MANIFEST_DIR="$1" \
        RUSTC_BOOTSTRAP=1 LOCKGATE_TEST_NOTES="$run.notes" LOCKGATE_TEST_ALONE="$alone" \
        "${@:2}" -Z unstable-options --report-time </dev/null >"$run.log" 2>&1
}

# Shows what program $2 of folder $1 printed ($3 says how it ran), and keeps what it
# noted. Lists the tests that run again, which count then.
show() {
    local name=${2##*/}
    name=${name%-*}
    printf '     Running %s%s (%s)\n' "${3:-}" "$1" "$2"
    awk -F '\t' -v alone="$alone" -v name="$name" -v kept="$NOTES" -v again="$run.again" -v tests="$work/tests" '
        FILENAME ~ /notes$/ {
            # A place in a file is the name of no test.
            if (alone != "later" || $1 !~ /^(alone|inconclusive)$/ || $3 ~ /:[0-9]+$/) print >>kept
            else if (!(later[$3]++)) print $3 >again
            next
        }
        { test = $0 }
        sub(/^test /, "", test) && sub(/ \.\.\. .*/, "", test) {
            if (match($0, /<[0-9.]+s>$/)) print substr($0, RSTART + 1, RLENGTH - 3), name, test >>tests
            if (test in later && / \.\.\. ok/) $0 = "test " test " runs again, alone"
        }
        { print }' "$run.notes" "$run.log"
    tail -n 1 "$run.time" | awk -v name="$name" '{ printf "%.1f %.1f %s\n", $1, $2 + $3, name }' >>"$work/programs"
    [ "$ended" -eq 0 ] || { echo "$name ended with $ended"; status=1; }
}

# Starts what the line $1 says, in the background.
start() {
    local folder program tests
    IFS=$'\t' read -r folder program tests <<<"$1"
    # shellcheck disable=SC2086 # several words
    { run=$work/$BASHPID; run "$folder" "$program" $tests 2>"$work/$BASHPID.time"; } &
    folders[$!]=$folder programs[$!]=$program
    [ "$2" = others ] || booting[$!]=yes
    running=$((running + 1))
}

# Waits for one of those that run.
reap() {
    local pid ended=0
    wait -n -p pid || ended=$?
    run=$work/$pid
    show "${folders[$pid]}" "${programs[$pid]}"
    [ ! -s "$run.again" ] || printf '%s\t%s\t%s\n' "${folders[$pid]}" "${programs[$pid]}" "$run.again" >>"$work/again"
    unset "booting[$pid]"
    running=$((running - 1))
}

alone=later
[ "$AT_ONCE" -gt 1 ] || alone=
declare -A folders=() programs=() booting=()
running=0 guests=() others=()
while IFS= read -r line; do
    # Guests take memory, and have times to be ready in.
    if grep -q -a -F lockgate_vm "$(cut -f 2 <<<"$line")"; then guests+=("$line"); else others+=("$line"); fi
done <"$LIST"
while :; do
    if [ "$running" -lt "$AT_ONCE" ] && [ ${#guests[@]} -gt 0 ] && [ ${#booting[@]} -lt $(((AT_ONCE + 1) / 2)) ]; then
        start "${guests[0]}" guests
        guests=("${guests[@]:1}")
    elif [ "$running" -lt "$AT_ONCE" ] && [ ${#others[@]} -gt 0 ]; then
        start "${others[0]}" others
        others=("${others[@]:1}")
    elif [ "$running" -gt 0 ]; then
        reap
    else
        break
    fi
done

alone=
while IFS=$'\t' read -r folder program again; do
    mapfile -t tests <"$again"
    ended=0
    run=$work/alone
    (run "$folder" "$program" --exact "${tests[@]}" 2>"$run.time") || ended=$?
    show "$folder" "$program" "alone: "
done <"$work/again"

# The lines of file $2 that begin with the largest numbers. sort(1) wants a library that
# `.ci/run bare` hides.
longest() {
    printf '%s:\n' "$1"
    awk -v most="$SLOWEST" '
        { line[NR] = $0; seconds[NR] = $1 + 0 }
        END {
            for (shown = 0; shown < most && shown < NR; shown++) {
                longest = 0
                for (i in seconds) if (!longest || seconds[i] > seconds[longest]) longest = i
                print "  " line[longest]
                delete seconds[longest]
            }
        }' "$2"
}
longest "slowest programs, in seconds, with their CPU time" "$work/programs"
longest "slowest tests, in seconds" "$work/tests"
exit "$status"
