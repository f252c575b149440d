//! `wf_run_due`: what time does.

use crate::api::answer;
use crate::engine::command::{self, Common};
use crate::engine::timer;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;

/// Most timers of one call: each of their instances stays locked to its end.
const MOST: i32 = 10_000;

/// `wf_run_due`
pub fn run_due(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_run_due");
    let limit = call.int("limit_rows").required()?;
    if !(1..=MOST).contains(&limit) {
        return Err(Report::invalid(format!(
            "limit_rows must be between 1 and {MOST}"
        )));
    }
    let common = Common::read("wf_run_due", call, None, None)?;
    let outcomes = command::run_each(common, |command| {
        timer::run_due(&command.caller, command.spi, limit)
    })?;
    Ok(answer::outcomes(outcomes))
}
