//! Handing events to a consumer.

use std::collections::HashMap;

use uuid::Uuid;
use workflow_core::delivery::{self, Follower, Key};

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::spi::Row;
use crate::pg::value::{Jsonb, Time, Value};
use crate::settings;
use crate::store::statements;

use super::settle::fail;
use super::{arrays, consumers, distribute, heads, remove, require};

/// How much of what others left behind one claim sees to.
const UPKEEP: i32 = 200;
/// Instances of which a claim moves events from the queue, at the least.
const INSTANCES: i32 = 1000;

/// An event in the hands of a consumer.
pub struct Delivered {
    /// Its id.
    pub id: Uuid,
    /// Name of the definition.
    pub aggregatetype: String,
    /// Id of the instance.
    pub aggregateid: String,
    /// Its type.
    pub kind: String,
    /// What happened.
    pub payload: Jsonb,
    /// The revision.
    pub revision: i64,
    /// When it happened.
    pub occurred_at: Time,
    /// How often it was handed out, this time included.
    pub attempt: i32,
}

/// Hands up to `limit` events to a consumer under a new claim.
pub fn claim(
    command: &Command<'_>,
    consumer: &str,
    limit: i32,
    lease_ms: i32,
    claim: Uuid,
) -> Result<Vec<Delivered>, Failure> {
    require(command, consumer)?;
    let settled = consumers(command).try_share();
    if settled {
        remove::settle(command, UPKEEP)?;
    }
    let mut heads = heads::lock(command, consumer, limit)?;
    let missing = limit - heads.len() as i32;
    if settled && missing > 0 && fetch(command, consumer, missing)? {
        heads = heads::lock(command, consumer, limit)?;
    }
    let max_attempts = settings::outbox_max_attempts();
    let choice = delivery::choose(&heads, max_attempts);
    if !choice.spent.is_empty() {
        let message = format!("not acknowledged in time, {max_attempts} times");
        fail(command, consumer, &choice.spent, Time::INFINITY, &message)?;
    }
    let mut keys = choice.heads;
    let room = limit as usize - keys.len();
    if !keys.is_empty() && room > 0 && !choice.alone {
        let followers = lock_followers(command, consumer, &keys, room)?;
        keys.extend(delivery::follow(&keys, followers, room, max_attempts));
    }
    if keys.is_empty() {
        if settled {
            remove::expired_now_and_then(command, UPKEEP)?;
        }
        return Ok(Vec::new());
    }
    let until = Time(Time::now().0 + i64::from(lease_ms) * 1000);
    let [instances, revisions] = arrays(&keys);
    let taken = command.spi.run(
        &statements::CLAIM,
        &[
            command.tenant(),
            Value::Text(consumer),
            Value::Uuid(claim),
            Value::Time(until),
            instances,
            revisions,
        ],
    );
    if taken.count() < keys.len() as u64 {
        // One that is not in the outbox is damage, which wf_verify names; it blocks its instance.
        let [instances, revisions] = arrays(&keys);
        let events = [command.tenant(), instances, revisions];
        let events = command.spi.run(&statements::COUNT_EVENTS, &events);
        if taken.count() != events.count() {
            return Err(trigger_interfered(
                "a trigger kept an event from a consumer",
            ));
        }
    }
    let mut delivered = taken
        .rows()
        .map(|row| Ok((row.uuid(0)?, read(&row)?)))
        .collect::<Result<Vec<_>, Report>>()?;
    // The instances as they were chosen, each in the order of its revisions.
    let mut places = HashMap::new();
    for key in &keys {
        let next = places.len();
        places.entry(key.instance).or_insert(next);
    }
    delivered.sort_by_key(|(instance, event)| (places.get(instance).copied(), event.revision));
    Ok(delivered.into_iter().map(|(_, event)| event).collect())
}

/// Moves events from the queue: new heads first, however many other events are in front of them there;
/// if these are too few, what follows the heads that the consumer has.
fn fetch(command: &Command<'_>, consumer: &str, missing: i32) -> Result<bool, Failure> {
    let batch = batch(missing);
    let mut moved = distribute::distribute(command, batch, Some(consumer))?;
    if moved < i64::from(missing) {
        moved += distribute::distribute(command, batch, None)?;
    }
    Ok(moved > 0)
}

/// Of how many instances events are moved from the queue. Nobody else sees what is moved until the
/// transaction ends: in one that may go on for long it is no more than what can be handed out.
fn batch(missing: i32) -> i32 {
    if backend::in_transaction_block() {
        missing
    } else {
        missing.max(INSTANCES)
    }
}

fn read(row: &Row) -> Result<Delivered, Report> {
    Ok(Delivered {
        id: row.uuid(1)?,
        aggregatetype: row.text(2)?,
        aggregateid: row.text(3)?,
        kind: row.text(4)?,
        payload: row.jsonb(5)?,
        revision: row.bigint(6)?,
        occurred_at: row.time(7)?,
        attempt: row.int(8)?,
    })
}

fn lock_followers(
    command: &Command<'_>,
    consumer: &str,
    heads: &[Key],
    room: usize,
) -> Result<Vec<Follower>, Report> {
    let [instances, revisions] = arrays(heads);
    let behind = [
        command.tenant(),
        Value::Text(consumer),
        instances,
        revisions,
        Value::Time(Time::now()),
        Value::Int(room as i32),
    ];
    let locked = command.spi.run(&statements::LOCK_SUCCESSORS, &behind);
    let followers = locked.rows().map(|row| {
        Ok(Follower {
            waiting: heads::waiting(&row)?,
            free: row.bool(4)?,
            previous: row.opt_bigint(5)?,
        })
    });
    followers.collect()
}
