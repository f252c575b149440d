//! Who holds an instance keeps others from changing it until the transaction ends, or until it
//! rolls back to a savepoint before.

use std::collections::HashMap;

use uuid::Uuid;

use crate::command::Action;
use crate::model::Model;
use crate::record::{Answer, At, Record, Span, Time};
use crate::round::{Round, Violation};

pub fn check(round: &Round<'_>, model: &Model<'_>) -> Result<(), Violation> {
    let mut holds: HashMap<Uuid, Vec<(At, Span)>> = HashMap::new();
    let mut writes: HashMap<Uuid, Vec<(At, Span)>> = HashMap::new();
    for (at, record) in round.records() {
        let left_alone = matches!(record.command.action, Action::Hand(_)) && !record.writes();
        if record.applied().is_none() || left_alone {
            continue;
        }
        let held = Span {
            from: record.span.to,
            to: released(round, at, record),
        };
        for instance in touched(model, at, record) {
            // Autocommit holds nothing after the answer.
            if held.from < held.to {
                holds.entry(instance).or_default().push((at, held));
            }
            if record.writes() {
                writes.entry(instance).or_default().push((at, record.span));
            }
        }
    }
    for (instance, holds) in holds {
        for (holder, held) in holds {
            for (writer, span) in writes.get(&instance).into_iter().flatten() {
                let inside = span.from > held.from && span.to < held.to;
                if inside && writer.transaction != holder.transaction {
                    let what = "a command changed an instance that another transaction held";
                    return Err(Violation::new(what).by(holder).by(*writer).about(instance));
                }
            }
        }
    }
    Ok(())
}

/// Until when its locks were certainly held. An error outside a savepoint gives them up at once,
/// before the client says ROLLBACK.
fn released(round: &Round<'_>, at: At, record: &Record) -> Time {
    if let Some((_, span)) = record.undone {
        return span.from;
    }
    let records = round.transaction(at).records.iter();
    let mut failed =
        records.filter(|later| matches!(later.answer, Answer::Fault(_)) && later.undone.is_none());
    failed
        .next()
        .map_or(round.end(at).from, |later| later.span.from)
}

/// The instances a command certainly locked. Of a supersede that was rolled back they are not known.
fn touched(model: &Model<'_>, at: At, record: &Record) -> Vec<Uuid> {
    match &record.command.action {
        Action::Start(_) => Vec::new(),
        Action::Supersede { .. } => model.made.get(&at).cloned().unwrap_or_default(),
        _ => record
            .applied()
            .and_then(|outcome| outcome.instance_id)
            .into_iter()
            .collect(),
    }
}
