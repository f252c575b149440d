#!/usr/bin/env bash
# Builds and installs the extension for one PostgreSQL.
#   tools/build.sh build|clippy|install|install-built|uninstall|clean
# Environment: PG_CONFIG, SQL_PARTS (both from the Makefile), DESTDIR.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/libclang.sh"

# Debian's /usr/bin/pg_config is a wrapper. The binary behind it names one
# installation, and one name for one installation spares a rebuild of the bindings.
canonical_pg_config() {
    local given=$1 own
    command -v "$given" >/dev/null || die "no such pg_config: $given (set PG_CONFIG=/path/to/pg_config)"
    own=$("$given" --bindir)/pg_config
    if [ -x "$own" ] && [ "$("$own" --version)" = "$("$given" --version)" ]; then
        echo "$own"
    else
        command -v "$given"
    fi
}

# The variables under which cargo compiles the extension: one target folder per
# major, so that going from one to another does not build anything again.
cargo_environment() {
    export PGRX_PG_CONFIG_PATH=$PG_CONFIG
    export CARGO_TARGET_DIR=$OUT
    local headers
    headers=$("$PG_CONFIG" --includedir-server)
    [ -e "$headers/postgres.h" ] \
        || die "no server headers for $PG_CONFIG (Debian: postgresql-server-dev-$MAJOR)"
    headers_usable "$headers" || warn "ICU's headers seem to be missing (Debian: libicu-dev)"
    use_libclang
}

# pgrx asks for a newer rustc than it needs; see --ignore-rust-version.
cargo_arguments() { echo --no-default-features --features "pg$MAJOR" --ignore-rust-version --locked; }

build() {
    local quiet=--quiet
    # The first build takes a minute or two: show a person that it goes on.
    [ ! -t 2 ] || quiet=
    cargo_environment
    # shellcheck disable=SC2046,SC2086
    (cd "$ROOT" && cargo build $quiet --release $(cargo_arguments)) || return 1
    write_script
}

clippy() {
    cargo_environment
    # shellcheck disable=SC2046
    (cd "$ROOT" && cargo clippy --quiet --release $(cargo_arguments) -- -D warnings)
}

# The install script is the parts of sql/ in the order the Makefile gives them.
write_script() {
    local version cargo_version part script
    version=$(extension_version)
    cargo_version=$(sed -nE '/^\[workspace\.package\]/,/^\[/s/^version *= *"([^"]+)".*/\1/p' "$ROOT/Cargo.toml")
    [ "$version" = "$cargo_version" ] || \
        die "$EXTENSION.control says version '$version', Cargo.toml says '$cargo_version'"
    [ -n "${SQL_PARTS:-}" ] || die "SQL_PARTS is not set; run this through make"
    for part in $SQL_PARTS; do
        [ -e "$ROOT/sql/$part.sql" ] || die "sql/$part.sql is listed in SQL_PARTS and does not exist"
    done
    script=$OUT/$EXTENSION--$version.sql
    {
        printf '\\echo Use "CREATE EXTENSION %s" to load this file. \\quit\n' "$EXTENSION"
        for part in $SQL_PARTS; do
            echo
            cat "$ROOT/sql/$part.sql"
        done
    } >"$script.new"
    mv "$script.new" "$script"
}

# What goes where, as "source<tab>destination<tab>mode".
installed_files() {
    local libdir extdir step
    libdir=${DESTDIR:-}$("$PG_CONFIG" --pkglibdir)
    extdir=${DESTDIR:-}$("$PG_CONFIG" --sharedir)/extension
    printf '%s\t%s\t%s\n' \
        "$OUT/release/lib$EXTENSION.so" "$libdir/$EXTENSION.so" 755 \
        "$ROOT/$EXTENSION.control" "$extdir/$EXTENSION.control" 644 \
        "$OUT/$EXTENSION--$(extension_version).sql" "$extdir/$EXTENSION--$(extension_version).sql" 644
    for step in "$ROOT/sql/$EXTENSION"--*--*.sql; do
        [ ! -e "$step" ] || printf '%s\t%s\t644\n' "$step" "$extdir/$(basename "$step")"
    done
}

# `make && sudo make install` must not compile as root, whose PATH may lack cargo.
must_build() {
    [ ! -e "$OUT/release/lib$EXTENSION.so" ] && return 0
    [ -z "${SUDO_USER:-}" ] && command -v cargo >/dev/null
}

install_files() {
    local from to mode
    while IFS=$'\t' read -r from to mode; do
        [ -e "$from" ] || die "$from does not exist; run make first"
        install -D -m "$mode" "$from" "$to"
    done < <(installed_files)
}

uninstall_files() {
    local to
    while IFS=$'\t' read -r _ to _; do
        rm -f "$to"
    done < <(installed_files)
}

if [ "${1:-}" = clean ]; then
    rm -rf "$TARGET" "$(fallback_base)"
    exit
fi

PG_CONFIG=$(canonical_pg_config "${PG_CONFIG:-pg_config}")
MAJOR=$(pg_major "$PG_CONFIG")
OUT=$TARGET/pg$MAJOR
grep -q "^pg$MAJOR *=" "$ROOT/Cargo.toml" || die "PostgreSQL $MAJOR is not supported ($PG_CONFIG)"

case ${1:-} in
build)
    build
    say "built $EXTENSION $(extension_version) for PostgreSQL $MAJOR in target/pg$MAJOR"
    ;;
clippy) clippy ;;
install | install-built)
    if [ "$1" = install ] && must_build; then build; fi
    install_files
    say "installed $EXTENSION $(extension_version) in ${DESTDIR:-}$("$PG_CONFIG" --sharedir)/extension"
    ;;
uninstall) uninstall_files ;;
*) die "usage: $0 build|clippy|install|install-built|uninstall|clean" ;;
esac
