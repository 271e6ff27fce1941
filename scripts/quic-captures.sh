#!/bin/sh
# Makes captures of foreign QUIC stacks over loopback, each with its key log and with what
# its streams carried, for crates/quic/tests/trace.rs.
#
#   scripts/quic-captures.sh FOLDER            every case
#   scripts/quic-captures.sh FOLDER CASE…      only those: plain, go-plain …
#
# Needs root, tcpdump, python3 and openssl. Where these lack, cases are left out: go for
# go-…; cargo, cmake and a C++ compiler for quiche-…; a C compiler, libngtcp2-dev and
# libngtcp2-crypto-gnutls-dev for ngtcp2-…. It downloads aioquic, quic-go and quiche.
#
# ngtcp2 of 1.0 and above has the cases ngtcp2-v2 and ngtcp2-v1-to-v2, that of Debian 12
# ngtcp2-draft; CPATH and LIBRARY_PATH name another than the system's.
set -eu

[ $# -ge 1 ] || { echo "usage: $0 FOLDER [CASE…]" >&2; exit 2; }
folder=$1
shift
[ $# -gt 0 ] || set -- plain aes256 chacha20 v2 v1-to-v2 retry retry-v2 key-updates ids long-ids \
    zero-rtt loss migration several version-negotiation go-plain go-v2 go-key-updates \
    quiche-plain quiche-chacha20 quiche-retry quiche-migration quiche-zero-rtt \
    ngtcp2-plain ngtcp2-aes256 ngtcp2-ccm ngtcp2-draft ngtcp2-v2 \
    ngtcp2-v1-to-v2 ngtcp2-retry ngtcp2-key-updates ngtcp2-migration ngtcp2-reset
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/quic-captures"
command -v tcpdump >/dev/null || { echo "no tcpdump here; apt-get install tcpdump" >&2; exit 1; }
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
export CERTIFICATES="$tools"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=localhost -keyout "$tools/key.pem" -out "$tools/cert.pem" 2>/dev/null

# Whether a case of that stack is wanted, and may be built with those tools.
wants() {
    stack=$1
    shift
    case " $cases " in *" $stack-"*) ;; *) return 1 ;; esac
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "skipped: $stack-…, no $tool here"; return 1; }
    done
}

cases=$*
python3 -m venv "$tools/python"
"$tools/python/bin/pip" -q install aioquic==1.7.2
if wants go go; then
    (cd quic-go && go build -o "$tools/go" .)
fi
if wants quiche cargo cmake c++; then
    CARGO_TARGET_DIR="$tools/target" cargo build -q --release --locked \
        --manifest-path quiche/Cargo.toml
    mv "$tools/target/release/quiche-capture" "$tools/quiche"
fi
if wants ngtcp2 cc; then
    cc -O1 -Wall -o "$tools/ngtcp2" ngtcp2.c -lngtcp2_crypto_gnutls -lngtcp2 -lgnutls ||
        echo "skipped: ngtcp2-…, no libngtcp2-dev and libngtcp2-crypto-gnutls-dev here"
fi

# One case in a network namespace of its own, captured from its first packet on.
run() {
    case $1 in
        go-* | quiche-* | ngtcp2-*)
            stack=${1%%-*}
            [ -x "$tools/$stack" ] || return 0
            if [ "$stack" = ngtcp2 ] && ! "$tools/ngtcp2" "${1#*-}" 2>/dev/null; then
                echo "skipped: $1, this ngtcp2 lacks it"
                return 0
            fi
            set -- "$1" "$tools/$stack" "${1#*-}"
            ;;
        *) set -- "$1" "$tools/python/bin/python aioquic_capture.py" "$1" ;;
    esac
    # BoringSSL prefers AES unless the CPU seems to lack it.
    case $1 in quiche-chacha20) set -- "$1" "env OPENSSL_ia32cap=~0x200000200000000 $2" "$3" ;; esac
    # shellcheck disable=SC2016,SC2086 # Expanded within; a program and its argument.
    unshare --net sh -euc '
        ip link set lo up
        # A frame in its buffer is as large as loopback allows: few fit in the usual one.
        tcpdump -i lo --immediate-mode -U -s 0 -B 65536 -w "$1.pcap" udp port 4433 2>"$1.log" &
        while ! grep -qs listening "$1.log"; do sleep 0.1; done
        shift_of=$1
        shift
        timeout 60 "$@" 4433 "$shift_of.keys" "$shift_of.json"
        sleep 1
        kill $!
        wait $! || true
        grep "^0 packets dropped by kernel" "$shift_of.log" >/dev/null || { cat "$shift_of.log" >&2; exit 1; }
        rm "$shift_of.log"
    ' sh "$folder/$1" $2 "$3"
    echo "$1: $(wc -c <"$folder/$1.pcap") bytes"
}

for name in "$@"; do
    run "$name"
done
