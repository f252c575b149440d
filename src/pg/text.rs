//! Text across the boundary: Rust is UTF-8, a database may be something else.

use std::ffi::{CStr, c_char, c_int};

use pgrx::pg_sys;
use workflow_core::sqlstate::SqlState;

use super::report::Report;

/// Bytes of the database's encoding as a Rust string.
pub fn from_server(bytes: &[u8]) -> Result<String, Report> {
    let decoded = if same_encoding() {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    } else {
        // SAFETY: pointer and length describe `bytes`; the result is a NUL-terminated copy, or the
        // input itself if there was nothing to convert.
        unsafe {
            let converted = pg_sys::pg_server_to_any(
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
                pg_sys::pg_enc::PG_UTF8 as c_int,
            );
            if std::ptr::eq(converted.cast(), bytes.as_ptr()) {
                std::str::from_utf8(bytes).ok().map(str::to_owned)
            } else {
                CStr::from_ptr(converted).to_str().ok().map(str::to_owned)
            }
        }
    };
    decoded.ok_or_else(|| {
        Report::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            "text must be valid UTF-8",
        )
    })
}

/// A NUL-terminated copy in the current memory context, in the database's encoding. Text stops at a
/// NUL, which no value of PostgreSQL can hold.
pub fn to_c_string(text: &str) -> *mut c_char {
    with_server_bytes(text, |bytes| {
        let end = bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(bytes.len());
        // SAFETY: palloc gives room for the text and its terminator, or raises.
        unsafe {
            let copy = pg_sys::palloc(end + 1).cast::<u8>();
            copy.copy_from_nonoverlapping(bytes.as_ptr(), end);
            *copy.add(end) = 0;
            copy.cast()
        }
    })
}

/// Hands `take` the text in the database's encoding.
pub fn with_server_bytes<T>(text: &str, take: impl FnOnce(&[u8]) -> T) -> T {
    if same_encoding() {
        return take(text.as_bytes());
    }
    // SAFETY: as in `from_server`; a converted copy is NUL-terminated.
    unsafe {
        let converted = pg_sys::pg_any_to_server(
            text.as_ptr().cast(),
            text.len() as c_int,
            pg_sys::pg_enc::PG_UTF8 as c_int,
        );
        if std::ptr::eq(converted.cast(), text.as_ptr()) {
            take(text.as_bytes())
        } else {
            take(CStr::from_ptr(converted).to_bytes())
        }
    }
}

/// SQL_ASCII means that the server does not know: then bytes pass as they are.
fn same_encoding() -> bool {
    // SAFETY: reads a setting of the database.
    let encoding = unsafe { pg_sys::GetDatabaseEncoding() } as u32;
    encoding == pg_sys::pg_enc::PG_UTF8 || encoding == pg_sys::pg_enc::PG_SQL_ASCII
}
