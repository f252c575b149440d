//! Timers of `after`: set on the entry into a state, and fired once when they are due.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;
use workflow_core::decide::{self, Due, Plan};
use workflow_core::definition::{Delay, LockMode, State};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::Refusal;

use crate::engine::clock;
use crate::engine::command::{self, Command};
use crate::engine::delivery::remove;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::identity::Caller;
use crate::engine::instance::{self, Approach, Effect, InProgress};
use crate::engine::work::rescue;
use crate::engine::worker::{Place, Progress};
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::backend;
use crate::pg::report::{self, Report};
use crate::pg::spi::Spi;
use crate::pg::subtransaction::{self, Caught};
use crate::pg::value::{Time, Value};
use crate::settings;
use crate::store::statements;

/// Sets the timers of the state a plan comes to rest in.
pub fn set(command: &Command<'_>, scene: &Scene<'_>, plan: &Plan) -> Result<(), Failure> {
    let rest = &scene.definition.machine.states[plan.rest()];
    let entered = plan.entered_revision.unwrap_or(plan.revision);
    set_all(command, scene.instance, rest, entered, scene.at)
}

/// What an instance rests on has changed (new material, a fact, a seat) while its state stays: its
/// timers begin anew if the state says so; else those that failed are tried again at once.
pub fn refresh(
    command: &Command<'_>,
    scene: &Scene<'_>,
    state: &State,
    entered_revision: i64,
) -> Result<(), Failure> {
    if state.after.is_empty() {
        return Ok(());
    }
    let visit = [
        command.tenant(),
        Value::Uuid(scene.instance),
        Value::Bigint(entered_revision),
    ];
    if !state.restart {
        command.spi.run(&statements::REVIVE_TIMERS, &visit);
        return Ok(());
    }
    command.spi.run(&statements::CLEAR_TIMERS, &visit);
    set_all(command, scene.instance, state, entered_revision, scene.at)?;
    if let (true, Some(due)) = (state.timer("after.due").is_some(), due(state)) {
        command.spi.run(
            &statements::RESTART_DUE,
            &[
                command.tenant(),
                Value::Uuid(scene.instance),
                Value::Time(clock::at(scene.at)?),
                Value::Text(due),
            ],
        );
    }
    Ok(())
}

/// The visit goes on in another version of the state, whose timers count from now.
pub fn replace(
    command: &Command<'_>,
    scene: &Scene<'_>,
    state: &State,
    entered_revision: i64,
) -> Result<(), Failure> {
    let visit = [
        command.tenant(),
        Value::Uuid(scene.instance),
        Value::Bigint(entered_revision),
    ];
    command.spi.run(&statements::CLEAR_TIMERS, &visit);
    set_all(command, scene.instance, state, entered_revision, scene.at)
}

fn due(state: &State) -> Option<&str> {
    state.task.as_ref()?.due.as_deref()
}

fn set_all(
    command: &Command<'_>,
    instance: Uuid,
    state: &State,
    entered_revision: i64,
    at: Time,
) -> Result<(), Failure> {
    if state.after.is_empty() || state.is_final {
        return Ok(());
    }
    let at = clock::at(at)?;
    for timer in &state.after {
        let delay = match &timer.delay {
            Delay::Span(span) => span,
            Delay::Due => match due(state) {
                Some(due) => due,
                None => continue,
            },
        };
        let inserted = command.spi.run(
            &statements::INSERT_TIMER,
            &[
                command.tenant(),
                Value::Uuid(instance),
                Value::Bigint(entered_revision),
                Value::Text(&timer.event),
                Value::Time(at),
                Value::Text(delay),
            ],
        );
        if inserted.count() != 1 {
            return Err(trigger_interfered("a trigger kept a timer out"));
        }
    }
    Ok(())
}

/// Fires what is due in the next tenant that has something due: a job of the background worker.
pub fn run_next_tenant(spi: &Spi, place: &mut Place) -> Result<Progress, Failure> {
    let now = clock::now()?;
    let next = [Value::Text(&place.tenant), Value::Time(now)];
    let Some(row) = spi.one(&statements::NEXT_TENANT_DUE, &next) else {
        let again = std::mem::take(place).again;
        return Ok(if again {
            Progress::More
        } else {
            Progress::Done
        });
    };
    place.tenant = row.text(0)?;
    let limit = settings::worker_batch();
    let caller = Caller::timer(place.tenant.clone(), backend::session_role());
    let outcomes = run_due(&caller, spi, limit)?;
    place.again |= outcomes.len() as i32 >= limit;
    Ok(Progress::More)
}

