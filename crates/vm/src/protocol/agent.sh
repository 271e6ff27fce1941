#!/bin/busybox sh
# Lockgate's agent: runs in a guest, under busybox's shell, and does what the
# host asks over a byte stream. The frames are described in frame.rs:
#
#     LG1 <sequence> <kind> <value> <limit> <length>\n<payload>
#
# LOCKGATE_PORT    the stream: a file, or the number of an open descriptor; by
#                  default the virtio port lockgate.control
# LOCKGATE_STATE   a folder of its own; by default /run/lockgate

# Lengths are counted in bytes.
export LC_ALL=C

state=${LOCKGATE_STATE:-/run/lockgate}
mkdir -p "$state" || exit 1

find_port() {
    for name_file in /sys/class/virtio-ports/*/name; do
        name=
        read -r name 2>/dev/null <"$name_file"
        if [ "$name" = lockgate.control ]; then
            port_folder=${name_file%/name}
            port=/dev/${port_folder##*/}
            return 0
        fi
    done
    return 1
}

# The device tells the names of its ports when it is set up; on a busy host that
# may be after the first process has begun.
await_port() {
    tries=0
    until find_port; do
        tries=$((tries + 1))
        if [ "$tries" -gt 300 ]; then
            echo "lockgate: no virtio port was called lockgate.control for 30 s" >&2
            return 1
        fi
        sleep 0.1
    done
}

port=${LOCKGATE_PORT:-}
[ -n "$port" ] || await_port || exit 1
# One opening for both directions: a virtio port can be opened only once.
case $port in
    [0-9]) exec 9<&"$port" ;;
    *) exec 9<>"$port" ;;
esac || exit 1

# header KIND VALUE LENGTH: begins a frame that answers the current request.
header() {
    printf 'LG1 %s %s %s 0 %s\n' "$sequence" "$1" "$2" "$3" >&9
}

# answer KIND VALUE TEXT
answer() {
    printf 'LG1 %s %s %s 0 %s\n%s' "$sequence" "$1" "$2" "${#3}" "$3" >&9
}

# send KIND FILE BYTES
send() {
    header "$1" 0 "$3"
    cat "$2" >&9
}

# receive BYTES: exactly this many from the stream.
receive() {
    [ "$1" -eq 0 ] || dd bs=65536 count="$1" iflag=fullblock,count_bytes status=none <&9
}

# into_seconds MILLISECONDS
into_seconds() {
    printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
}

# receive_path BYTES: sets path, which may hold anything but NUL.
receive_path() {
    path=$(receive "$1"; echo .)
    path=${path%.}
    # No option, and no `-` for standard input.
    case $path in
        /*) ;;
        *) path=./$path ;;
    esac
}

json_about_guest() {
    cpus=0
    while read -r word _; do
        [ "$word" = processor ] && cpus=$((cpus + 1))
    done </proc/cpuinfo
    while read -r word memory_kib _; do
        [ "$word" = MemTotal: ] && break
    done </proc/meminfo
    read -r uptime _ </proc/uptime
    read -r release </proc/sys/kernel/osrelease
    failed=
    if [ -s "$state/modules_failed" ]; then
        while read -r module; do
            failed="$failed${failed:+,}\"$module\""
        done <"$state/modules_failed"
    fi
    printf '{"schema":1,"release":"%s","cpus":%d,"memory_kib":%d,"uptime_s":%s,"modules_failed":[%s]}' \
        "$release" "$cpus" "$memory_kib" "$uptime" "$failed"
}

# end_session PID: kills a session's leader, its group, and what else is in
# that session. What has made a session of its own is left.
end_session() {
    kill -KILL "$1" "-$1" 2>/dev/null
    for stat_file in /proc/[0-9]*/stat; do
        line=
        read -r line 2>/dev/null <"$stat_file"
        # After the name, which may hold anything: state, parent, group, session.
        set -- "$1" ${line##*) }
        if [ "${5:-}" = "$1" ]; then
            other=${stat_file%/stat}
            kill -KILL "${other##*/}" 2>/dev/null
        fi
    done
}

# Runs the script, its output being ours, and says how it ended.
start_script() {
    first=
    read -r first 2>/dev/null <"$run.script"
    case $first in
        '#!'*)
            chmod 700 "$run.script"
            setsid "$run.script" </dev/null 2>&1 9>&- &
            ;;
        *) setsid sh "$run.script" </dev/null 2>&1 9>&- & ;;
    esac
    echo "$!" >"$run.pid"
    wait "$!"
    echo "$?" >"$run.status"
    kill "$timer" 2>/dev/null
}

# Writes the script's output, and behind it the mark.
supervise() {
    sleep "$(into_seconds "$limit_ms")" >/dev/null 2>&1 9>&- &
    timer=$!
    start_script 2>/dev/null &
    starter=$!
    wait "$timer" 2>/dev/null
    if [ ! -s "$run.status" ]; then
        : >"$run.late"
        end_run
    fi
    wait "$starter" 2>/dev/null
    printf '%s' "$mark"
}

# Ends the script from outside, which may be before it was begun.
end_run() {
    tries=500
    while [ ! -s "$run.pid" ] && [ "$tries" -gt 0 ]; do
        tries=$((tries - 1))
        sleep 0.01
    done
    read -r leader <"$run.pid" && end_session "$leader"
}

