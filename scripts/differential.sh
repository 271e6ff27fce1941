#!/bin/sh
# Random jobs by every crypto back-end against another library, for as long as
# it takes:
#
#   scripts/differential.sh              10^8 cases on 2 threads
#   scripts/differential.sh 1000000 1 5  that many, on 1 thread, from seed 5
#
# Ends with 1 at the first wrong result and says which.
set -eu

cd "$(dirname "$0")/.."
exec cargo run --quiet --release -p lockgate-crypto --example differential -- "$@"
