#!/bin/sh
# CPU time of transfers by s2n-quic beside quinn, stock and offloaded: interleaved, over
# loopback, both ends, AES-128-GCM, UDP payloads of 1452 bytes.
#
#   scripts/quic-peers.sh             15 pairs of 1 GB
#   scripts/quic-peers.sh BYTES PAIRS
#
# Needs two CPUs; it downloads s2n-quic and builds it.
set -eu

cd "$(dirname "$0")/quic-peers"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target/quic-peers} \
    cargo run --release --locked --quiet -- "$@"
