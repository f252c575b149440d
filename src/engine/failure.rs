//! Why a command did not run: refused for a reason of the catalogue, or an error of another kind.

use workflow_core::decide::Rejection;
use workflow_core::refusal::{Reason, Refusal};
use workflow_core::sqlstate::SqlState;

use crate::pg::report::Report;
use crate::pg::wait::TimedOut;

/// A command that was not carried out.
pub enum Failure {
    /// An answer of the catalogue: returned or raised, as the caller asked.
    Refused(Box<Refusal>),
    /// Bad arguments, interfering triggers, damage: always raised.
    Error(Report),
}

impl From<Report> for Failure {
    fn from(report: Report) -> Failure {
        Failure::Error(report)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(Box::new(refusal))
    }
}

impl From<Box<Refusal>> for Failure {
    fn from(refusal: Box<Refusal>) -> Failure {
        Failure::Refused(refusal)
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Failure {
        match rejection {
            Rejection::Refused(refusal) => Failure::Refused(refusal),
            Rejection::MissingArgument(name) => Failure::Error(Report::null(name)),
            Rejection::Ambiguous(message) | Rejection::Invalid(message) => {
                Failure::Error(Report::invalid(message))
            }
        }
    }
}

impl From<TimedOut> for Failure {
    fn from(_: TimedOut) -> Failure {
        busy("a lock was not had in time", 1).into()
    }
}

/// Nothing happened, and the same call may succeed a little later.
pub fn busy(message: &str, attempts: i32) -> Refusal {
    const RETRY_AFTER_MS: i32 = 100;
    let mut refusal = Refusal::new(Reason::Busy, message);
    refusal.attempts = attempts;
    refusal.retry_after_ms = Some(RETRY_AFTER_MS);
    refusal
}

/// A trigger of the user's got in between: going on would give a wrong answer.
pub fn trigger_interfered(message: &str) -> Failure {
    Failure::Error(Report::new(
        SqlState::TRIGGERED_DATA_CHANGE_VIOLATION,
        message,
    ))
}
