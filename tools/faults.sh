#!/usr/bin/env bash
# The fault lab (tests/faults) on a PostgreSQL and a Redis of its own, both private and
# temporary; its exit code is the verdict's. UPDATE_DOCS=1 writes docs/faults.md.
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/cluster.sh"

REDIS_PID=

# Sets REDIS to a command that runs a Redis server. Debian's redis-tools carries the
# whole server under the name of a tool; to install that one starts no service.
redis_get() {
    if command -v redis-server >/dev/null; then
        REDIS=$(command -v redis-server)
        return
    fi
    local tool=/usr/bin/redis-check-rdb
    if ! [ -x $tool ]; then
        can_apt || { warn "there is no redis-server, and no right to install one"; return 1; }
        apt_install redis-tools || return 1
    fi
    mkdir -p "$TARGET/redis"
    ln -sf $tool "$TARGET/redis/redis-server"
    REDIS=$TARGET/redis/redis-server
}

redis_start() {
    local tries
    WORKFLOW_REDIS=$RUN/redis.sock
    export WORKFLOW_REDIS
    "$REDIS" --port 0 --unixsocket "$WORKFLOW_REDIS" --unixsocketperm 777 --save '' \
        --appendonly no --dir /tmp >"$TARGET/redis.log" 2>&1 </dev/null &
    REDIS_PID=$!
    for tries in $(seq 100); do
        [ ! -S "$WORKFLOW_REDIS" ] || return 0
        kill -0 $REDIS_PID 2>/dev/null || break
        sleep 0.1
    done
    warn "redis-server did not start:"
    cat "$TARGET/redis.log" >&2
    return 1
}

finish() {
    [ -z "$REDIS_PID" ] || kill "$REDIS_PID" 2>/dev/null || true
    cluster_stop
}

MAJOR=${PGVERSIONS:-18}
MAJOR=${MAJOR%% *}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
server_prerequisites || die "could not install what the fault lab needs"
redis_get || die "could not get Redis"
server_get "$MAJOR"
PG_CONFIG=$SERVER_BUILD_CONFIG "$ROOT/tools/build.sh" build
cd "$ROOT" || exit
export CARGO_TARGET_DIR=$TARGET/tools
cargo build --quiet --release --locked -p workflow-faults
cluster_start fast
redis_start
client createdb workflow_faults
# shellcheck disable=SC2086 # FAULTS holds words
PGDATABASE=workflow_faults "$CARGO_TARGET_DIR/release/workflow-faults" ${FAULTS:-}
