//! What a worker does with what it has taken. The fence says that it still has it.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;
use workflow_core::decide::Lease as Answer;
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Reason, Refusal};

use super::rescue::{counted, exhaust, is_over, retry_of, standing};
use super::{Fate, Item, lease_key};
use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::engine::instance;
use crate::engine::lease::check::Presented;
use crate::engine::lease::{self, holder};
use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::value::{Time, Value};
use crate::store::definitions::parse_json;
use crate::store::{InstanceRow, statements};

/// What is presented for an instance's work.
pub fn presented(instance: Uuid, fence: i64) -> Presented {
    Presented {
        key: lease_key(instance),
        fence,
    }
}

/// Takes lease and item, if the lease stands, and gives the item if there is one. A lease that does
/// not stand is for the decision to refuse.
pub fn lock(command: &Command<'_>, instance: Uuid, fence: i64) -> Result<Option<Item>, Failure> {
    let presented = presented(instance, fence);
    if presented.check(command.spi, &command.caller.tenant)? != Answer::Holds {
        return Ok(None);
    }
    holder::lock(command, presented.key(&command.caller.tenant))?;
    let Some(item) = Item::read(command, instance, fence)? else {
        return Ok(None);
    };
    if !item.lock(command, &statements::TRY_LOCK_WORK) {
        command
            .budget
            .wait(|| item.lock(command, &statements::LOCK_WORK))?;
    }
    Ok(Item::read(command, instance, fence)?)
}

/// The same where nothing else is to be refused first.
fn hold(command: &Command<'_>, id: Uuid, fence: i64) -> Result<(Item, InstanceRow), Failure> {
    let (row, _) = instance::read(command, id)?;
    let item = lock(command, id, fence).map_err(|failure| about(failure, &row))?;
    let lost = match presented(id, fence).check(command.spi, &command.caller.tenant)? {
        Answer::Lost(message) => Some(message),
        _ => None,
    };
    match (item, lost) {
        (Some(item), None) => Ok((item, row)),
        (_, lost) => {
            let message = lost.unwrap_or_else(|| "nothing is in work under this fence".to_owned());
            Err(row.instance.refuse(Reason::LeaseLost, message).into())
        }
    }
}

fn about(failure: Failure, row: &InstanceRow) -> Failure {
    match failure {
        Failure::Refused(refusal) if refusal.reason == Reason::Busy => {
            let mut shown = row.instance.refuse(Reason::Busy, refusal.message);
            shown.retry_after_ms = refusal.retry_after_ms;
            shown.attempts = refusal.attempts;
            shown.into()
        }
        other => other,
    }
}

/// Tells a worker that has lost its lease whether it had finished before: it may have missed the
/// answer.
pub fn tell_finished(
    command: &Command<'_>,
    instance: Uuid,
    fence: i64,
    refusal: Box<Refusal>,
) -> Result<Failure, Report> {
    if refusal.reason != Reason::LeaseLost {
        return Ok(refusal.into());
    }
    let key = lease_key(instance);
    let step = [
        command.tenant(),
        Value::Uuid(instance),
        Value::Text(&key),
        Value::Bigint(fence),
    ];
    let refusal = match command.spi.one(&statements::FINISHED_WORK, &step) {
        Some(row) => refusal.with("finished_revision", row.bigint(0)?),
        None => *refusal,
    };
    Ok(refusal.into())
}

/// The work is done, its item and its lease go.
pub fn done(command: &Command<'_>, item: &Item) -> Result<(), Failure> {
    item.remove(command)?;
    release(command, item)
}

fn release(command: &Command<'_>, item: &Item) -> Result<(), Failure> {
    let key = item.lease_of(command);
    if let Some(lease) = key.read(command.spi)? {
        lease::release(command.spi, key, &lease)?;
    }
    Ok(())
}

/// `wf_work_fail`
pub fn fail(command: &Command<'_>, id: Uuid, fence: i64, error: &str) -> Result<Outcome, Failure> {
    let (item, row) = hold(command, id, fence)?;
    instance::lock_known(command, &row)?;
    let (row, definition) = instance::read(command, id)?;
    let outcome = if is_over(&row, &item) {
        item.remove(command)?;
        let mut outcome = standing(&row);
        outcome.detail = Some(json!({"attempt": item.attempt, "over": true}));
        outcome
    } else {
        let attempts = counted(&row, &item);
        let retry = retry_of(&definition, &item);
        if retry.is_exhausted(attempts) {
            exhaust(command, &item, &retry, error, Some(&item.lease))?
        } else {
            // New material is a new chance, at once.
            let delay = match attempts {
                0 => 0,
                attempts => retry.delay_ms(attempts, backend::jitter()),
            };
            again(command, &item, &row, attempts, delay, error)?
        }
    };
    release(command, &item)?;
    Ok(outcome)
}

fn again(
    command: &Command<'_>,
    item: &Item,
    row: &InstanceRow,
    attempts: i32,
    delay_ms: u64,
    error: &str,
) -> Result<Outcome, Failure> {
    let fate = Fate {
        attempts,
        available_at: Time::now().after(Duration::from_millis(delay_ms)),
        error: Some(error),
        exhausted_at: None,
        exhausted_revision: None,
    };
    let available_at = parse_json(&item.settle(command, &fate)?)?;
    let mut outcome = standing(row);
    outcome.attempts = item.attempt;
    outcome.retry_after_ms = Some(i32::try_from(delay_ms).unwrap_or(i32::MAX));
    outcome.detail = Some(json!({
        "attempt": item.attempt, "exhausted": false, "available_at": available_at,
    }));
    Ok(outcome)
}

/// `wf_work_give_back`
pub fn give_back(command: &Command<'_>, id: Uuid, fence: i64) -> Result<Outcome, Failure> {
    let (item, _) = hold(command, id, fence)?;
    let (row, _) = instance::read(command, id)?;
    let mut outcome = standing(&row);
    if is_over(&row, &item) {
        item.remove(command)?;
        outcome.detail = Some(json!({"over": true}));
    } else {
        let fate = Fate {
            attempts: item.attempt - 1,
            available_at: item.waiting_since,
            error: item.error.as_deref(),
            exhausted_at: None,
            exhausted_revision: None,
        };
        item.settle(command, &fate)?;
    }
    release(command, &item)?;
    Ok(outcome)
}

/// `wf_work_extend`
pub fn extend(
    command: &Command<'_>,
    id: Uuid,
    fence: i64,
    lease_ms: i32,
) -> Result<Outcome, Failure> {
    let (item, row) = hold(command, id, fence)?;
    let key = item.lease_of(command);
    let lease = key.read(command.spi)?;
    let lease = lease.ok_or_else(|| Refusal::not_found("lease"))?;
    let expires_at = lease::renew(command.spi, key, &lease, lease_ms)?;
    let until = parse_json(&item.postpone(command, expires_at)?)?;
    let mut outcome = standing(&row);
    outcome.detail = Some(json!({
        "attempt": item.attempt, "expires_at": until, "remaining_ms": lease_ms,
    }));
    Ok(outcome)
}
