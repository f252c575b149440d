//! `workflow.contention_counts`: what the view `workflow.contention` shows.

use crate::engine::command;
use crate::engine::contention;
use crate::engine::identity::Claim;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;

/// `workflow.contention_counts`
pub fn counts(_: &Call) -> Result<Answer, Report> {
    let keys = command::read(&Claim::default(), |_, caller| {
        Ok(contention::survey(&caller.tenant))
    })?;
    let rows = keys.into_iter().map(|key| {
        let why = key.why.as_ref();
        vec![
            Cell::Uuid(key.id),
            count(key.attempts),
            count(key.races),
            count(key.stale),
            count(key.waits),
            count(key.busy),
            count(key.service_us),
            Cell::Text(key.mode.to_owned()),
            Cell::Time(key.since),
            Cell::optional(why.map(|why| why.text.to_owned()), Cell::Text),
            Cell::optional(why.map(|why| why.rate), count),
            Cell::optional(why.map(|why| why.samples), count),
            Cell::Time(key.last_seen),
        ]
    });
    Ok(Answer::Rows(rows.collect()))
}

fn count(number: u64) -> Cell {
    Cell::Bigint(i64::try_from(number).unwrap_or(i64::MAX))
}
