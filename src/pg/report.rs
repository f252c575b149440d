//! Errors as a client sees them, and the one place that raises them.
//!
//! pgrx raises only the SQLSTATEs it knows, and no constraint name; ours need both. So the report
//! is handed over as plain C strings to a frame that owns nothing, and raised from there.

use std::ffi::{CStr, c_char, c_int};

use pgrx::{PgLogLevel, pg_sys};
use workflow_core::refusal::Refusal;
use workflow_core::sqlstate::SqlState;

use super::text;

/// An error of ours.
#[derive(Clone, Debug)]
pub struct Report {
    /// SQLSTATE.
    pub state: SqlState,
    /// MESSAGE.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
    /// HINT.
    pub hint: Option<String>,
    /// CONSTRAINT NAME.
    pub constraint: Option<String>,
}

impl Report {
    /// An error with a message only.
    pub fn new(state: SqlState, message: impl Into<String>) -> Report {
        Report {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            constraint: None,
        }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Report {
        self.hint = Some(hint.into());
        self
    }

    /// A NULL where a value is needed.
    pub fn null(argument: &str) -> Report {
        Report::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            format!("{argument} must not be null"),
        )
    }

    /// A value that no command could accept.
    pub fn invalid(message: impl Into<String>) -> Report {
        Report::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }
}

impl From<&Refusal> for Report {
    fn from(refusal: &Refusal) -> Report {
        let entry = refusal.reason.entry();
        Report {
            state: entry.code,
            message: refusal.error_message(),
            detail: Some(refusal.detail().to_string()),
            hint: Some(entry.hint.to_owned()),
            constraint: Some(entry.slug.to_owned()),
        }
    }
}

/// A report in PostgreSQL's memory: nothing here needs dropping, so a longjmp may pass it.
#[derive(Clone, Copy)]
pub struct RawReport {
    state: c_int,
    message: *const c_char,
    detail: *const c_char,
    hint: *const c_char,
    constraint: *const c_char,
}

impl RawReport {
    /// Copies a report into the current memory context.
    pub fn new(report: &Report) -> RawReport {
        let optional = |field: &Option<String>| {
            field.as_deref().map_or(std::ptr::null(), |field| {
                text::to_c_string(field).cast_const()
            })
        };
        RawReport {
            state: report.state.packed(),
            message: text::to_c_string(&report.message),
            detail: optional(&report.detail),
            hint: optional(&report.hint),
            constraint: optional(&report.constraint),
        }
    }
}

// pgrx keeps these out of its bindings, because errfinish does not return. It must not be wrapped:
// the jump has to leave through frames without destructors.
unsafe extern "C-unwind" {
    fn errstart(level: c_int, domain: *const c_char) -> bool;
    fn errcode(state: c_int) -> c_int;
    fn errmsg_internal(format: *const c_char, ...) -> c_int;
    fn errdetail_internal(format: *const c_char, ...) -> c_int;
    fn errhint(format: *const c_char, ...) -> c_int;
    fn err_generic_string(field: c_int, text: *const c_char) -> c_int;
    fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
}

const PERCENT_S: &CStr = c"%s";

/// Raises the report as an ERROR.
///
/// # Safety
/// No frame between here and PostgreSQL's handler may have destructors to run.
#[allow(ffi_unwind_calls)]
pub unsafe fn raise(report: RawReport) -> ! {
    // SAFETY: the sequence of ereport(); the strings live in a context that outlasts the call, and
    // errfinish copies nothing it does not own.
    unsafe {
        if errstart(PgLogLevel::ERROR as c_int, std::ptr::null()) {
            errcode(report.state);
            errmsg_internal(PERCENT_S.as_ptr(), report.message);
            if !report.detail.is_null() {
                errdetail_internal(PERCENT_S.as_ptr(), report.detail);
            }
            if !report.hint.is_null() {
                errhint(PERCENT_S.as_ptr(), report.hint);
            }
            if !report.constraint.is_null() {
                err_generic_string(pg_sys::PG_DIAG_CONSTRAINT_NAME as c_int, report.constraint);
            }
            errfinish(c"workflow".as_ptr(), 0, c"workflow".as_ptr());
        }
    }
    unreachable!("an ERROR was reported and did not leave")
}

/// Writes one LOG line to the server's log, and to no client.
pub fn log(message: &str) {
    let message = text::to_c_string(message);
    // SAFETY: below ERROR, errfinish returns; no interrupt is serviced in between.
    #[allow(ffi_unwind_calls)]
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            if errstart(PgLogLevel::LOG_SERVER_ONLY as c_int, std::ptr::null()) {
                errmsg_internal(PERCENT_S.as_ptr(), message);
                errfinish(c"workflow".as_ptr(), 0, c"workflow".as_ptr());
            }
        });
    }
}
