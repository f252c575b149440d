#!/usr/bin/env bash
# Counts the instructions of one command of each case in tests/instructions, by valgrind, and holds them
# against those of the peer in the same run: the ratio does not depend on how busy or how fast the
# machine is. Fails where a ratio has risen by more than 5 % over the one that is kept.
#   tools/instructions.sh [MAJOR]      UPDATE=1 keeps the present ratios; PROFILES=DIR keeps the profiles
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/cluster.sh"

CASES=$ROOT/tests/instructions/cases.txt
KEPT=$ROOT/tests/instructions/kept.txt
FEW=200
MANY=1200

server_prerequisites
if ! command -v valgrind >/dev/null; then
    is_root || die "valgrind is needed (Debian: valgrind)"
    say "installing valgrind"
    apt-get install -qq -y valgrind >/dev/null
fi
server_get "${1:-15}"
cluster_trap
PG_CONFIG=$SERVER_BUILD_CONFIG "$ROOT/tools/build.sh" build
cluster_start fast
client createdb workflow
client psql -X -q -v ON_ERROR_STOP=1 -d workflow -f "$ROOT/tests/instructions/setup.sql" >/dev/null
as_server_user "$BINDIR/pg_ctl" -D "$RUN/data" -m fast -w stop >/dev/null
as_server_user cp -a "$RUN/data" "$RUN/fresh"

# count SQL NUMBER: instructions of a server that runs the statement for so many rows and ends.
count() {
    local sql=${1//:n/$2}
    as_server_user rm -rf "$RUN/data"
    as_server_user cp -a "$RUN/fresh" "$RUN/data"
    printf '%s\n' "$sql" | as_server_user valgrind --tool=callgrind --callgrind-out-file="$RUN/profile.$2" \
        "$BINDIR/postgres" --single -D "$RUN/data" workflow >"$RUN/answer" 2>&1 || { cat "$RUN/answer" >&2; return 1; }
    grep -q " = \"$2\"" "$RUN/answer" || { warn "not every command did what it should:"; cat "$RUN/answer" >&2; return 1; }
    sed -n 's/^summary: //p' "$RUN/profile.$2"
}

peer=
failed=0
measured=
printf '%-12s %12s %8s %8s\n' case instructions ratio kept
while read -r name sql; do
    few=$(count "$sql" $FEW)
    many=$(count "$sql" $MANY)
    [ -z "${PROFILES:-}" ] || cp "$RUN/profile.$MANY" "$PROFILES/callgrind.$name"
    each=$(((many - few) / (MANY - FEW)))
    peer=${peer:-$each}
    ratio=$(awk -v a="$each" -v b="$peer" 'BEGIN { printf "%.3f", a / b }')
    kept=$(awk -v name="$name" '$1 == name { print $2 }' "$KEPT" 2>/dev/null || true)
    printf '%-12s %12d %8s %8s\n' "$name" "$each" "$ratio" "${kept:--}"
    measured+="$name $ratio"$'\n'
    if [ -z "${UPDATE:-}" ] && ! awk -v now="$ratio" -v kept="${kept:-0}" 'BEGIN { exit !(now <= kept * 1.05) }'; then
        warn "$name costs more than 5 % over what is kept"
        failed=$((failed + 1))
    fi
done <"$CASES"
[ -z "${UPDATE:-}" ] || printf '%s' "$measured" >"$KEPT"
[ "$failed" = 0 ] || die "$failed cases have become dearer"
say "no case has become dearer"
