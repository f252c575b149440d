# shellcheck shell=bash
# Shared by the scripts in tools/, which source it. Bash.
set -euo pipefail

# Servers run as another user than root, who must be able to read what is built here.
umask 022

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
TARGET=$ROOT/target
EXTENSION=workflow

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() { warn "$0: $*"; exit 1; }

is_root() { [ "$(id -u)" = 0 ]; }

# Seconds since the moment given, as "12.3".
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }

# PostgreSQL refuses to run as root, so root hands servers and test tools to this user.
server_user() {
    if ! is_root; then
        id -un
    elif id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# Runs a command as the server user, in a clean environment: what happens to be
# exported here (PG*, RUST_BACKTRACE, a TMPDIR nobody else can read) must not
# decide a test. NAME=VALUE words before the command reach it, as do WORKFLOW_*,
# which tests may read.
as_server_user() {
    local user name become=() passed=()
    for name in "${!WORKFLOW_@}"; do
        passed+=("$name=${!name}")
    done
    user=$(server_user)
    if is_root; then
        become=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups)
    fi
    "${become[@]}" env -i HOME="${RUN:-/}" TMPDIR="${RUN:-/tmp}" LC_ALL=C USER="$user" \
        LOGNAME="$user" PATH="/usr/local/bin:/usr/bin:/bin" "${passed[@]}" "$@"
}

# Where server installations live: target/, unless the server user cannot get in
# there (a checkout under root's home, say).
server_base() {
    mkdir -p "$TARGET"
    if as_server_user test -x "$TARGET"; then
        echo "$TARGET/servers"
        return
    fi
    local base
    base=$(fallback_base)
    # The name is predictable and the place is open to everybody: take only what is ours.
    mkdir -p "$base"
    if [ -L "$base" ] || [ "$(stat -c %u "$base")" != "$(id -u)" ]; then
        die "$base exists and belongs to somebody else"
    fi
    echo "$base"
}

fallback_base() { echo "/var/tmp/$EXTENSION-servers-$(printf %s "$ROOT" | cksum | cut -d' ' -f1)"; }

pg_major() { "$1" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/'; }

# Whether headers can be compiled against: they are there, and those of ICU are
# where they ask for them (Debian's development package does not bring these).
headers_usable() {
    [ -e "$1/postgres.h" ] || return 1
    ! grep -q '^#define USE_ICU' "$1/pg_config.h" || [ -e /usr/include/unicode/ucol.h ]
}

extension_version() {
    sed -nE "s/^default_version *= *'([^']+)'.*/\1/p" "$ROOT/$EXTENSION.control"
}