/// A timer that was found due.
struct Timer {
    instance: Uuid,
    entered_revision: i64,
    event: String,
    next_at: Time,
}

impl Timer {
    fn key<'a>(&'a self, tenant: &'a str) -> [Value<'a>; 4] {
        [
            Value::Text(tenant),
            Value::Uuid(self.instance),
            Value::Bigint(self.entered_revision),
            Value::Text(&self.event),
        ]
    }
}

impl Effect for Due {
    fn plan(&self) -> Option<&Plan> {
        match self {
            Due::Over => None,
            Due::Fires(plan) => Some(plan),
        }
    }

    fn writes(&self) -> bool {
        matches!(self, Due::Fires(_))
    }
}

/// Stale timers that are removed for each one that may fire: they cost a row and nothing else.
const SWEPT_PER_ROW: i32 = 10;

/// Fires timers of a tenant that are due, and removes those whose visit is over; sees to events that
/// nobody waits for. Never waits.
pub fn run_due(caller: &Caller, spi: &Spi, limit: i32) -> Result<Vec<Outcome>, Failure> {
    let now = clock::now()?;
    let command = Command::unattended("wf_run_due", spi, caller.as_timer());
    let mut outcomes = Vec::new();
    let mut last = Timer {
        instance: Uuid::nil(),
        entered_revision: 0,
        event: String::new(),
        next_at: Time::BEGINNING,
    };
    // Those that others have locked must not keep the ones behind them waiting.
    while (outcomes.len() as i32) < limit {
        let timers = pick(&command, now, limit - outcomes.len() as i32, &last)?;
        for timer in &timers {
            outcomes.extend(run_one(&command, timer, now)?);
        }
        match timers.into_iter().last() {
            Some(timer) => last = timer,
            None => break,
        }
    }
    outcomes.extend(rescue::run(&command, limit)?.1);
    let sweep = limit.saturating_mul(SWEPT_PER_ROW);
    spi.run(
        &statements::SWEEP_TIMERS,
        &[command.tenant(), Value::Time(now), Value::Int(sweep)],
    );
    remove::upkeep(&command)?;
    Ok(outcomes)
}

fn pick(command: &Command<'_>, now: Time, limit: i32, after: &Timer) -> Result<Vec<Timer>, Report> {
    let picked = command.spi.run(
        &statements::DUE_TIMERS,
        &[
            command.tenant(),
            Value::Time(now),
            Value::Int(limit),
            Value::Time(after.next_at),
            Value::Uuid(after.instance),
            Value::Bigint(after.entered_revision),
            Value::Text(&after.event),
        ],
    );
    let timers = picked.rows().map(|row| {
        Ok(Timer {
            instance: row.uuid(0)?,
            entered_revision: row.bigint(1)?,
            event: row.text(2)?,
            next_at: row.time(3)?,
        })
    });
    timers.collect()
}

/// `None` if the timer is somebody else's now, or its visit is over.
fn run_one(command: &Command<'_>, timer: &Timer, now: Time) -> Result<Option<Outcome>, Failure> {
    // A trigger of the user's may call us while its instance is being moved.
    let Ok(_progress) = InProgress::enter(timer.instance) else {
        return Ok(None);
    };
    let spi = command.spi;
    let instance = [command.tenant(), Value::Uuid(timer.instance)];
    if spi.run(&statements::TRY_LOCK_INSTANCE, &instance).count() == 0 {
        return Ok(None);
    }
    let [tenant, id, entered, event] = timer.key(&command.caller.tenant);
    let due = [tenant, id, entered, event, Value::Time(now)];
    let Some(row) = spi.one(&statements::LOCK_TIMER, &due) else {
        return Ok(None);
    };
    let attempts = row.int(0)?;
    match subtransaction::isolate(|| fire(command, timer)) {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(Failure::Refused(refusal))) => refused(command, timer, attempts, now, &refusal),
        Ok(Err(Failure::Error(report))) => {
            let caught = Caught {
                code: report.state.as_str().to_owned(),
                message: report.message,
            };
            failed(command, timer, attempts, now, &caught).map(Some)
        }
        Err(caught) => failed(command, timer, attempts, now, &caught).map(Some),
    }
}

