#!/usr/bin/env bash
# A private, throw-away cluster with the extension installed: own server copy,
# own folder under /tmp, reachable by its socket only.
#
# Sourced for cluster_start and cluster_stop, or run as `tools/cluster.sh psql MAJOR`.
[ -n "${ROOT:-}" ] || source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$ROOT/tools/servers.sh"

RUN=
SERVER_COPY=

# cluster_start durable|fast: starts what server_get got. Sets RUN (a folder of the
# server user), BINDIR, PG_CONFIG and the PG* variables clients connect by.
cluster_start() {
    local durability=$1
    # A socket's path may have 107 characters, so it lies in /tmp whatever TMPDIR says.
    RUN=$(mktemp -d /tmp/wf.XXXXXX)
    local copies copy
    copies=$(server_base)/run
    # What a run left that was killed outright.
    for copy in "$copies"/*; do
        [ -e "/tmp/$(basename "$copy")" ] || rm -rf "$copy"
    done
    SERVER_COPY=$copies/$(basename "$RUN")
    server_copy "$SERVER_COPY"
    BINDIR=$SERVER_COPY/$SERVER_BIN
    PG_CONFIG=$BINDIR/pg_config
    PG_CONFIG=$PG_CONFIG "$ROOT/tools/build.sh" install-built >/dev/null || return 1
    ! is_root || chown "$(server_user)" "$RUN"

    as_server_user "$BINDIR/initdb" -D "$RUN/data" -U postgres -A trust -N --no-instructions \
        --locale=C -E UTF8 >"$RUN/initdb.log" 2>&1 </dev/null \
        || { warn "initdb failed:"; cat "$RUN/initdb.log" >&2; return 1; }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$RUN'"
        echo "port = 5432"
        echo "max_connections = 200"
        echo "max_prepared_transactions = 10"
        echo "log_line_prefix = '%m [%p] %q%a %d '"
        [ "$durability" = durable ] || echo "fsync = off"
    } | as_server_user tee -a "$RUN/data/postgresql.conf" >/dev/null
    as_server_user "$BINDIR/pg_ctl" -D "$RUN/data" -l "$RUN/server.log" -w -t 60 start \
        >"$RUN/start.log" 2>&1 </dev/null \
        || { warn "the server did not start:"; cat "$RUN/start.log" "$RUN/server.log" >&2; return 1; }

    export PGHOST=$RUN PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
    unset PGPASSWORD PGSERVICE PGOPTIONS PGSSLMODE PGAPPNAME
}

# Runs a program of the cluster's installation against it, with this shell's user.
client() { local program=$1; shift; "$BINDIR/$program" "$@"; }

# cluster_stop [FOLDER]: stops every server whose data lies in the run's folder
# (tests start some of their own), and removes the run. The log goes to FOLDER.
cluster_stop() {
    [ -n "$RUN" ] || return 0
    local pidfile
    if [ -n "${1:-}" ] && [ -e "$RUN/server.log" ]; then
        mkdir -p "$(dirname "$1")"
        cp "$RUN/server.log" "$1"
    fi
    while IFS= read -r pidfile; do
        as_server_user "$BINDIR/pg_ctl" -D "$(dirname "$pidfile")" -m immediate stop >/dev/null 2>&1 || true
    done < <(find "$RUN" -name postmaster.pid 2>/dev/null)
    rm -rf "$RUN" "$SERVER_COPY"
    RUN=
}

# However a script ends, it leaves no server behind.
cluster_trap() {
    trap 'cluster_stop' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    [ "${1:-}" = psql ] || die "usage: $0 psql MAJOR"
    server_prerequisites
    cluster_trap
    server_get "${2:?which major?}"
    PG_CONFIG=$SERVER_BUILD_CONFIG "$ROOT/tools/build.sh" build
    cluster_start fast
    client createdb workflow
    client psql -X -q -d workflow -c 'CREATE EXTENSION workflow'
    # With an interrupt psql cancels a query; the shell around it must not end then.
    trap '' INT
    client psql -d workflow
fi
