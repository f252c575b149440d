//! Work whose worker has let its lease run out, and work that has been tried too often.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;
use workflow_core::decide::{self, Plan};
use workflow_core::definition::{LockMode, Retry};
use workflow_core::lease::Standing;
use workflow_core::outcome::Outcome;

use super::{Fate, Item};
use crate::engine::command::{self, Command};
use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::engine::instance::{self, Approach, InProgress};
use crate::engine::lease::check::Presented;
use crate::engine::worker::{Place, Progress};
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::backend;
use crate::pg::report::{self, Report};
use crate::pg::spi::Spi;
use crate::pg::subtransaction::{self, Caught};
use crate::pg::value::{Time, Value};
use crate::settings;
use crate::store::definitions::Published;
use crate::store::{InstanceRow, statements};

/// What is said of an attempt that nobody ended.
const RAN_OUT: &str = "the lease ran out";

/// An item that was found in work after the end of its lease.
pub struct Expired {
    /// Its instance.
    pub instance: Uuid,
    /// Its fence.
    pub fence: i64,
}

/// The command of time itself, on the way of another one.
pub fn as_timer<'a>(command: &Command<'a>) -> Command<'a> {
    Command::unattended(command.name, command.spi, command.caller.as_timer())
}

/// Rescues work in the next tenant that has some: a job of the background worker.
pub fn run_next_tenant(spi: &Spi, place: &mut Place) -> Result<Progress, Failure> {
    let next = [Value::Text(&place.tenant), Value::Time(Time::now())];
    let Some(row) = spi.one(&statements::NEXT_TENANT_EXPIRED, &next) else {
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
    let limit = settings::worker_batch();
    let (seen, _) = run(&command, limit)?;
    place.again |= seen >= limit;
    Ok(Progress::More)
}

/// Rescues up to so many items of a tenant: each goes back into its queue, or is exhausted. Never
/// waits. Gives how many were seen to, and what has moved.
pub fn run(command: &Command<'_>, limit: i32) -> Result<(i32, Vec<Outcome>), Failure> {
    let now = Time::now();
    let mut outcomes = Vec::new();
    let mut last = (Time::BEFORE_ALL, Uuid::nil());
    let mut seen = 0;
    // Those that others have locked must not keep the ones behind them waiting.
    while seen < limit {
        let found = command.spi.run(
            &statements::EXPIRED_WORK,
            &[
                command.tenant(),
                Value::Time(now),
                Value::Time(last.0),
                Value::Uuid(last.1),
                Value::Int(limit - seen),
            ],
        );
        let mut items = Vec::new();
        for row in found.rows() {
            last = (row.time(2)?, row.uuid(0)?);
            items.push(Expired {
                instance: row.uuid(0)?,
                fence: row.bigint(1)?,
            });
        }
        if items.is_empty() {
            break;
        }
        seen += items.len() as i32;
        for item in &items {
            outcomes.extend(rescue(command, item)?);
        }
    }
    Ok((seen, outcomes))
}

/// Rescues one item, if it still is as it was found. Gives an outcome if that exhausts it.
pub fn rescue(command: &Command<'_>, expired: &Expired) -> Result<Option<Outcome>, Failure> {
    let Ok(_progress) = InProgress::enter(expired.instance) else {
        return Ok(None);
    };
    let spi = command.spi;
    let presented = Presented {
        key: super::lease_key(expired.instance),
        fence: expired.fence,
    };
    let lease_key = presented.key(&command.caller.tenant);
    let instance = [command.tenant(), Value::Uuid(expired.instance)];
    let item = [
        command.tenant(),
        Value::Uuid(expired.instance),
        Value::Bigint(expired.fence),
    ];
    let is_ours = lease_key.lock(spi, &statements::TRY_LOCK_LEASE)
        && spi.run(&statements::TRY_LOCK_WORK, &item).count() > 0
        && spi.run(&statements::TRY_LOCK_INSTANCE, &instance).count() > 0;
    if !is_ours {
        return Ok(None);
    }
    // What it says now stands: whether it is in work under the same fence, and not prolonged.
    let Some(item) = Item::read(command, expired.instance, expired.fence)? else {
        return Ok(None);
    };
    if item.available_at > Time::now() {
        return Ok(None);
    }
    let lease = lease_key.read(spi)?;
    let lease = lease.filter(|lease| lease.fence == expired.fence);
    if let Some(lease) = lease
        && let Standing::Held(_) = lease.standing()
    {
        item.postpone(command, lease.ends_at())?;
        return Ok(None);
    }
    let (row, definition) = instance::read(command, expired.instance)?;
    if is_over(&row, &item) {
        item.remove(command)?;
        return Ok(None);
    }
    let attempts = counted(&row, &item);
    let retry = retry_of(&definition, &item);
    if !retry.is_exhausted(attempts) {
        let fate = Fate {
            attempts,
            available_at: item.available_at,
            error: Some(RAN_OUT),
            exhausted_at: None,
            exhausted_revision: None,
        };
        item.settle(command, &fate)?;
        return Ok(None);
    }
    let done = subtransaction::isolate(|| exhaust(command, &item, &retry, RAN_OUT, None));
    let caught = match done {
        Ok(Ok(outcome)) => return Ok(Some(outcome)),
        Ok(Err(Failure::Refused(refusal))) => {
            command::keep_refusal(command, &refusal)?;
            Caught {
                code: refusal.reason.entry().code.as_str().to_owned(),
                message: refusal.error_message(),
            }
        }
        Ok(Err(Failure::Error(report))) => told(report),
        Err(caught) => caught,
    };
    put_off(command, &item, &retry, &caught)?;
    Ok(None)
}

fn told(report: Report) -> Caught {
    Caught {
        code: report.state.as_str().to_owned(),
        message: report.message,
    }
}

/// It could not be taken to the state for exhausted work, and that is tried again later.
fn put_off(
    command: &Command<'_>,
    item: &Item,
    retry: &Retry,
    caught: &Caught,
) -> Result<(), Failure> {
    let delay = Duration::from_millis(retry.delay_ms(item.attempt, backend::jitter()).max(10_000));
    item.postpone(command, Time::now().after(delay))?;
    let line = json!({
        "command": command.name,
        "tenant": command.caller.tenant,
        "instance_id": item.instance.to_string(),
        "code": caught.code,
        "message": caught.message,
    });
    report::log(&format!("workflow work failed: {line}"));
    Ok(())
}

/// Whether the visit that the item belongs to is over.
pub fn is_over(row: &InstanceRow, item: &Item) -> bool {
    row.instance.closed || row.entered_revision != item.taken.entered_revision
}

/// Attempts that count: with new material they count anew.
pub fn counted(row: &InstanceRow, item: &Item) -> i32 {
    if row.instance.material_version == item.taken.material_version {
        item.attempt
    } else {
        0
    }
}

/// How the state goes about work that failed.
pub fn retry_of(definition: &Published, item: &Item) -> Retry {
    let machine = &definition.machine;
    let state = machine.state(&item.taken.state);
    let retry = state.and_then(|state| machine.states[state].retry.clone());
    retry.unwrap_or_default()
}

/// The attempts are used up: the instance goes to the state for that, if there is one. Its row is
/// ours, and so is the item.
pub fn exhaust(
    command: &Command<'_>,
    item: &Item,
    retry: &Retry,
    error: &str,
    lease: Option<&Presented>,
) -> Result<Outcome, Failure> {
    let mut fate = Fate {
        attempts: item.attempt,
        available_at: Time::INFINITY,
        error: Some(error),
        exhausted_at: Some(Time::now()),
        exhausted_revision: None,
    };
    let mut outcome = match retry.exhausted {
        Some(target) => {
            let (outcome, plan) = move_to(command, item, target, lease)?;
            fate.exhausted_revision = plan.entered_revision;
            outcome
        }
        None => {
            let (row, _) = instance::read(command, item.instance)?;
            standing(&row)
        }
    };
    item.settle(command, &fate)?;
    outcome.attempts = item.attempt;
    outcome.detail = Some(json!({"attempt": item.attempt, "exhausted": true}));
    Ok(outcome)
}

/// An instance that stays as it is.
pub fn standing(row: &InstanceRow) -> Outcome {
    Outcome {
        applied: true,
        instance_id: Some(row.instance.id),
        application_id: Some(row.instance.application_id),
        state: Some(row.instance.state.clone()),
        revision: Some(row.instance.revision),
        material_version: Some(row.instance.material_version),
        attempts: 1,
        ..Outcome::default()
    }
}

fn move_to(
    command: &Command<'_>,
    item: &Item,
    target: usize,
    lease: Option<&Presented>,
) -> Result<(Outcome, Plan), Failure> {
    let approach = Approach {
        mode: Some(LockMode::Pessimistic),
        expected: Default::default(),
    };
    let moved = instance::change(
        command,
        item.instance,
        &approach,
        None,
        |definition, row, world| {
            let machine = &definition.machine;
            let from = machine
                .state(&row.instance.state)
                .expect("a state that has work");
            let plan = decide::exhaust(machine, &row.instance, from, target, world)?;
            Ok(plan)
        },
    )?;
    let scene = Scene::of(&moved.before, &moved.definition);
    let ending = Ending {
        status: "SUPERSEDED",
        reason: "the attempts of its work are used up",
        seat: None,
    };
    write::close_tasks(command, &scene, &ending, moved.before.instance.open_tasks())?;
    let remarks = Remarks {
        lease,
        ..Remarks::default()
    };
    write::record(command, &scene, &moved.decision, remarks)?;
    let task_ids = write::open_tasks(command, &scene, &moved.decision)?;
    let outcome = scene.outcome(&moved.decision, task_ids, moved.attempts);
    Ok((outcome, moved.decision))
}
