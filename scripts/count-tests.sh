#!/bin/sh
# Runs a command that tests, shows what it says, and then what its tests noted: what
# was inconclusive, skipped or left out, and why. The last line is "N passed, N
# failed, N skipped". Ends as the command ended.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Where crates/testing writes; a caller may want them too.
export LOCKGATE_TEST_NOTES="${LOCKGATE_TEST_NOTES:-$work/all.notes}"
: >>"$LOCKGATE_TEST_NOTES"

{
    "$@" 2>&1 && ended=0 || ended=$?
    echo "$ended" >"$work/status"
} | tee "$work/all.log"
ended=$(cat "$work/status")

[ "$LOCKGATE_TEST_NOTES" = "$work/all.notes" ] || cp "$LOCKGATE_TEST_NOTES" "$work/all.notes"
awk -v ended="$ended" -f "$(dirname "$0")/count-tests.awk" "$work/all.notes" "$work/all.log"
exit "$ended"
