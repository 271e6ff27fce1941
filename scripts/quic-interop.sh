#!/bin/sh
# Transfers between `lockgate quic perf` and foreign stacks over loopback, in both directions:
# plain, with key updates, Retry, 0-RTT, a client that moves, a server that forgets.
#
#   scripts/quic-interop.sh LOCKGATE             every case, with every protection
#   scripts/quic-interop.sh LOCKGATE offloaded   that protection alone
#
# Needs python3 and openssl; without go the cases of quic-go are left out. It downloads
# aioquic and quic-go. Ends with 1 if a case failed.
set -eu

[ $# -ge 1 ] || { echo "usage: $0 LOCKGATE [PROTECTION…]" >&2; exit 2; }
lockgate=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- offloaded worker inline
cd "$(dirname "$0")/quic-interop"
tools=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$tools"' EXIT
export CERTIFICATES="$tools"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE \
    -keyout "$tools/key.pem" -out "$tools/cert.pem" 2>/dev/null
python3 -m venv "$tools/python"
"$tools/python/bin/pip" -q install aioquic==1.7.2
peers=aioquic
if command -v go >/dev/null; then
    (cd quic-go && go build -o "$tools/go" .)
    peers="aioquic quic-go"
else
    echo "skipped: quic-go, no go here; apt-get install golang-go"
fi

peer() {
    stack=$1
    shift
    case $stack in
        aioquic) exec timeout 120 "$tools/python/bin/python" aioquic_perf.py "$@" ;;
        quic-go) exec timeout 120 "$tools/go" "$@" ;;
    esac
}

# Starts a server and waits until it listens.
start() {
    "$@" >"$tools/server.log" 2>&1 &
    server=$!
    tries=0
    until grep -q listening "$tools/server.log"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { cat "$tools/server.log" >&2; return 1; }
        sleep 0.1
    done
}

stop() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
}

failed=0
said() {
    if [ "$2" = ok ]; then
        echo "ok      $1"
    else
        echo "FAILED  $1"
        sed 's/^/        /' "$tools/client.log" "$tools/server.log"
        failed=1
    fi
}

port=4460
bytes=3000000
for protection in "$@"; do
    for stack in $peers; do
        for case in transfer key-update retry 0-rtt migration; do
            port=$((port + 1))
            retry=
            [ "$case" != retry ] || retry=--retry
            # shellcheck disable=SC2086 # A flag or none.
            start "$lockgate" quic perf server --listen "127.0.0.1:$port" \
                --certificate "$tools/cert.pem" --key "$tools/key.pem" \
                --protection "$protection" $retry
            outcome=ok
            (peer "$stack" client "$port" "$case" "$bytes") >"$tools/client.log" 2>&1 ||
                outcome=failed
            stop
            said "$stack → lockgate ($protection): $case" "$outcome"
        done
        for case in transfer key-update retry 0-rtt migration reset; do
            # aioquic resets no connection that it does not know.
            [ "$stack-$case" != aioquic-reset ] || continue
            port=$((port + 1))
            flags="--download 3M"
            wanted="transfer 1"
            case $case in
                key-update) flags="--download 30M --update-keys" ;;
                0-rtt) flags="$flags --transfers 2" wanted="transfer 2, 0-RTT" ;;
                migration) flags="--download 30M --move" ;;
                reset) flags="--download 1000G" wanted="reset by peer" ;;
            esac
            start peer "$stack" server "$port" "$case"
            outcome=ok
            # shellcheck disable=SC2086 # Several flags.
            timeout 120 "$lockgate" quic perf client "127.0.0.1:$port" --trust "$tools/cert.pem" \
                --protection "$protection" $flags >"$tools/client.log" 2>&1 || outcome=failed
            [ "$case" != reset ] || outcome=ok
            grep -q "$wanted" "$tools/client.log" || outcome=failed
            stop
            said "lockgate ($protection) → $stack: $case" "$outcome"
        done
    done
done
exit "$failed"
