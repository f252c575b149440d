#!/usr/bin/env bash
# Runs the tests and counts them.
#   tools/test.sh [lint] [unit] [regress] [isolation] [tap] [model] [demo]
#   tools/test.sh installcheck
# Environment (see `make help`): PGVERSIONS, TESTS, MODEL_SECONDS, MODEL_ARGS.
#
# What can't be run has failed: a server that doesn't start, a major that is not
# to be had, a kind with no test in it.
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/cluster.sh"
source "$ROOT/tools/perl.sh"

LOGS=$TARGET/test
PASSED=0
FAILED=0
MAJOR=

# --- counting ---------------------------------------------------------------

# line NAME TEXT START
line() { printf '  %-5s %-17s %-28s %6s s\n' "${MAJOR:+pg$MAJOR}" "$1" "$2" "$(since "$3")"; }

# Two runs in one checkout write logs of the same name, so a log gets its name
# only when it is complete.
log_name() { echo "$LOGS/${MAJOR:+pg$MAJOR-}${1// /-}.log"; }

# check NAME COMMAND…: what is right or wrong and no test; it counts when wrong.
check() {
    local name=$1 start log code=0
    shift
    start=$(now)
    log=$(log_name "$name")
    "$@" >"$log.$$" 2>&1 </dev/null || code=$?
    mv "$log.$$" "$log"
    if [ $code -eq 0 ]; then
        line "$name" ok "$start"
    else
        FAILED=$((FAILED + 1))
        line "$name" FAILED "$start"
        show "$log" 60
        return 1
    fi
}

