# shellcheck shell=bash
# Fetches and unpacks the wheels of wheels.txt; sourced after lib.sh.

wheel_pin() { grep -E "^$1==" "$ROOT/tools/wheels.txt"; }
wheel_version() { wheel_pin "$1" | sed -E 's/^[^=]*==([^ ]+).*/\1/'; }

# fetch_wheel NAME FOLDER: unpacks the pinned wheel into FOLDER. Nothing is
# installed into a Python, so the version of this machine's does not matter; the
# tags name the one the wheel was made for.
fetch_wheel() {
    local name=$1 folder=$2 arch work
    arch=$(uname -m)
    python3 -m pip --version >/dev/null 2>&1 \
        || die "python3 with pip is needed to fetch the wheel $name (Debian: python3-pip)"
    work=$(mktemp -d)
    wheel_pin "$name" >"$work/pin.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
        --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
        --platform "manylinux_2_28_$arch" --platform "manylinux2014_$arch" \
        --platform "manylinux2010_$arch" --dest "$work" -r "$work/pin.txt" </dev/null >&2 \
        || { rm -rf "$work"; die "could not fetch the wheel $name from PyPI"; }
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m zipfile -e "$work"/*.whl "$folder"
    rm -rf "$work"
}
