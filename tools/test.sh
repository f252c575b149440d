#!/usr/bin/env bash
# Runs the tests and counts them.
#   tools/test.sh [unit] [lint] [regress] [isolation] [tap] [model] [demo]
# Environment (see `make help`): PGVERSIONS, TESTS, MODEL_SECONDS.
#
# What can't be run has failed: a server that doesn't start, a major that is not
# to be had, a kind with no test in it.
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/cluster.sh"

LOGS=$TARGET/test
MODEL_SECONDS=${MODEL_SECONDS:-20}
PASSED=0
FAILED=0
MAJOR=

wants() { [[ " $KINDS " == *" $1 "* ]]; }

# result NAME PASSED FAILED START LOG: one line, and the log when something failed.
result() {
    local name=$1 passed=$2 failed=$3 start=$4 log=$5
    PASSED=$((PASSED + passed))
    FAILED=$((FAILED + failed))
    printf '  %-10s %-22s %4d passed %4d failed  %6s s\n' "${MAJOR:+pg$MAJOR}" "$name" \
        "$passed" "$failed" "$(since "$start")"
    if [ "$failed" -gt 0 ] && [ -s "$log" ]; then
        say "  --- end of ${log#"$ROOT"/}"
        tail -n "${LOG_LINES:-60}" "$log" | sed 's/^/  | /'
    fi
}

