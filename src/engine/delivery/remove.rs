//! Out of the outbox: what every consumer has acknowledged, and what nobody waits for.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Instant;

use uuid::Uuid;
use workflow_core::delivery::Key;

use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::engine::worker::{Place, Progress};
use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::spi::{Rows, Spi};
use crate::pg::value::{Element, Time, Value};
use crate::settings;
use crate::store::statements;

use super::distribute::distribute;
use super::{arrays, consumers, instances};

fn keys(rows: &Rows<'_>) -> Result<Vec<Key>, Report> {
    let keys = rows.rows().map(|row| {
        Ok(Key {
            instance: row.uuid(0)?,
            revision: row.bigint(1)?,
        })
    });
    keys.collect()
}

/// Removes those of these events that nobody waits for; they belong to deliveries that this
/// transaction has ended.
///
/// Two consumers that acknowledge an event at the same moment do not see each other. The event's lock
/// shows who is second: that one leaves a note, and a later claim looks again.
pub fn acknowledged(command: &Command<'_>, events: &[Key], claim: Uuid) -> Result<(), Report> {
    if events.is_empty() {
        return Ok(());
    }
    let locked = if consumers(command).try_share() {
        remove(command, events)?
    } else {
        Vec::new()
    };
    let locked: HashSet<Key> = locked.into_iter().collect();
    let rest: Vec<Key> = events
        .iter()
        .copied()
        .filter(|key| !locked.contains(key))
        .collect();
    if !rest.is_empty() {
        let [instances, revisions] = arrays(&rest);
        let note = [command.tenant(), instances, revisions, Value::Uuid(claim)];
        command.spi.run(&statements::NOTE_UNREMOVED, &note);
    }
    Ok(())
}

/// Looks again at up to `limit` events. The list of consumers must not change meanwhile.
pub fn settle(command: &Command<'_>, limit: i32) -> Result<(), Report> {
    let notes = [command.tenant(), Value::Int(limit)];
    let notes = command.spi.run(&statements::LOCK_UNREMOVED, &notes);
    let events = keys(&notes)?;
    if events.is_empty() {
        return Ok(());
    }
    let claims = notes.rows().map(|row| Ok(Value::Uuid(row.uuid(2)?)));
    let claims = claims.collect::<Result<Vec<_>, Report>>()?;
    let seen: HashSet<Key> = remove(command, &events)?.into_iter().collect();
    let seen = events.iter().map(|key| Value::Bool(seen.contains(key)));
    let seen = Value::Array(Element::Bool, seen.collect());
    let [instances, revisions] = arrays(&events);
    let claims = Value::Array(Element::Uuid, claims);
    let settled = [command.tenant(), instances, revisions, claims, seen];
    command.spi.run(&statements::SETTLE_UNREMOVED, &settled);
    Ok(())
}

/// Removes up to `limit` events that are older than `workflow.outbox_retention` and for which nobody
/// waits; gives their number. The list of consumers must not change meanwhile.
pub fn expired(command: &Command<'_>, limit: i32) -> Result<usize, Report> {
    let oldest = Time::now().0 - i64::from(settings::outbox_retention()) * 1_000_000;
    let expired = [
        command.tenant(),
        Value::Time(Time(oldest)),
        Value::Int(limit),
    ];
    let expired = keys(&command.spi.run(&statements::LOCK_EXPIRED, &expired))?;
    take_out(command, &expired);
    Ok(expired.len())
}

/// What `wf_run_due` does for events: where no consumer claims, nobody else would let go of what nobody
/// waits for, unless the background worker runs. Bounded, and never waits.
pub fn upkeep(command: &Command<'_>) -> Result<(), Failure> {
    const BATCH: i32 = 1000;
    if consumers(command).try_share() {
        settle(command, BATCH)?;
        // What is moved is with nobody until the transaction ends.
        if !backend::in_transaction_block() {
            distribute(command, BATCH, None)?;
        }
        expired_now_and_then(command, BATCH)?;
    }
    Ok(())
}

/// `expired`, for callers who come often: looking takes no more than a hundredth of their time, however
/// many old events there are for which somebody still waits.
pub fn expired_now_and_then(command: &Command<'_>, limit: i32) -> Result<(), Report> {
    thread_local! {
        static RESTS: RefCell<Option<(String, i32, Instant)>> = const { RefCell::new(None) };
    }
    let (tenant, retention) = (&command.caller.tenant, settings::outbox_retention());
    let began = Instant::now();
    let rests = RESTS.with_borrow(|rests| {
        rests
            .as_ref()
            .is_some_and(|(of, with, until)| of == tenant && *with == retention && began < *until)
    });
    if !rests && expired(command, limit)? == 0 {
        let until = Instant::now() + began.elapsed() * 100;
        RESTS.set(Some((tenant.clone(), retention, until)));
    }
    Ok(())
}

/// Does for the next tenant what a claim does on the way: where no consumer claims, nobody else would
/// let go of what nobody waits for. A job of the background worker.
pub fn next_tenant(spi: &Spi, place: &mut Place) -> Result<Progress, Failure> {
    const BATCH: i32 = 1000;
    let next = [Value::Text(&place.tenant)];
    let Some(row) = spi.one(&statements::NEXT_TENANT_WITH_EVENTS, &next) else {
        let again = std::mem::take(place).again;
        return Ok(if again {
            Progress::More
        } else {
            Progress::Done
        });
    };
    place.tenant = row.text(0)?;
    let caller = Caller::timer(place.tenant.clone(), backend::session_role());
    let command = Command::unattended("workflow worker", spi, caller);
    if consumers(&command).try_share() {
        settle(&command, BATCH)?;
        let moved = distribute(&command, BATCH, None)?;
        let removed = expired(&command, BATCH)?;
        place.again |= moved >= i64::from(BATCH) || removed >= BATCH as usize;
    }
    Ok(Progress::More)
}

/// Removes what can be locked and is not waited for; gives what could be locked.
fn remove(command: &Command<'_>, events: &[Key]) -> Result<Vec<Key>, Report> {
    let [instances, revisions] = arrays(events);
    let events = [command.tenant(), instances, revisions];
    let locked = keys(&command.spi.run(&statements::LOCK_EVENTS, &events))?;
    take_out(command, &locked);
    Ok(locked)
}

fn take_out(command: &Command<'_>, locked: &[Key]) {
    if locked.is_empty() {
        return;
    }
    let [of, revisions] = arrays(locked);
    let removed = [command.tenant(), of, revisions];
    if command
        .spi
        .run(&statements::REMOVE_EVENTS, &removed)
        .count()
        > 0
    {
        let instances = instances(locked);
        let instances = [command.tenant(), Value::Uuids(&instances)];
        command.spi.run(&statements::FORGET_REMOVED, &instances);
    }
}
