//! Part of a command that can fail without the rest: the sequence of procedural languages.
//!
//! Whatever happens, the subtransaction that is current afterwards is the one that was current
//! before, or a handler of the caller would end ours in place of its own.

use std::panic::AssertUnwindSafe;

use pgrx::pg_sys::panic::CaughtError;
use pgrx::{PgTryBuilder, pg_sys};

/// Runs `block` in a subtransaction, which is kept if it succeeds and undone if it fails; an error
/// of PostgreSQL then goes on as it is.
pub fn run<T, E>(block: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    match begin(block, |_| None) {
        Ok(result) => result,
        Err(_) => unreachable!("nothing is caught"),
    }
}

/// An error of PostgreSQL that was kept to the subtransaction it came from.
#[derive(Debug, PartialEq)]
pub struct Caught {
    /// SQLSTATE.
    pub code: String,
    /// MESSAGE.
    pub message: String,
}

/// The same, but an error of PostgreSQL is an answer, unless it is about the transaction or the
/// server as a whole: serialization and deadlock (class 40), resources (53), cancel and shutdown
/// (57), the system (58), and damage.
pub fn isolate<T, E>(block: impl FnOnce() -> Result<T, E>) -> Result<Result<T, E>, Caught> {
    begin(block, |error| {
        let CaughtError::PostgresError(report) = error else {
            return None;
        };
        // SAFETY: the error that is being handled is on top of the server's stack of errors.
        let code = unpack(unsafe { pg_sys::geterrcode() });
        let whole = ["40", "53", "57", "58", "XX001", "XX002"];
        if whole.iter().any(|class| code.starts_with(class)) {
            return None;
        }
        let message = report.message().to_owned();
        Some(Caught { code, message })
    })
}

/// Six bits a character, the first one lowest.
pub(super) fn unpack(packed: i32) -> String {
    let character = |i: i32| char::from((packed >> (6 * i) & 0x3F) as u8 + b'0');
    (0..5).map(character).collect()
}

fn begin<T, E>(
    block: impl FnOnce() -> Result<T, E>,
    catch: impl Fn(&CaughtError) -> Option<Caught>,
) -> Result<Result<T, E>, Caught> {
    // SAFETY: plain variables of this backend, to be restored after the subtransaction.
    let (context, owner) = unsafe { (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner) };
    let end = |keep: bool| {
        // SAFETY: ends the subtransaction that is begun below.
        unsafe {
            if keep {
                pg_sys::ReleaseCurrentSubTransaction();
            } else {
                pg_sys::RollbackAndReleaseCurrentSubTransaction();
            }
            pg_sys::MemoryContextSwitchTo(context);
            pg_sys::CurrentResourceOwner = owner;
        }
    };
    // SAFETY: ended by `end` on every path.
    unsafe {
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
    }
    let mut block = Some(block);
    let catch = AssertUnwindSafe(catch);
    let end_failed = AssertUnwindSafe(&end);
    let result = PgTryBuilder::new(AssertUnwindSafe(|| Ok(block.take().expect("runs once")())))
        .catch_others(move |error: CaughtError| {
            let caught = (*catch)(&error);
            (*end_failed)(false);
            match caught {
                Some(caught) => Err(caught),
                None => error.rethrow(),
            }
        })
        .execute();
    if let Ok(done) = &result {
        end(done.is_ok());
    }
    result
}
