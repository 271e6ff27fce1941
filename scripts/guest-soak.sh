#!/bin/sh
# Boots 100 guests, kills QEMU at a random moment of each, and looks every time
# that nothing is left: no process, no descriptor, no thread, no file.
#
#   scripts/guest-soak.sh        about ten minutes
#
# Needs the guest cache (make setup-guests). Ends with 1 at the first trace.
set -eu

cd "$(dirname "$0")/.."
export LOCKGATE_THOROUGH=1
cargo test --package lockgate-vm --test vm_left_behind -- --nocapture --exact \
    random_kills_of_qemu_leave_nothing
