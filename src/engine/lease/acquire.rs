//! Taking leases: all of some keys, or none.
//!
//! A key that somebody holds is refused from a read that locks nothing and writes nothing. Who finds
//! all keys free passes the gate of each, which is tried and never waited for, and reads again: so of
//! several who come at once one writes, and the others write nothing.

use std::time::Duration;

use uuid::Uuid;
use workflow_core::lease::{Standing, milliseconds};

use super::{End, Grant, Granted, Key, Lease, grant, log_end};
use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::pg::backend;
use crate::pg::value::Time;
use crate::pg::wait::{self, Budget, KeyLock, LockKind};
use crate::store::statements;

/// Shortest and longest time between two looks at a key that is not free.
const POLL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(50));
/// When to try again where somebody is at the key this moment.
const BUSY_RETRY_MS: i64 = 50;

/// How one key was answered.
pub struct Answer {
    /// The key.
    pub key: String,
    /// What came of it.
    pub result: Result<Tenancy, Taken>,
}

/// A lease that was had.
pub struct Tenancy {
    /// Its secret.
    pub token: Uuid,
    /// Its number.
    pub fence: i64,
    /// When it ends.
    pub expires_at: Time,
    /// Milliseconds to that.
    pub remaining_ms: i64,
    /// Whether the transaction that took it is still open.
    pub provisional: bool,
}

/// Why a key was not had.
pub struct Taken {
    /// held, busy or others.
    pub reason: &'static str,
    /// Who has it, where that is known.
    pub holder: Option<String>,
    /// When that ends.
    pub ends_at: Option<Time>,
    /// Milliseconds to that.
    pub remaining_ms: Option<i64>,
    /// When to try again.
    pub retry_after_ms: i64,
}

impl Taken {
    fn busy() -> Taken {
        Taken {
            reason: "busy",
            holder: None,
            ends_at: None,
            remaining_ms: None,
            retry_after_ms: BUSY_RETRY_MS,
        }
    }

    fn others(retry_after_ms: i64) -> Taken {
        Taken {
            reason: "others",
            retry_after_ms,
            ..Taken::busy()
        }
    }
}

/// Takes all keys, which are sorted, or none; tries for so long.
pub fn acquire(
    command: &Command<'_>,
    keys: &[String],
    wanted: &Grant<'_>,
    patience: &Budget,
) -> Result<Vec<Answer>, Failure> {
    loop {
        let refusals = match attempt(command, keys, wanted)? {
            Ok(tenancies) => {
                let answers = keys.iter().zip(tenancies);
                return Ok(answers
                    .map(|(key, tenancy)| Answer {
                        key: key.clone(),
                        result: Ok(tenancy),
                    })
                    .collect());
            }
            Err(refusals) => refusals,
        };
        let soonest = refusals.iter().flatten().map(|taken| taken.retry_after_ms);
        let retry_after_ms = soonest.max().unwrap_or(BUSY_RETRY_MS);
        let left = patience.remaining();
        // Whoever has written stands in the way of others; leases are not in the deadlock detector.
        if left.is_zero() || backend::holds_locks() {
            let answers = keys.iter().zip(refusals);
            return Ok(answers
                .map(|(key, taken)| Answer {
                    key: key.clone(),
                    result: Err(taken.unwrap_or_else(|| Taken::others(retry_after_ms))),
                })
                .collect());
        }
        let poll = POLL.0 + (POLL.1 - POLL.0).mul_f64(backend::jitter());
        let free_in = Duration::from_millis(retry_after_ms as u64);
        wait::sleep(poll.min(free_in).min(left));
    }
}

type Attempt = Result<Vec<Tenancy>, Vec<Option<Taken>>>;

/// One look at all keys, and the tenures if they are free.
fn attempt(command: &Command<'_>, keys: &[String], wanted: &Grant<'_>) -> Result<Attempt, Failure> {
    let spi = command.spi;
    let keys: Vec<Key<'_>> = keys
        .iter()
        .map(|key| Key {
            tenant: &command.caller.tenant,
            key,
        })
        .collect();
    if let Some(again) = same_request(command, &keys, wanted)? {
        return Ok(Ok(again));
    }
    if let Err(refusals) = look(command, &keys)? {
        return Ok(Err(refusals));
    }
    let Some(gates) = pass(&keys) else {
        return Ok(Err(busy(&keys)));
    };
    let rows = match look(command, &keys)? {
        Ok(rows) => rows,
        Err(refusals) => {
            leave(&gates);
            return Ok(Err(refusals));
        }
    };
    for (key, row) in keys.iter().zip(&rows) {
        if row.is_some() && !key.lock(spi, &statements::TRY_LOCK_LEASE) {
            leave(&gates);
            return Ok(Err(busy(&keys)));
        }
    }
    // The rows are ours: what they say now stands.
    let rows = match look(command, &keys)? {
        Ok(rows) => rows,
        Err(refusals) => return Ok(Err(refusals)),
    };
    let mut tenancies = Vec::new();
    for (key, before) in keys.iter().zip(&rows) {
        if let Some(before) = before
            && let Some(end) = End::of(before)
        {
            log_end(spi, *key, before, &end)?;
        }
        tenancies.push(of(
            grant(spi, *key, before.as_ref(), wanted)?,
            wanted.ttl_ms,
        ));
    }
    Ok(Ok(tenancies))
}