# Sends what supervise writes as it comes. Children that outlive the script
# may hold the pipe open, so its end is not awaited: the mark comes behind the
# last byte of the script, in one write, which a pipe keeps in one piece.
pump() {
    sent=0
    bytes=0
    : >"$run.piece"
    while :; do
        copied=$(dd bs=65536 count=1 2>&1 >>"$run.piece")
        case $copied in
            0+0*) break ;;
            1+0*) bytes=$((bytes + 65536)) ;;
            *) bytes=$(stat -c %s "$run.piece") ;;
        esac
        if [ -s "$run.status" ]; then
            # Every byte becomes one character of one line of text.
            before=$(tr -c '0-9a-f-' . <"$run.piece" |
                awk -v mark="$mark" '{ print index($0, mark) - 1 }')
            [ "$before" -ge 0 ] || continue
            dd if="$run.piece" of="$run.last" bs=65536 count="$before" \
                iflag=count_bytes status=none
            mv -f "$run.last" "$run.piece"
            bytes=$before
            break
        fi
        # A full pipe, and more in it already: fewer and larger pieces.
        case $copied in
            1+0*) [ "$bytes" -ge 1048576 ] || ! read -r -t 0 || continue ;;
        esac
        send_piece "$bytes"
        bytes=0
        : >"$run.piece"
    done
    send_piece "$bytes"
    # Whoever still writes gets no SIGPIPE.
    exec 3<&0
    cat <&3 >/dev/null 2>&1 9>&- &
}

# send_piece BYTES: or, past the limit, ends the script.
send_piece() {
    sent=$((sent + $1))
    if [ "$sent" -gt "$bytes_max" ]; then
        [ -e "$run.over" ] || end_run
        echo "$sent" >"$run.over"
    elif [ "$1" -gt 0 ]; then
        send output "$run.piece" "$1" || exit 1
    fi
}

run() {
    bytes_max=$value
    limit_ms=$limit
    run=$state/run.$sequence
    receive "$length" >"$run.script"
    read -r mark </proc/sys/kernel/random/uuid
    supervise 2>/dev/null | pump 2>/dev/null
    pumped=$?
    status=
    read -r status 2>/dev/null <"$run.status"
    if [ "$pumped" -ne 0 ]; then
        answer fail 0 'what sends its output was killed'
    elif [ -e "$run.over" ]; then
        read -r sent <"$run.over"
        answer over "$sent" ''
    elif [ -e "$run.late" ]; then
        answer late "${status:-0}" ''
    elif [ -z "$status" ]; then
        answer fail 0 'what watches over the script was killed by it'
    else
        answer end "$status" ''
    fi
    rm -rf "$run".*
}

put() {
    mode=$value
    receive_path "$length"
    put_sequence=$sequence
    if ! read_header || [ "$kind" != data ] || [ "$sequence" != "$put_sequence" ]; then
        echo 'lockgate: put without data' >&2
        exit 1
    fi
    mkdir -p "${path%/*}/" 2>/dev/null
    new=$path.lockgate-new
    # All bytes are taken, whatever becomes of them.
    why=$(receive "$length" | {
        { cat >"$new" && chmod "$mode" "$new" && mv -f -T "$new" "$path"; } 2>&1
        status=$?
        cat >/dev/null
        exit "$status"
    })
    if [ "$?" -eq 0 ]; then
        answer done 0 ''
    else
        rm -f "$new"
        answer fail 0 "${why:-cannot write it}"
    fi
}

get() {
    bytes_max=$value
    limit_ms=$limit
    receive_path "$length"
    copy=$state/get
    # Files of /proc and /sys have no length before they are read.
    timeout_ms "$limit_ms" dd if="$path" of="$copy" bs=65536 \
        count=$((bytes_max + 1)) iflag=fullblock,count_bytes status=none 2>"$copy.why"
    status=$?
    why=$(cat "$copy.why")
    bytes=0
    [ "$status" -ne 0 ] || bytes=$(stat -c %s "$copy")
    if [ "$status" -ge 128 ]; then
        answer late "$status" ''
    elif [ "$status" -ne 0 ]; then
        answer fail 0 "${why:-cannot read it}"
    elif [ "$bytes" -gt "$bytes_max" ]; then
        answer over "$bytes" ''
    else
        send data "$copy" "$bytes"
    fi
    rm -f "$copy" "$copy.why"
}

# timeout_ms MILLISECONDS PROGRAM ARGUMENTS
timeout_ms() {
    seconds=$((($1 + 999) / 1000))
    shift
    timeout -s KILL "$seconds" "$@" 9>&-
}

# Sets sequence, kind, value, limit and length.
read_header() {
    IFS=' ' read -r magic sequence kind value limit length <&9 && [ "$magic" = LG1 ]
}

sequence=0
answer hello 0 "$(json_about_guest)"
while read_header; do
    case $kind in
        run) run ;;
        put) put ;;
        get) get ;;
        bye)
            answer bye 0 ''
            exit 0
            ;;
        *)
            echo "lockgate: no request is called $kind" >&2
            exit 1
            ;;
    esac
done
exit 1