# check NAME COMMAND…: something that is right or wrong, no test: it counts when wrong.
check() {
    local name=$1 log start
    shift
    start=$(now)
    log=$LOGS/${MAJOR:+pg$MAJOR-}${name// /-}.log
    if "$@" >"$log" 2>&1 </dev/null; then
        printf '  %-10s %-22s ok                      %6s s\n' "${MAJOR:+pg$MAJOR}" "$name" "$(since "$start")"
    else
        result "$name" 0 1 "$start" "$log"
        return 1
    fi
}

# counted NAME COUNTER COMMAND…: a test tool. COUNTER takes its log and exit code
# and prints "passed failed"; a tool that fails with no failed test, or ran none, failed.
counted() {
    local name=$1 counter=$2 log start code=0 passed failed
    shift 2
    start=$(now)
    log=$LOGS/${MAJOR:+pg$MAJOR-}${name// /-}.log
    "$@" >"$log" 2>&1 </dev/null || code=$?
    read -r passed failed < <("$counter" "$log" "$code")
    if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
    elif [ $((passed + failed)) -eq 0 ]; then
        echo "no test was run" >>"$log"
        failed=1
    fi
    result "$name" "$passed" "$failed" "$start" "$log"
}

count_cargo() {
    awk '/^test result:/ { for (i = 2; i <= NF; i++) { if ($i ~ /^passed/) p += $(i-1); if ($i ~ /^failed/) f += $(i-1) } }
         END { print p + 0, f + 0 }' "$1"
}
# "All N tests passed." or "N of M tests failed."; from PostgreSQL 16 on behind "# ".
count_regress() {
    awk 'match($0, /All [0-9]+ tests? passed/) { split(substr($0, RSTART), w, " "); p = w[2] }
         match($0, /[0-9]+ of [0-9]+ tests? failed/) { split(substr($0, RSTART), w, " "); f = w[1]; p = w[3] - w[1] }
         END { print p + 0, f + 0 }' "$1"
}
count_tap() { awk '/^ok / { p++ } /^not ok / { f++ } END { print p + 0, f + 0 }' "$1"; }
# Programs of ours close with "N passed, N failed"; one that does not is one test.
count_closing() {
    awk 'match($0, /[0-9]+ passed, [0-9]+ failed/) { split(substr($0, RSTART, RLENGTH), w, " "); p = w[1]; f = w[3]; seen = 1 }
         END { if (seen) print p, f; else print code == 0 ? "1 0" : "0 1" }' code="$2" "$1"
}

tool_cargo() { (cd "$ROOT" && CARGO_TARGET_DIR=$TARGET/tools cargo "$@"); }

run_lint() {
    check "rustfmt" tool_cargo fmt --all --check || true
    check "clippy tools" tool_cargo clippy --quiet --locked --all-targets \
        -p workflow-core -p workflow-demo -p workflow-model -- -D warnings || true
}

run_unit() {
    # shellcheck disable=SC2086
    counted "unit" count_cargo tool_cargo test --locked -p workflow-core ${TESTS:-} || true
}

# The names to run: TESTS, or every file in a folder. A test called setup is first.
test_names() {
    local folder=$1 suffix=$2 file name names=()
    for file in "$folder"/*"$suffix"; do
        [ -e "$file" ] || continue
        name=$(basename "$file" "$suffix")
        [ "$name" = setup ] || names+=("$name")
    done
    [ ! -e "$folder/setup$suffix" ] || echo setup
    if [ -n "${TESTS:-}" ]; then
        printf '%s\n' $TESTS | grep -v '^setup$' || true
    else
        printf '%s\n' "${names[@]}"
    fi
}

# regression KIND FOLDER SUFFIX RUNNER: pg_regress and pg_isolation_regress alike.
# They run on a copy, for the server user may be unable to read or write here.
regression() {
    local kind=$1 folder=$2 suffix=$3 runner=$4 names extension=()
    mapfile -t names < <(test_names "$ROOT/tests/$kind/$folder" "$suffix")
    [ -e "$ROOT/tests/$kind/$folder/setup$suffix" ] || extension=(--load-extension=workflow)
    hand_over "$ROOT/tests/$kind" "$RUN/$kind"
    # Results stay here for a look, or to become the expected ones.
    rm -rf "${LOGS:?}/pg$MAJOR/$kind"
    mkdir -p "$LOGS/pg$MAJOR"
    local code=0
    if [ ${#names[@]} -gt 0 ]; then
        (cd "$RUN/$kind" && as_server_user "$runner" --inputdir=. --outputdir=. --bindir="$BINDIR" \
            --host="$RUN" --port=5432 --user=postgres --dbname="workflow_$kind" \
            "${extension[@]}" "${names[@]}") || code=$?
    fi
    cp -r "$RUN/$kind" "$LOGS/pg$MAJOR/$kind"
    [ ! -s "$RUN/$kind/regression.diffs" ] || cat "$RUN/$kind/regression.diffs"
    return $code
}

hand_over() {
    cp -r "$1" "$2"
    ! is_root || chown -R "$(server_user)" "$2"
}

pgxs_test() { echo "$(dirname "$("$PG_CONFIG" --pgxs)")/../test/$1"; }

run_regress() {
    LOG_LINES=400 counted "regress" count_regress regression regress sql .sql "$(pgxs_test regress/pg_regress)"
}

run_isolation() {
    LOG_LINES=400 counted "isolation" count_regress regression isolation specs .spec \
        "$(pgxs_test isolation/pg_isolation_regress)"
}

# PostgreSQL's own test modules: those of this server, or else of the newest
# server whose development files the system has. They drive any version.
perl_modules() {
    local folder found=
    folder=$(pgxs_test perl)
    [ ! -d "$folder/PostgreSQL" ] || { echo "$folder"; return; }
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/lib/pgxs/src/test/perl | sort -V); do
        [ ! -d "$folder/PostgreSQL" ] || found=$folder
    done
    [ -n "$found" ] || return 1
    echo "$found"
}

tap() {
    local modules names name files=() code=0
    modules=$(perl_modules) || {
        echo "no PostgreSQL::Test perl modules on this system (Debian: postgresql-server-dev-N)"
        return 1
    }
    perl -MIPC::Run -e 1 || { echo "perl's IPC::Run is missing (Debian: libipc-run-perl)"; return 1; }
    hand_over "$ROOT/tests/tap" "$RUN/tap"
    for name in ${TESTS:-""}; do
        files+=("$RUN/tap/t/$name"*.pl)
    done
    [ -n "${TESTS:-}" ] || files=("$RUN"/tap/t/*.pl)
    [ -e "${files[0]}" ] || return 0
    (cd "$RUN/tap" && as_server_user PATH="$BINDIR:/usr/local/bin:/usr/bin:/bin" PERL5LIB="$modules:$RUN/tap" \
        PG_REGRESS="$(pgxs_test regress/pg_regress)" TESTDATADIR="$RUN/tap/tmp_check" \
        TESTLOGDIR="$RUN/tap/tmp_check/log" PG_TEST_TIMEOUT_DEFAULT=60 \
        prove --verbose --nocolor "${files[@]}") || code=$?
    rm -rf "${LOGS:?}/pg$MAJOR/tap"
    mkdir -p "$LOGS/pg$MAJOR/tap"
    cp -r "$RUN/tap/tmp_check/log/." "$LOGS/pg$MAJOR/tap/" 2>/dev/null || true
    return $code
}

run_tap() { counted "tap" count_tap tap; }

# The programs get an empty database of their own and make of it what they need.
program() {
    local package=$1 database=$2
    shift 2
    client dropdb --if-exists --force "$database" && client createdb "$database" || return 1
    PGDATABASE=$database tool_cargo run --quiet --release --locked -p "$package" -- "$@"
}

run_model() {
    counted "model" count_closing program workflow-model workflow_model --seconds "$MODEL_SECONDS"
}

# A demonstration shows figures, so its cluster writes durably as a real one does.
run_demo() {
    cluster_stop "$LOGS/pg$MAJOR-server.log"
    cluster_start durable && counted "demo" count_closing program workflow-demo workflow_demo
}

# Like every extension's installcheck: the server is there, the extension installed.
installcheck() {
    PG_CONFIG=$(command -v "$PG_CONFIG") || die "no pg_config; set PG_CONFIG"
    BINDIR=$("$PG_CONFIG" --bindir)
}

run_major() {
    MAJOR=$1
    local kind
    check "server" "$ROOT/tools/servers.sh" "$MAJOR" || return 0
    server_get "$MAJOR"
    check "build" env PG_CONFIG="$SERVER_BUILD_CONFIG" "$ROOT/tools/build.sh" build || return 0
    if wants lint && [ "$MAJOR" = "${MAJORS%% *}" ]; then
        check "clippy extension" env PG_CONFIG="$SERVER_BUILD_CONFIG" "$ROOT/tools/build.sh" clippy || true
    fi
    wants regress || wants isolation || wants tap || wants model || wants demo || return 0
    cluster_start fast || { FAILED=$((FAILED + 1)); cluster_stop "$LOGS/pg$MAJOR-server.log"; return 0; }
    for kind in regress isolation tap model; do
        ! wants $kind || run_$kind
    done
    ! wants demo || [ "$MAJOR" != "${MAJORS##* }" ] || run_demo
    cluster_stop "$LOGS/pg$MAJOR-server.log"
}

KINDS=${*:-lint unit regress isolation tap model demo}
START=$(now)
mkdir -p "$LOGS"
cluster_trap
server_prerequisites || die "could not install what the tests need"
! wants lint || run_lint
! wants unit || run_unit
if wants lint || wants regress || wants isolation || wants tap || wants model || wants demo; then
    MAJORS=${PGVERSIONS:-$(default_majors)}
    for major in $MAJORS; do
        run_major "$major"
    done
fi
MAJOR=

say
if [ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]; then
    say "everything passed${MAJORS:+ on PostgreSQL ${MAJORS// / and }}, in $(since "$START") s"
else
    say "FAILED; logs are in target/test"
fi
say "$PASSED passed, $FAILED failed"
[ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ]
