#!/usr/bin/env bash
# Line and branch coverage of the pure core by its own tests, as a table.
#
# Branches are counted by an option that rustc still keeps for nightly builds; RUSTC_BOOTSTRAP lets
# the stable compiler take it. The profile format of rustc 1.95 is read by LLVM 19, which Debian has.
source "$(dirname "$0")/lib.sh"

LLVM=${LLVM:-/usr/lib/llvm-19/bin}
if [ ! -x "$LLVM/llvm-cov" ]; then
    is_root || die "needs llvm-19 (Debian), or LLVM=/path/to/llvm/bin of version 19 or later"
    say "installing llvm-19"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends llvm-19 >/dev/null
fi

OUT=$TARGET/coverage
rm -rf "$OUT/profiles"
mkdir -p "$OUT/profiles"
export CARGO_TARGET_DIR=$OUT RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Cinstrument-coverage -Zcoverage-options=branch"
export LLVM_PROFILE_FILE=$OUT/profiles/%p-%m.profraw

cd "$ROOT"
objects=()
while read -r binary; do
    objects+=(-object "$binary")
done < <(cargo test -p workflow-core --locked --no-run --message-format=json 2>/dev/null \
    | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
[ ${#objects[@]} -gt 0 ] || die "the tests of the core do not build"
cargo test -q -p workflow-core --locked

"$LLVM/llvm-profdata" merge -sparse "$OUT"/profiles/*.profraw -o "$OUT/core.profdata"
"$LLVM/llvm-cov" report "${objects[@]}" -instr-profile="$OUT/core.profdata" \
    --ignore-filename-regex='(/registry/|/rustc/|/tests/|tests[^/]*\.rs)' \
    | tee "$OUT/report.txt"