/// Takes the edge of a timer that is ours, and removes it.
fn fire(command: &Command<'_>, timer: &Timer) -> Result<Option<Outcome>, Failure> {
    let approach = Approach {
        mode: Some(LockMode::Pessimistic),
        expected: Default::default(),
    };
    let moved = instance::change(
        command,
        timer.instance,
        &approach,
        None,
        |definition, row, world| {
            let due = decide::Timer {
                event: &timer.event,
                entered_revision: timer.entered_revision,
            };
            let entered = row.entered_revision;
            Ok(decide::fire(
                &definition.machine,
                &row.instance,
                entered,
                &due,
                world,
            )?)
        },
    )?;
    remove(command, timer)?;
    let Due::Fires(plan) = &moved.decision else {
        return Ok(None);
    };
    let scene = Scene::of(&moved.before, &moved.definition);
    let reason = format!("the state was left by {}", timer.event);
    let ending = Ending {
        status: "SUPERSEDED",
        reason: &reason,
        seat: None,
    };
    write::close_tasks(command, &scene, &ending, moved.before.instance.open_tasks())?;
    write::record(command, &scene, plan, Remarks::default())?;
    let task_ids = write::open_tasks(command, &scene, plan)?;
    Ok(Some(scene.outcome(plan, task_ids, moved.attempts)))
}

fn remove(command: &Command<'_>, timer: &Timer) -> Result<(), Failure> {
    let key = timer.key(&command.caller.tenant);
    if command.spi.run(&statements::DELETE_TIMER, &key).count() != 1 {
        return Err(trigger_interfered(
            "a trigger kept a timer from being removed",
        ));
    }
    Ok(())
}

/// All guards false: it has had its turn. Unknown: the data may come.
fn refused(
    command: &Command<'_>,
    timer: &Timer,
    attempts: i32,
    now: Time,
    refusal: &Refusal,
) -> Result<Option<Outcome>, Failure> {
    command::keep_refusal(command, refusal)?;
    let mut outcome = Outcome::refused(refusal);
    outcome.event = Some(timer.event.clone());
    if refusal
        .extra
        .get("verdict")
        .is_some_and(|verdict| verdict == "false")
    {
        remove(command, timer)?;
        outcome.attempts = attempts + 1;
        return Ok(Some(outcome));
    }
    put_off(
        command,
        timer,
        attempts,
        now,
        &refusal.error_message(),
        &mut outcome,
    )?;
    Ok(Some(outcome))
}

fn failed(
    command: &Command<'_>,
    timer: &Timer,
    attempts: i32,
    now: Time,
    caught: &Caught,
) -> Result<Outcome, Failure> {
    let row = instance::read(command, timer.instance)?.0;
    let mut outcome = Outcome {
        code: Some(caught.code.clone()),
        reason: Some("failed".to_owned()),
        instance_id: Some(timer.instance),
        application_id: Some(row.instance.application_id),
        state: Some(row.instance.state),
        revision: Some(row.instance.revision),
        material_version: Some(row.instance.material_version),
        event: Some(timer.event.clone()),
        detail: Some(json!({"message": caught.message})),
        ..Outcome::default()
    };
    put_off(command, timer, attempts, now, &caught.message, &mut outcome)?;
    let line = json!({
        "command": command.name,
        "tenant": command.caller.tenant,
        "instance_id": timer.instance.to_string(),
        "event": timer.event,
        "code": caught.code,
        "message": caught.message,
        "attempts": outcome.attempts,
    });
    report::log(&format!("workflow timer failed: {line}"));
    Ok(outcome)
}

/// Twice as long after each failure, from ten seconds to a day.
fn put_off(
    command: &Command<'_>,
    timer: &Timer,
    attempts: i32,
    now: Time,
    error: &str,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let attempts = attempts.saturating_add(1);
    let delay = backoff(attempts);
    let [tenant, id, entered, event] = timer.key(&command.caller.tenant);
    let failed = command.spi.run(
        &statements::FAIL_TIMER,
        &[
            tenant,
            id,
            entered,
            event,
            Value::Int(attempts),
            Value::Time(now.after(delay)),
            Value::Text(error),
        ],
    );
    if failed.count() != 1 {
        return Err(trigger_interfered(
            "a trigger kept a timer from being written",
        ));
    }
    outcome.attempts = attempts;
    outcome.retryable = true;
    if let Some(detail) = &mut outcome.detail {
        detail["retryable"] = true.into();
    }
    outcome.retry_after_ms = Some(delay.as_millis() as i32);
    Ok(())
}

fn backoff(attempts: i32) -> Duration {
    const FIRST: u64 = 10;
    const DAY: u64 = 86_400;
    let doubled = FIRST << (attempts - 1).clamp(0, 20);
    Duration::from_secs(doubled.min(DAY))
}