# counted NAME COUNTER COMMAND…: a test tool. COUNTER takes its log and exit code
# and prints "passed failed"; a tool that fails with no failed test, or ran none, failed.
counted() {
    local name=$1 counter=$2 start log code=0 passed failed
    shift 2
    start=$(now)
    log=$(log_name "$name")
    "$@" >"$log.$$" 2>&1 </dev/null || code=$?
    read -r passed failed < <("$counter" "$log.$$" "$code")
    if [ $code -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
    elif [ $((passed + failed)) -eq 0 ]; then
        echo "no test was run" >>"$log.$$"
        failed=1
    fi
    mv "$log.$$" "$log"
    PASSED=$((PASSED + passed))
    FAILED=$((FAILED + failed))
    line "$name" "$(printf '%4d passed, %d failed' "$passed" "$failed")" "$start"
    [ "$failed" -eq 0 ] || show "$log" 400
}

# Both ends of a long log: which tests failed, and how it ended.
show() {
    local log=$1 lines=$2
    say "  --- ${log#"$ROOT"/}"
    if [ "$(wc -l <"$log")" -le "$lines" ]; then
        cat "$log"
    else
        head -n $((lines / 2)) "$log"
        echo "[…]"
        tail -n $((lines / 2)) "$log"
    fi | sed 's/^/  | /'
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

# --- without a server -------------------------------------------------------

tool_cargo() { (cd "$ROOT" && CARGO_TARGET_DIR=$TARGET/tools cargo "$@"); }

run_lint() {
    check "rustfmt" tool_cargo fmt --all --check -- --color never || true
    check "clippy tools" tool_cargo clippy --quiet --locked --all-targets \
        -p workflow-core -p workflow-demo -p workflow-bench -p workflow-faults -p workflow-model -- -D warnings || true
    check "pgspot" "$ROOT/tools/pgspot.sh" || true
}

run_unit() {
    # shellcheck disable=SC2086 # TESTS holds words
    counted "unit" count_cargo tool_cargo test --locked -p workflow-core ${TESTS:-}
}

# --- pg_regress, pg_isolation_regress ---------------------------------------

# The names to run: TESTS, or every file in a folder. A test called setup is first.
test_names() {
    local folder=$1 suffix=$2 file name names
    [ ! -e "$folder/setup$suffix" ] || echo setup
    if [ -n "${TESTS:-}" ]; then
        read -r -a names <<<"$TESTS"
    else
        names=("$folder"/*"$suffix")
    fi
    for file in "${names[@]}"; do
        name=$(basename "$file" "$suffix")
        [ ! -e "$folder/$name$suffix" ] && [ -z "${TESTS:-}" ] || [ "$name" = setup ] || echo "$name"
    done
}

# regression KIND FOLDER SUFFIX RUNNER: runs on a copy, for the server user may be
# unable to read or write here. Results stay in target/test for a look, or to
# become the expected ones.
regression() {
    local kind=$1 folder=$2 suffix=$3 runner names name missing=() code=0 work results
    # Whatever the server's defaults, texts are sorted and laid out the same.
    local options=(--encoding=UTF8 --no-locale)
    runner=$(dirname "$("$PG_CONFIG" --pgxs)")/../test/$4
    [ -x "$runner" ] || { warn "$runner is missing (Debian: postgresql-server-dev-$MAJOR)"; return 1; }
    mapfile -t names < <(test_names "$ROOT/tests/$kind/$folder" "$suffix")
    [ ${#names[@]} -gt 0 ] || return 0
    [ -e "$ROOT/tests/$kind/$folder/setup$suffix" ] || options+=(--load-extension="$EXTENSION")
    work=$WORK/$kind
    results=$LOGS/pg$MAJOR/$kind
    # A test with nothing to compare with would end the whole run; it has merely failed.
    for name in "${names[@]}"; do
        [ -e "$ROOT/tests/$kind/expected/$name.out" ] || missing+=("$name")
    done
    hand_over "$ROOT/tests/$kind" "$work"
    hand_over "$ROOT/docs" "$work/docs"
    mkdir -p "$work/expected"
    for name in "${missing[@]}"; do
        echo "tests/$kind/expected/$name.out does not exist"
        : >"$work/expected/$name.out"
    done
    {
        (cd "$work" && tester "$runner" --inputdir=. --outputdir=. --bindir="$BINDIR" "${CONNECTION[@]}" \
            --dbname="${EXTENSION}_$kind" "${options[@]}" "${names[@]}") || code=$?
        [ ! -s "$work/regression.diffs" ] || cat "$work/regression.diffs"
    } >"$WORK/$kind.out" 2>&1
    # The work folder goes; name the files as they will be found.
    sed "s|$work/expected|tests/$kind/expected|g; s|$work|${results#"$ROOT"/}|g" "$WORK/$kind.out"
    rm -rf "$results"
    mkdir -p "$results"
    cp -r "$work"/results "$work"/regression.* "$results" 2>/dev/null || true
    return $code
}

hand_over() {
    cp -r "$1" "$2"
    ! is_root || [ "$WORK" != "$RUN" ] || chown -R "$(server_user)" "$2"
}

run_regress() { counted "regress" count_regress regression regress sql .sql regress/pg_regress; }
run_isolation() {
    counted "isolation" count_regress regression isolation specs .spec isolation/pg_isolation_regress
}

# --- TAP --------------------------------------------------------------------

tap() {
    local library name files=() code=0
    library=$(perl_library "$("$PG_CONFIG" --pgxs)") || return 1
    hand_over "$ROOT/tests/tap" "$WORK/tap"
    hand_over "$ROOT/monitoring" "$WORK/tap/monitoring"
    # The modules may lie where only we can read.
    [[ $library != "$TARGET/perl"* ]] || {
        hand_over "$TARGET/perl" "$WORK/perl"
        library=${library//"$TARGET"/"$WORK"}
    }
    if [ -n "${TESTS:-}" ]; then
        for name in $TESTS; do
            files+=("$WORK/tap/t/${name%.pl}"*.pl)
        done
    else
        files=("$WORK"/tap/t/*.pl)
    fi
    [ -e "${files[0]}" ] || [ -n "${TESTS:-}" ] || return 0
    (cd "$WORK/tap" && tester PATH="$BINDIR:/usr/local/bin:/usr/bin:/bin" PERL5LIB="$library" \
        PG_REGRESS="$(dirname "$("$PG_CONFIG" --pgxs)")/../test/regress/pg_regress" \
        TESTDATADIR="$WORK/tap/tmp_check" TESTLOGDIR="$WORK/tap/tmp_check/log" \
        prove --verbose --nocolor "${files[@]}") || code=$?
    rm -rf "${LOGS:?}/pg$MAJOR/tap"
    mkdir -p "$LOGS/pg$MAJOR"
    cp -r "$WORK/tap/tmp_check/log" "$LOGS/pg$MAJOR/tap" 2>/dev/null || true
    return $code
}

run_tap() { counted "tap" count_tap tap; }

# --- programs of ours -------------------------------------------------------

# They get an empty database each and make of it what they need.
program() {
    local package=$1 database=$2
    shift 2
    client dropdb --if-exists --force "$database" || return 1
    client createdb "$database" || return 1
    PGDATABASE=$database tool_cargo run --quiet --release --locked -p "$package" -- "$@"
}

run_model() {
    # shellcheck disable=SC2086 # MODEL_ARGS holds words
    counted "model" count_closing program workflow-model workflow_model \
        --seconds "${MODEL_SECONDS:-60}" ${MODEL_ARGS:-}
}
# What is compared is printed as it is measured; BENCH_ARGS chooses.
run_bench() {
    # shellcheck disable=SC2086 # BENCH_ARGS holds words
    program workflow-bench workflow_bench ${BENCH_ARGS:-} || FAILED=$((FAILED + 1))
}
run_demo() { counted "demo" count_closing program workflow-demo workflow_demo --races --rounds 1000; }

# --- what to run on -----------------------------------------------------------

wants() {
    local kind
    for kind in "$@"; do
        [[ " $KINDS " != *" $kind "* ]] || return 0
    done
    return 1
}

# start durable|fast: a cluster for the kinds that follow.
start() {
    cluster_start "$1" || { FAILED=$((FAILED + 1)); stop; return 1; }
    WORK=$RUN
    CONNECTION=(--host="$RUN" --port=5432 --user=postgres)
    tester() { as_server_user "$@"; }
}
stop() { cluster_stop "$(log_name server)"; }

run_major() {
    MAJOR=$1
    local kind
    check "obtain server" "$ROOT/tools/servers.sh" "$MAJOR" || return 0
    server_get "$MAJOR"
    if wants lint && [ "$MAJOR" = "${MAJORS%% *}" ]; then
        check "clippy extension" env PG_CONFIG="$SERVER_BUILD_CONFIG" "$ROOT/tools/build.sh" clippy || true
    fi
    wants regress isolation tap model demo bench || return 0
    check "build" env PG_CONFIG="$SERVER_BUILD_CONFIG" "$ROOT/tools/build.sh" build || return 0
    if wants regress isolation tap model; then
        start fast || return 0
        for kind in regress isolation tap model; do
            ! wants $kind || run_$kind
        done
        stop
    fi
    # Demonstration and measurements show figures, so their server writes durably as a real one does.
    for kind in demo bench; do
        wants $kind || continue
        start durable || return 0
        run_$kind
        stop
    done
}

# Like any extension's installcheck: the server is there and the extension
# installed; the connection comes from the environment, this user runs the tests.
run_installcheck() {
    PG_CONFIG=$(command -v "${PG_CONFIG:-pg_config}") || die "no pg_config; set PG_CONFIG"
    BINDIR=$("$PG_CONFIG" --bindir)
    MAJOR=$(pg_major "$PG_CONFIG")
    WORK=$(mktemp -d)
    CONNECTION=()
    tester() { env "$@"; }
    run_regress
    run_isolation
    rm -rf "$WORK"
}

KINDS=${*:-lint unit regress isolation tap model demo}
START=$(now)
MAJORS=
mkdir -p "$LOGS"
cluster_trap
if wants installcheck; then
    run_installcheck
elif wants lint regress isolation tap model demo bench; then
    server_prerequisites || die "could not install what the tests need"
    ! wants lint || run_lint
    ! wants unit || run_unit
    MAJORS=${PGVERSIONS:-$(default_majors)}
    # Lints are the same on every major.
    wants regress isolation tap model demo bench || MAJORS=${MAJORS%% *}
    for major in $MAJORS; do
        run_major "$major"
    done
else
    run_unit
fi

say
if [ "$FAILED" -eq 0 ]; then
    say "everything passed${MAJORS:+ on PostgreSQL ${MAJORS// / and }}, in $(since "$START") s"
else
    say "FAILED, after $(since "$START") s; logs, results and diffs are in target/test"
fi
say "$PASSED passed, $FAILED failed"
[ "$FAILED" -eq 0 ]
