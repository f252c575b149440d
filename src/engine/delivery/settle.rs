//! What becomes of events that were handed out: acknowledged, failed, and dead letters.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use uuid::Uuid;
use workflow_core::delivery::{self, Held, Key};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::Reason;

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::pg::report::Report;
use crate::pg::value::{Time, Value};
use crate::settings;
use crate::store::statements;

use super::{arrays, remove, require};

/// Characters of an error that are kept.
const ERROR: usize = 8000;

/// Events of a claim that nobody else is at and whose lease has not run out.
fn lock_claimed(
    command: &Command<'_>,
    consumer: &str,
    claim: Uuid,
) -> Result<Vec<(Uuid, Key, i32)>, Report> {
    let held = [
        command.tenant(),
        Value::Text(consumer),
        Value::Uuid(claim),
        Value::Time(Time::now()),
    ];
    let locked = command.spi.run(&statements::LOCK_CLAIMED, &held);
    // Read after the locks, and once: a claim ends for all of its events at the same moment.
    let now = Time::now();
    let mut events = Vec::new();
    for row in locked.rows() {
        if row.time(3)? > now {
            let key = Key {
                instance: row.uuid(0)?,
                revision: row.bigint(1)?,
            };
            events.push((row.uuid(2)?, key, row.int(4)?));
        }
    }
    Ok(events)
}

/// `wf_outbox_ack`
pub fn acknowledge(
    command: &Command<'_>,
    consumer: &str,
    claim: Uuid,
    ids: &[Uuid],
) -> Result<Outcome, Failure> {
    require(command, consumer)?;
    let wanted: HashSet<Uuid> = ids.iter().copied().collect();
    let held = lock_claimed(command, consumer, claim)?;
    let held: HashMap<Key, Uuid> = held
        .into_iter()
        .filter(|(id, _, _)| wanted.contains(id))
        .map(|(id, key, _)| (key, id))
        .collect();
    let keys: Vec<Key> = held.keys().copied().collect();
    let [instances, revisions] = arrays(&keys);
    let keys = [
        command.tenant(),
        Value::Text(consumer),
        instances,
        revisions,
    ];
    let before = command.spi.run(&statements::BEFORE, &keys);
    let before = before.rows().map(|row| {
        let key = Key {
            instance: row.uuid(0)?,
            revision: row.bigint(1)?,
        };
        Ok((key, row.opt_bigint(2)?))
    });
    let done = delivery::acknowledgeable(&before.collect::<Result<Vec<_>, Report>>()?);
    end(command, consumer, &done, claim)?;
    let done = done.iter().filter_map(|key| held.get(key)).copied();
    Ok(told(ids, &done.collect(), None))
}

/// Deliveries that are over.
fn end(command: &Command<'_>, consumer: &str, done: &[Key], claim: Uuid) -> Result<(), Failure> {
    if done.is_empty() {
        return Ok(());
    }
    let [instances, revisions] = arrays(done);
    let done_keys = [
        command.tenant(),
        Value::Text(consumer),
        instances,
        revisions,
    ];
    let removed = command.spi.run(&statements::REMOVE_DELIVERIES, &done_keys);
    all(removed.count(), done)?;
    Ok(remove::acknowledged(command, done, claim)?)
}

/// `wf_outbox_nack`
pub fn give_back(
    command: &Command<'_>,
    consumer: &str,
    claim: Uuid,
    ids: &[Uuid],
    delay_ms: i32,
    error: Option<&str>,
) -> Result<Outcome, Failure> {
    require(command, consumer)?;
    let wanted: HashSet<Uuid> = ids.iter().copied().collect();
    let locked = lock_claimed(command, consumer, claim)?;
    let held: Vec<Held> = locked
        .iter()
        .map(|(id, key, attempt)| Held {
            key: *key,
            attempt: *attempt,
            failed: wanted.contains(id),
        })
        .collect();
    let failure = delivery::fail(&held, settings::outbox_max_attempts());
    let error: String = error.unwrap_or_default().chars().take(ERROR).collect();
    let again = Time(Time::now().0 + i64::from(delay_ms) * 1000);
    fail(command, consumer, &failure.again, again, &error)?;
    fail(command, consumer, &failure.dead, Time::INFINITY, &error)?;
    if !failure.released.is_empty() {
        let [instances, revisions] = arrays(&failure.released);
        let released = [
            command.tenant(),
            Value::Text(consumer),
            instances,
            revisions,
        ];
        let released = command.spi.run(&statements::RELEASE_DELIVERIES, &released);
        all(released.count(), &failure.released)?;
    }
    let done = locked.iter().map(|(id, _, _)| *id);
    let done = done.filter(|id| wanted.contains(id)).collect();
    Ok(told(ids, &done, Some(failure.dead.len())))
}

