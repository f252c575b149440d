#!/usr/bin/env bash
# Makes packages in target/package: for each major of PGVERSIONS a .deb for Debian's and apt.postgresql.org's
# servers, and one tarball of the sources, which is what PGXN takes as well.
#   tools/package.sh
# Environment: PGVERSIONS, SQL_PARTS (from the Makefile), SOURCE_DATE_EPOCH.
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/cluster.sh"

OUT=$TARGET/package
VERSION=$(extension_version)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$ROOT" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

tarball() {
    local meta
    meta=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["version"])' "$ROOT/META.json")
    [ "$meta" = "$VERSION" ] || die "META.json says version '$meta', $EXTENSION.control says '$VERSION'"
    git -C "$ROOT" archive --format=tar.gz --prefix="$EXTENSION-$VERSION/" -o "$OUT/$EXTENSION-$VERSION.tar.gz" HEAD
    say "target/package/$EXTENSION-$VERSION.tar.gz"
}

# The files go where Debian's server of that major looks for them, wherever they were built.
deb() {
    local major=$1 tree step package=postgresql-$1-$EXTENSION
    tree=$(mktemp -d)
    PG_CONFIG=$SERVER_BUILD_CONFIG "$ROOT/tools/build.sh" build
    install -D -m 644 "$TARGET/pg$major/release/lib$EXTENSION.so" "$tree/usr/lib/postgresql/$major/lib/$EXTENSION.so"
    strip --strip-unneeded "$tree/usr/lib/postgresql/$major/lib/$EXTENSION.so"
    for step in "$ROOT/$EXTENSION.control" "$TARGET/pg$major/$EXTENSION--$VERSION.sql" "$ROOT/sql/$EXTENSION"--*--*.sql; do
        [ ! -e "$step" ] || install -D -m 644 "$step" "$tree/usr/share/postgresql/$major/extension/$(basename "$step")"
    done
    install -D -m 644 "$ROOT/LICENSE" "$tree/usr/share/doc/$package/copyright"
    install -D -m 644 -t "$tree/usr/share/doc/$package/docs" "$ROOT"/docs/*.md
    mkdir -p "$tree/DEBIAN"
    cat >"$tree/DEBIAN/control" <<END
Package: $package
Version: $VERSION-1
Architecture: $(dpkg --print-architecture)
Maintainer: The workflow developers <workflow@localhost>
Section: database
Priority: optional
Depends: postgresql-$major, libc6 (>= $(libc_needed "$tree/usr/lib/postgresql/$major/lib/$EXTENSION.so")), libgcc-s1
Description: arbitrates competing commands on a business process in PostgreSQL
 Decides inside the server, in one transaction, which of several competing
 commands on a business process wins, and tells the others why they lost.
END
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    chmod 755 "$tree"
    dpkg-deb --root-owner-group --build "$tree" "$OUT" >/dev/null
    rm -rf "$tree"
    say "target/package/${package}_$VERSION-1_$(dpkg --print-architecture).deb"
}

# The newest glibc symbol version that the library asks for.
libc_needed() { objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1; }

# The package as it is: unpacked into a copy of a server that has nothing else of the extension.
try() {
    local major=$1 unpacked libdir extdir
    cluster_start fast || die "no server to try the package on"
    unpacked=$(mktemp -d)
    dpkg-deb -x "$OUT/postgresql-$major-${EXTENSION}_$VERSION-1_$(dpkg --print-architecture).deb" "$unpacked"
    libdir=$("$PG_CONFIG" --pkglibdir)
    extdir=$("$PG_CONFIG" --sharedir)/extension
    rm "$libdir/$EXTENSION.so" "$extdir/$EXTENSION.control" "$extdir/$EXTENSION"--*.sql
    cp "$unpacked/usr/lib/postgresql/$major/lib"/* "$libdir"
    cp "$unpacked/usr/share/postgresql/$major/extension"/* "$extdir"
    rm -rf "$unpacked"
    client createdb packaged
    client psql -XAtq -v ON_ERROR_STOP=1 -d packaged -c 'CREATE EXTENSION workflow' \
        -c "SELECT 'CREATE EXTENSION from the package: version ' || wf_version()" -c 'SELECT * FROM wf_verify()'
    cluster_stop "$OUT/server-$major.log"
}

mkdir -p "$OUT"
cluster_trap
tarball
command -v dpkg-deb >/dev/null || die "no dpkg-deb: the tarball is made, no .deb"
for major in ${PGVERSIONS:-$(default_majors)}; do
    "$ROOT/tools/servers.sh" "$major" >/dev/null
    server_get "$major"
    deb "$major"
    try "$major"
done
