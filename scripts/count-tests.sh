#!/bin/sh
# Runs a command, shows what it says, and adds up the test summaries in it:
# the last line is "N passed, N failed, N skipped". Ends as the command ended.
set -eu

log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT

{
    "$@" 2>&1 && ended=0 || ended=$?
    echo "$ended" >"$log.status"
} | tee "$log"
ended=$(cat "$log.status")

awk -v ended="$ended" -f "$(dirname "$0")/count-tests.awk" "$log"
exit "$ended"
