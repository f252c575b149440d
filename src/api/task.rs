//! `wf_task_claim`, `wf_task_release`, `wf_task_assign`, `wf_task_delegate`, `wf_task_transfer`: who
//! holds a task until it is decided.

use uuid::Uuid;
use workflow_core::decide::{self, Ended, Handover, Plan};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::Position;

use crate::api::answer;
use crate::api::decide::{find_task, known_end};
use crate::engine::command::{self, Command, Common, checked};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::instance::{self, Approach, Effect, InProgress, Moved};
use crate::engine::request::Fingerprint;
use crate::engine::world::ServerWorld;
use crate::engine::write::{self, LogEntry, Remarks};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::{Time, Value};
use crate::store::definitions::Published;
use crate::store::{InstanceRow, statements};

/// A claim longer than this is an assignment.
const MAX_LEASE_MS: i32 = 7 * 24 * 3600 * 1000;

impl Effect for Handover {
    fn plan(&self) -> Option<&Plan> {
        None
    }

    fn writes(&self) -> bool {
        *self != Handover::Unchanged
    }
}

/// One of the functions of this file.
struct Verb<'a> {
    /// Its SQL name.
    name: &'static str,
    /// Its word in the task log.
    step: &'static str,
    /// The person it names.
    to: Option<&'a str>,
    /// For how long the holder has the task; `None`: until released.
    lease_ms: Option<i32>,
}

/// `wf_task_claim`
pub fn claim(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_task_claim");
    let task = call.uuid("task").required()?;
    let lease_ms = call.int("lease_ms").optional();
    if lease_ms.is_some_and(|lease| !(1..=MAX_LEASE_MS).contains(&lease)) {
        return Err(Report::invalid(format!(
            "lease_ms must be between 1 and {MAX_LEASE_MS}"
        )));
    }
    let verb = Verb {
        name: "wf_task_claim",
        step: "claim",
        to: None,
        lease_ms,
    };
    run(call, task, &verb, |definition, row, ended, world| {
        let machine = &definition.machine;
        Ok(decide::claim(
            machine,
            &row.instance,
            task,
            ended,
            lease_ms.is_some(),
            world,
        )?)
    })
}

/// `wf_task_release`
pub fn release(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_task_release");
    let task = call.uuid("task").required()?;
    let verb = Verb {
        name: "wf_task_release",
        step: "release",
        to: None,
        lease_ms: None,
    };
    run(call, task, &verb, |_, row, ended, world| {
        Ok(decide::release(&row.instance, task, ended, world)?)
    })
}

/// `wf_task_assign`
pub fn assign(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_task_assign");
    let task = call.uuid("task").required()?;
    let to = checked("assignee", call.text("assignee")?.required()?)?;
    let verb = Verb {
        name: "wf_task_assign",
        step: "assign",
        to: Some(&to),
        lease_ms: None,
    };
    run(call, task, &verb, |_, row, ended, world| {
        Ok(decide::assign(&row.instance, task, ended, &to, world)?)
    })
}

/// `wf_task_delegate`
pub fn delegate(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_task_delegate");
    let task = call.uuid("task").required()?;
    let to = checked("to_actor", call.text("to_actor")?.required()?)?;
    let verb = Verb {
        name: "wf_task_delegate",
        step: "delegate",
        to: Some(&to),
        lease_ms: None,
    };
    run(call, task, &verb, |definition, row, ended, world| {
        Ok(decide::delegate(
            &definition.machine,
            &row.instance,
            task,
            ended,
            &to,
            world,
        )?)
    })
}

/// `wf_task_transfer`
pub fn transfer(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_task_transfer");
    let task = call.uuid("task").required()?;
    let to = checked("to_actor", call.text("to_actor")?.required()?)?;
    let verb = Verb {
        name: "wf_task_transfer",
        step: "transfer",
        to: Some(&to),
        lease_ms: None,
    };
    run(call, task, &verb, |definition, row, ended, world| {
        Ok(decide::transfer(
            &definition.machine,
            &row.instance,
            task,
            ended,
            &to,
            world,
        )?)
    })
}

fn run(
    call: &Call,
    task: Uuid,
    verb: &Verb<'_>,
    mut decide: impl FnMut(
        &Published,
        &InstanceRow,
        Option<&Ended>,
        &mut ServerWorld<'_>,
    ) -> Result<Handover, Failure>,
) -> Result<Answer, Report> {
    let common = Common::read(verb.name, call, None, None)?;
    let outcome = command::run(common, Fingerprint::new(verb.name), |command| {
        let (id, _) = find_task(command, task)?;
        let _progress = InProgress::enter(id)?;
        let approach = Approach {
            mode: None,
            expected: Position::default(),
        };
        let moved = instance::change(command, id, &approach, None, |definition, row, world| {
            let (_, ended) = find_task(command, task)?;
            decide(definition, row, known_end(ended, row).as_ref(), world)
        })?;
        finish(command, &moved, task, verb)
    })?;
    Ok(answer::outcome(outcome))
}

fn finish(
    command: &Command<'_>,
    moved: &Moved<Handover>,
    task: Uuid,
    verb: &Verb<'_>,
) -> Result<Outcome, Failure> {
    let Moved {
        before,
        decision,
        attempts,
        ..
    } = moved;
    let instance = &before.instance;
    if let Handover::To(holding) = decision {
        let held = command.spi.run(
            &statements::HOLD_TASK,
            &[
                command.tenant(),
                Value::Uuid(task),
                Value::optional(holding.holder.as_deref(), Value::Text),
                Value::optional(holding.delegated_by.as_deref(), Value::Text),
                Value::optional(verb.lease_ms, Value::Int),
                Value::Bool(holding.claimed),
            ],
        );
        if held.count() != 1 {
            return Err(trigger_interfered(
                "a trigger kept a task from changing hands",
            ));
        }
        let own = instance.tasks.iter().find(|own| own.id == task);
        // Who hands on what was delegated to them acts for the delegator.
        let actor = command.caller.actor.as_str();
        let entrusted = own.filter(|own| own.holder.as_deref() == Some(actor));
        let entry = LogEntry {
            step: verb.step,
            task,
            seat: own.map_or("", |own| own.seat.as_str()),
            event: None,
            in_favour: None,
            on_behalf_of: entrusted.and_then(|own| own.delegated_by.as_deref()),
            to_actor: verb.to.or(holding.holder.as_deref()),
        };
        write::log_work(command, before, &entry, Remarks::default(), Time::now())?;
    }
    Ok(Outcome {
        applied: true,
        instance_id: Some(instance.id),
        application_id: Some(instance.application_id),
        state: Some(instance.state.clone()),
        revision: Some(instance.revision),
        material_version: Some(instance.material_version),
        attempts: *attempts,
        ..Outcome::default()
    })
}