/// A tenure that has just begun.
pub fn of(granted: Granted, ttl_ms: i32) -> Tenancy {
    Tenancy {
        token: granted.token,
        fence: granted.fence,
        expires_at: granted.expires_at,
        remaining_ms: i64::from(ttl_ms),
        provisional: granted.provisional,
    }
}

/// The rows, if nobody holds any of the keys; else who holds which.
#[allow(clippy::type_complexity)]
fn look(
    command: &Command<'_>,
    keys: &[Key<'_>],
) -> Result<Result<Vec<Option<Lease>>, Vec<Option<Taken>>>, Failure> {
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        rows.push(key.read(command.spi)?);
    }
    let refusals: Vec<Option<Taken>> = rows
        .iter()
        .map(|row| row.as_ref().and_then(held_by))
        .collect();
    if refusals.iter().any(Option::is_some) {
        return Ok(Err(refusals));
    }
    Ok(Ok(rows))
}

fn held_by(lease: &Lease) -> Option<Taken> {
    let Standing::Held(left) = lease.standing() else {
        return None;
    };
    Some(Taken {
        reason: "held",
        holder: Some(lease.holder.clone()),
        ends_at: Some(lease.ends_at()),
        remaining_ms: Some(milliseconds(left)),
        retry_after_ms: milliseconds(left),
    })
}

/// The tenures that the same actor and holder have from the same request, if they have all of them.
fn same_request(
    command: &Command<'_>,
    keys: &[Key<'_>],
    wanted: &Grant<'_>,
) -> Result<Option<Vec<Tenancy>>, Failure> {
    if wanted.request_id.is_none() {
        return Ok(None);
    }
    let mut tenancies = Vec::new();
    for key in keys {
        let Some(lease) = key.read(command.spi)? else {
            return Ok(None);
        };
        let same = lease.request_id.as_deref() == wanted.request_id
            && lease.holder == wanted.holder
            && lease.actor.as_deref() == Some(wanted.actor);
        let Standing::Held(left) = lease.standing() else {
            return Ok(None);
        };
        if !same {
            return Ok(None);
        }
        tenancies.push(Tenancy {
            token: lease.token,
            fence: lease.fence,
            expires_at: lease.ends_at(),
            remaining_ms: milliseconds(left),
            provisional: false,
        });
    }
    Ok(Some(tenancies))
}

fn busy(keys: &[Key<'_>]) -> Vec<Option<Taken>> {
    keys.iter().map(|_| Some(Taken::busy())).collect()
}

/// The gates of all keys, or none.
fn pass(keys: &[Key<'_>]) -> Option<Vec<KeyLock>> {
    let mut gates: Vec<KeyLock> = keys.iter().map(gate).collect();
    gates.sort_by_key(KeyLock::order);
    for (index, lock) in gates.iter().enumerate() {
        if !lock.try_take() {
            leave(&gates[..index]);
            return None;
        }
    }
    Some(gates)
}

/// The gate of one key.
pub fn gate(key: &Key<'_>) -> KeyLock {
    KeyLock::new(LockKind::Lease, key.tenant, key.key)
}

fn leave(gates: &[KeyLock]) {
    for gate in gates {
        gate.give_back();
    }
}

/// Takes a key from whoever has it. `None` if that is nobody.
pub fn steal(
    command: &Command<'_>,
    key: Key<'_>,
    wanted: &Grant<'_>,
    reason: &str,
) -> Result<Tenancy, Failure> {
    let spi = command.spi;
    gate(&key).take(&command.budget)?;
    if key.read(spi)?.is_some() && !key.lock(spi, &statements::TRY_LOCK_LEASE) {
        command
            .budget
            .wait(|| key.lock(spi, &statements::LOCK_LEASE))?;
    }
    let before = key.read(spi)?;
    if let Some(before) = &before {
        let end = match before.standing() {
            Standing::Held(_) => Some(End {
                word: "stolen",
                at: before.now(),
                reason: Some(reason),
            }),
            _ => End::of(before),
        };
        if let Some(end) = end {
            log_end(spi, key, before, &end)?;
        }
    }
    let granted = grant(spi, key, before.as_ref(), wanted)?;
    Ok(of(granted, wanted.ttl_ms))
}
