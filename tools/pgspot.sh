#!/usr/bin/env bash
# Looks with pgspot for what a hostile search path, schema or operator could do to the install script, and to the
# update scripts if there are any. Anything found is an error, and so is a script that it cannot read.
source "$(dirname "$0")/lib.sh"

# A folder of its own and not a virtual environment: Debian's Python cannot make one without another package.
HOME_OF_PGSPOT=$TARGET/pgspot
PINS=$ROOT/tools/pgspot.txt

if ! cmp -s "$PINS" "$HOME_OF_PGSPOT/pins.txt"; then
    python3 -m pip --version >/dev/null 2>&1 \
        || die "python3 with pip is needed to fetch pgspot (Debian: python3-pip)"
    rm -rf "$HOME_OF_PGSPOT"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary=:all: \
        --target "$HOME_OF_PGSPOT" -r "$PINS" </dev/null || die "could not fetch pgspot from PyPI"
    cp "$PINS" "$HOME_OF_PGSPOT/pins.txt"
fi
pgspot() { PYTHONPATH=$HOME_OF_PGSPOT python3 -m pgspot "$@"; }

# A procedure that commits must not have a search path of its own. pgspot then looks whether each name in it is
# qualified, which these have to be.
COMMITTING=(
    'wf_migrate_all(definition text,from_version integer,to_version integer,state_map jsonb,limit_rows integer,tenant text,actor text,roles text[],identity_token text)'
    'wf_purge_all(closed_before interval,limit_rows integer,tenant text,actor text,roles text[],identity_token text)'
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for part in $SQL_PARTS; do
    cat "$ROOT/sql/$part.sql"
done >"$work/install.sql"
for script in "$ROOT"/sql/"$EXTENSION"--*--*.sql "$work/install.sql"; do
    [ -e "$script" ] || continue
    say "$(basename "$script")"
    # What CREATE EXTENSION puts in the place of this word.
    sed 's/@extschema@/public/g' "$script" >"$work/script.sql"
    pgspot "${COMMITTING[@]/#/--proc-without-search-path=}" "$work/script.sql" | tee "$work/found"
    grep -q '^ *Errors: 0 Warnings: 0 Unknown: 0' "$work/found" || die "pgspot found something in $(basename "$script")"
    ! grep -qE 'syntax error|is not a known variable' "$work/found" || die "pgspot cannot read all of $(basename "$script")"
done
