//! The clock by which timers and due dates are set and found due: the server's, unless a superuser
//! has set `workflow.test_clock`. What history says is always the server's.

use crate::pg::report::Report;
use crate::pg::value::Time;
use crate::settings;

/// Now, for timers.
pub fn now() -> Result<Time, Report> {
    at(Time::now())
}

/// What the clock for timers shows at a moment of the server's clock.
pub fn at(real: Time) -> Result<Time, Report> {
    match settings::test_clock()? {
        None => Ok(real),
        Some(text) => Time::parse(&text)
            .filter(Time::is_finite)
            .ok_or_else(|| Report::invalid("workflow.test_clock must be a moment, not infinity")),
    }
}