/// Events that are ours wait until `again`; without end they are dead letters.
pub fn fail(
    command: &Command<'_>,
    consumer: &str,
    failed: &[Key],
    again: Time,
    error: &str,
) -> Result<(), Failure> {
    if failed.is_empty() {
        return Ok(());
    }
    let [instances, revisions] = arrays(failed);
    let written = command.spi.run(
        &statements::FAIL_DELIVERIES,
        &[
            command.tenant(),
            Value::Text(consumer),
            instances,
            revisions,
            Value::Time(again),
            Value::Time(Time::now()),
            Value::Text(error),
        ],
    );
    all(written.count(), failed)
}

/// Rows that are locked are written, unless somebody's trigger is in the way.
fn all(written: u64, keys: &[Key]) -> Result<(), Failure> {
    if written != keys.len() as u64 {
        return Err(trigger_interfered("a trigger kept a delivery as it was"));
    }
    Ok(())
}

/// What becomes of dead letters.
pub enum Fate {
    /// `wf_outbox_requeue`
    Requeue,
    /// `wf_outbox_skip`
    Skip,
}

/// `wf_outbox_requeue`, `wf_outbox_skip`
pub fn revive(
    command: &Command<'_>,
    consumer: &str,
    ids: &[Uuid],
    fate: &Fate,
) -> Result<Outcome, Failure> {
    require(command, consumer)?;
    let mut wanted = ids.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let dead = [
        command.tenant(),
        Value::Text(consumer),
        Value::Uuids(&wanted),
    ];
    let locked = command.spi.run(&statements::LOCK_DEAD, &dead);
    let (mut keys, mut done) = (Vec::new(), HashSet::new());
    for row in locked.rows() {
        keys.push(Key {
            instance: row.uuid(0)?,
            revision: row.bigint(1)?,
        });
        done.insert(row.uuid(2)?);
    }
    match fate {
        Fate::Skip => end(command, consumer, &keys, Uuid::now_v7())?,
        Fate::Requeue if keys.is_empty() => {}
        Fate::Requeue => {
            let [instances, revisions] = arrays(&keys);
            let again = [
                command.tenant(),
                Value::Text(consumer),
                instances,
                revisions,
            ];
            all(command.spi.run(&statements::REQUEUE, &again).count(), &keys)?;
        }
    }
    let mut outcome = told(ids, &done, None);
    if !outcome.applied {
        // Nobody has lost a claim: there is no such dead letter.
        let entry = Reason::NotFound.entry();
        outcome.code = Some(entry.code.as_str().to_owned());
        outcome.reason = Some(entry.slug.to_owned());
    }
    Ok(outcome)
}

/// How many it were, and which ones were not. Nothing done is said like a lost lease, and is no error.
fn told(ids: &[Uuid], done: &HashSet<Uuid>, dead: Option<usize>) -> Outcome {
    let ignored = ids.iter().filter(|id| !done.contains(id));
    let ignored: Vec<String> = ignored.map(Uuid::to_string).collect();
    let mut detail = json!({"events": done.len(), "ignored": ignored});
    if let Some(dead) = dead {
        detail["dead"] = json!(dead);
    }
    let mut outcome = Outcome {
        applied: ids.is_empty() || !done.is_empty(),
        attempts: 1,
        detail: Some(detail),
        ..Outcome::default()
    };
    if !outcome.applied {
        let entry = Reason::LeaseLost.entry();
        outcome.code = Some(entry.code.as_str().to_owned());
        outcome.reason = Some(entry.slug.to_owned());
    }
    outcome
}
