#!/bin/sh
# Runs every fuzz target for some seconds:
#
#   scripts/fuzz.sh              60 s each
#   scripts/fuzz.sh 600 lane     only that one, for 600 s
#   scripts/fuzz.sh --runs 10000000 disk_header
#                                that one, for so many inputs: about an hour
#
# Needs the nightly compiler: rustup toolchain install nightly. What is found
# is kept in fuzz/artifacts/<target>; new inputs collect in
# fuzz/target/corpus/<target>, beside the committed ones, which stay as they are.
set -eu

cd "$(dirname "$0")/../fuzz"
export PATH="$PATH:$HOME/.cargo/bin"
limit=max_total_time
[ "${1:-}" != --runs ] || { limit=runs; shift; }
count=${1:-60}
case $count in
    '' | *[!0-9]* | 0) echo "usage: $0 [SECONDS | --runs COUNT [TARGET…]]; each a whole number from 1" >&2; exit 2 ;;
esac
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- run_read scenario cpuid_dump disk_header histogram crypto_job lane functions \
    quic_capture quic_keylog quic_trace vhost_messages vhost_parts vhost_queue vm_frames wire_frames \
    wire_quic wire_views

host=$(rustc +nightly -vV | sed -n 's/^host: //p') || host=
[ -n "$host" ] || { echo "no nightly compiler here; rustup toolchain install nightly" >&2; exit 1; }
folder=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# What cargo-fuzz sets, without having to install it. A given host keeps these
# flags away from build scripts.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
CARGO_TARGET_DIR=$folder RUSTFLAGS="--cfg fuzzing $coverage -Zsanitizer=address ${RUSTFLAGS:-}" \
    cargo +nightly build --release --bins --target "$host"

failed=
for target in "$@"; do
    echo "=== $target, $limit $count"
    mkdir -p "$folder/corpus/$target" "artifacts/$target"
    # Text may be as long as a file is; of choices a few hundred are plenty.
    case $target in
        crypto_job | lane | functions | vhost_* | wire_frames | wire_quic | wire_views) longest=1000 ;;
        *) longest=16384 ;;
    esac
    # Where a device's threads run, no run is quite like another, nor frees all that it
    # takes: to look into either would take longer than the runs.
    case $target in
        vhost_messages | vhost_queue) threads="-entropic=0 -detect_leaks=0" ;;
        *) threads= ;;
    esac
    # shellcheck disable=SC2086 # None, or two.
    "$folder/$host/release/$target" $threads -$limit="$count" -max_len="$longest" -timeout=25 \
        -print_final_stats=1 -artifact_prefix="artifacts/$target/" \
        "$folder/corpus/$target" "corpus/$target" || failed="$failed $target"
done
[ -z "$failed" ] || { echo "failed:$failed; the inputs are in fuzz/artifacts"; exit 1; }
