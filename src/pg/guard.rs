//! Guards and other paths of a definition, evaluated by PostgreSQL's own SQL/JSON path functions.
//!
//! All functions called here are pure: what they do depends on their arguments alone and leaves
//! nothing behind but memory. So their errors may be caught without a subtransaction.

use pgrx::pg_sys::panic::CaughtError;
use pgrx::pg_sys::{self, Datum};
use pgrx::{PgTryBuilder, direct_function_call_as_datum};
use workflow_core::decide::Truth;
use workflow_core::definition::strict_path;
use workflow_core::sqlstate::SqlState;

use super::report::Report;
use super::text;
use super::value::{self, Jsonb, Value};

/// Whether a guard can be evaluated; if not, why.
pub fn check(guard: &str) -> Result<(), String> {
    let canonical = pure(|| {
        // SAFETY: jsonpath_out takes a jsonpath and gives a C string.
        unsafe {
            let text = direct_function_call_as_datum(pg_sys::jsonpath_out, &[Some(parse(guard))])
                .expect("jsonpath_out gives a value");
            std::ffi::CStr::from_ptr(text.cast_mut_ptr())
                .to_string_lossy()
                .into_owned()
        }
    })?;
    if names_a_variable(&canonical) {
        return Err(
            "a path has no variables; it looks at $.material, $.payload, $.instance".into(),
        );
    }
    Ok(())
}

/// What a guard says of a document. An error of its own (a date that is none, say) is unknown.
pub fn test(guard: &str, document: &Jsonb) -> Truth {
    let verdict = pure(|| {
        let (document, _) = Value::Jsonb(document).to_datum();
        let (variables, _) = Value::Json("{}").to_datum();
        let arguments = [
            Some(document),
            Some(parse(guard)),
            Some(variables),
            Some(Datum::from(true)),
        ];
        // SAFETY: the argument types are those of jsonb_path_match: jsonb, jsonpath, jsonb, boolean.
        unsafe { direct_function_call_as_datum(pg_sys::jsonb_path_match, &arguments) }
    });
    match verdict {
        Ok(Some(datum)) if datum.value() != 0 => Truth::True,
        Ok(Some(_)) => Truth::False,
        Ok(None) | Err(_) => Truth::Unknown,
    }
}

/// The JSON text of the one value that a path leads to; `None` if it leads to none, or to several,
/// or the look-up fails for the document.
pub fn only_value(path: &str, document: &Jsonb) -> Result<Option<String>, Report> {
    let found = pure(|| {
        let (document, _) = Value::Jsonb(document).to_datum();
        let (variables, _) = Value::Json("{}").to_datum();
        let arguments = [
            Some(document),
            Some(parse(path)),
            Some(variables),
            Some(Datum::from(false)),
        ];
        // SAFETY: the argument types are those of jsonb_path_query_array: jsonb, jsonpath, jsonb,
        // boolean. It gives a jsonb array, of which jsonb_array_length tells the length.
        unsafe {
            let array = direct_function_call_as_datum(pg_sys::jsonb_path_query_array, &arguments)?;
            let length = direct_function_call_as_datum(pg_sys::jsonb_array_length, &[Some(array)])?;
            (length.value() == 1).then(|| value::read_jsonb(array))
        }
    });
    let Ok(Some(array)) = found else {
        return Ok(None);
    };
    let text = array.to_json()?;
    let only = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    Ok(only.map(str::to_owned))
}

/// Outside strict mode a missing key would make a comparison false instead of unknown.
fn parse(guard: &str) -> Datum {
    let image = text::to_c_string(&strict_path(guard));
    // SAFETY: jsonpath_in takes one C string.
    unsafe { direct_function_call_as_datum(pg_sys::jsonpath_in, &[Some(Datum::from(image))]) }
        .expect("jsonpath_in gives a value")
}

/// Runs a pure function of PostgreSQL; gives its message if it fails for its arguments. Anything
/// else (a cancel, no memory) goes on as it is.
fn pure<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let mut call = Some(call);
    PgTryBuilder::new(std::panic::AssertUnwindSafe(|| Ok(call.take().expect("runs once")())))
        .catch_others(|error| match error {
            CaughtError::PostgresError(report)
                if fault_of_arguments(report.sql_error_code() as i32) =>
            {
                Err(report.message().to_owned())
            }
            other => other.rethrow(),
        })
        .execute()
}

/// Syntax, data exceptions, and features that a function does not have.
fn fault_of_arguments(code: i32) -> bool {
    const CLASS: i32 = 0xFFF;
    [b"22000", b"42000", b"0A000"]
        .iter()
        .any(|class| SqlState::new(class).packed() == code & CLASS)
}

/// PostgreSQL prints a path with every name quoted, so a variable is a dollar before a quote.
fn names_a_variable(canonical: &str) -> bool {
    let mut quoted = false;
    let mut characters = canonical.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if quoted => {
                characters.next();
            }
            '"' => quoted = !quoted,
            '$' if !quoted && characters.peek() == Some(&'"') => return true,
            _ => {}
        }
    }
    false
}
