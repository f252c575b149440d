# shellcheck shell=bash
# Finds the libclang that bindgen needs; sourced after lib.sh.

# The system's libclang, as bindgen itself would find it (libclang-cpp is another library).
system_libclang() {
    find /usr/lib /usr/lib64 /usr/local/lib -maxdepth 3 \
        \( -name 'libclang.so*' -o -name 'libclang-[0-9]*.so*' \) 2>/dev/null | head -n 1
}

# Without a libclang of the system the one of a Python wheel does. It comes
# without clang's own headers (stddef.h), for which gcc's stand in.
use_libclang() {
    [ -z "${LIBCLANG_PATH:-}" ] || return 0
    [ -z "$(system_libclang)" ] || return 0
    local home=$TARGET/libclang
    if [ ! -e "$home/libclang.so" ]; then
        source "$ROOT/tools/wheels.sh"
        warn "no libclang on this system; fetching the one on PyPI"
        fetch_wheel libclang "$home.unpacked"
        mkdir -p "$home"
        find "$home.unpacked" -name libclang.so -exec cp {} "$home/libclang.so" \;
        rm -rf "$home.unpacked"
    fi
    export LIBCLANG_PATH=$home
    BINDGEN_EXTRA_CLANG_ARGS="${BINDGEN_EXTRA_CLANG_ARGS:-} -isystem $(${CC:-cc} -print-file-name=include)"
    export BINDGEN_EXTRA_CLANG_ARGS
}
