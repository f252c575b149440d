# shellcheck shell=bash
# Finds what TAP tests need of perl: PostgreSQL's own test modules and IPC::Run.
# Sourced after servers.sh.

# perl_library PGXS: prints a PERL5LIB with both. PostgreSQL's modules drive servers
# of any version, so those of another installation do where this one (a wheel)
# has none; the newest, since they are made for older servers rather than newer.
perl_library() {
    local pgxs=$1 folder found=
    command -v prove >/dev/null || { warn "prove is missing (Debian: perl)"; return 1; }
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/lib/pgxs/src/test/perl | sort -V) \
        "$(dirname "$pgxs")/../test/perl"; do
        [ ! -e "$folder/PostgreSQL/Test/Cluster.pm" ] || found=$folder
    done
    if [ -n "$found" ] && perl -MIPC::Run -e 1 2>/dev/null; then
        echo "$found"
    else
        unpacked_perl_library
    fi
}

# Both come in Debian packages, which need no root to be looked into.
unpacked_perl_library() {
    local home=$TARGET/perl package
    if [ ! -e "$home/complete" ]; then
        command -v apt-get >/dev/null \
            || { warn "no PostgreSQL::Test perl modules or no IPC::Run here"; return 1; }
        warn "fetching PostgreSQL::Test and IPC::Run out of Debian packages"
        package=$(newest_client) || return 1
        rm -rf "$home"
        mkdir -p "$home/debs"
        (cd "$home/debs" && own_apt_get download "$package" libipc-run-perl) >&2 \
            || { warn "could not fetch $package and libipc-run-perl"; return 1; }
        for package in "$home"/debs/*.deb; do
            dpkg-deb -x "$package" "$home"
        done
        rm -rf "$home/debs" "$TARGET/apt"
        touch "$home/complete"
    fi
    echo "$(echo "$home"/usr/lib/postgresql/*/lib/pgxs/src/test/perl):$home/usr/share/perl5"
}

newest_client() {
    mkdir -p "$TARGET/apt/lists/partial" "$TARGET/apt/cache/archives/partial"
    own_apt_get update >/dev/null 2>&1 || { warn "apt-get update failed"; return 1; }
    apt-cache "${APT_OWN[@]}" search --names-only '^postgresql-client-[0-9]+$' \
        | cut -d' ' -f1 | sort -V | tail -n 1
}

# apt-get with package lists of our own, for those of the system may be absent.
APT_OWN=(-o "Dir::State::Lists=$TARGET/apt/lists" -o "Dir::Cache=$TARGET/apt/cache" -o Debug::NoLocking=1)
own_apt_get() { apt-get "${APT_OWN[@]}" -q "$@" </dev/null; }
