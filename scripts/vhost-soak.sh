#!/bin/sh
# Loads crypto devices with front-ends of random manner that leave, come back and
# are killed, kills one of the two programs of devices at random moments, compares
# every result, and looks every 10 s whether the program that lives holds more
# files, threads, sessions or memory than at first.
#
#   scripts/vhost-soak.sh        an hour
#   scripts/vhost-soak.sh 90     so many seconds
#
# Prints a line a minute, and PASS with the figures. Ends with 1 at the first wrong
# result, hang or growth.
set -eu

seconds=${1:-3600}
case $seconds in
    '' | *[!0-9]* | 0) echo "usage: $0 [SECONDS]; a whole number from 1" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
export LOCKGATE_SOAK_S="$seconds"
cargo test --locked --package lockgate-vhost --test vhost_tests -- --nocapture --exact \
    soak::random_kills_leave_nothing_behind || exit 1
