# shellcheck shell=sh
# What the set-up tells, on standard error.

say() { printf 'setup-guests: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# The network is to blame: trying again later may help.
fail_for_now() {
    say "$*"
    exit 75
}

# Bytes as whole megabytes, at least 1.
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%d", bytes / 1e6 + 0.999 }'; }

megabytes_of() { megabytes "$(du -s -B1 "$1" | cut -f 1)"; }

is_command() { command -v "$1" >/dev/null 2>&1; }
