//! Carries out a plan: the conditional update first, then what goes with it.

use uuid::Uuid;
use workflow_core::decide::{Plan, Step};
use workflow_core::definition::Decision;

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::pg::value::{Jsonb, Time, Value};
use crate::settings;
use crate::store::definitions::Published;
use crate::store::{InstanceRow, statements};

/// What the caller said along with a command.
#[derive(Clone, Copy, Default)]
pub struct Remarks<'a> {
    /// For people who read the history.
    pub comment: Option<&'a str>,
    /// For guards, the history and the outbox.
    pub payload: Option<&'a Jsonb>,
}

/// The conditional update. False if the row is held by somebody else, or no longer as it was read.
pub fn move_instance(
    command: &Command<'_>,
    definition: &Published,
    before: &InstanceRow,
    plan: &Plan,
    material_version: i32,
) -> bool {
    let instance = &before.instance;
    let rest = &definition.machine.states[plan.rest()];
    let entered = plan.entered_revision.unwrap_or(before.entered_revision);
    let moved = command.spi.run(
        &statements::MOVE_INSTANCE,
        &[
            command.tenant(),
            Value::Uuid(instance.id),
            Value::Text(&instance.state),
            Value::Bigint(instance.revision),
            Value::Int(instance.material_version),
            Value::Bigint(before.work),
            Value::Text(&rest.name),
            Value::Bigint(plan.revision),
            Value::Int(plan.round),
            Value::Int(material_version),
            Value::Bool(rest.is_final),
            Value::Bigint(entered),
        ],
    );
    moved.count() == 1
}

/// Where a plan is carried out.
pub struct Scene<'a> {
    /// The instance.
    pub instance: Uuid,
    /// Its application.
    pub application: Uuid,
    /// Its definition.
    pub definition: &'a Published,
    /// The material now in force for it.
    pub material_version: i32,
    /// Revision before the plan.
    pub revision: i64,
    /// Clock time, taken under the lock.
    pub at: Time,
}

/// Closes the open tasks of an instance whose row is ours; gives their ids.
pub fn close_tasks(
    command: &Command<'_>,
    scene: &Scene<'_>,
    closing: &Closing<'_>,
) -> Result<Vec<Uuid>, Failure> {
    let (status, reason, decision) = match closing {
        Closing::Decided { event } => ("COMPLETED", None, Some(*event)),
        Closing::Outdated { reason } => ("SUPERSEDED", Some(*reason), None),
    };
    let decided_by = decision.map(|_| command.caller.actor.as_str());
    let closed = command.spi.run(
        &statements::CLOSE_TASKS,
        &[
            command.tenant(),
            Value::Uuid(scene.instance),
            Value::Text(status),
            Value::Bigint(scene.revision + 1),
            Value::Time(scene.at),
            Value::optional(reason, Value::Text),
            Value::optional(decision, Value::Text),
            Value::optional(decided_by, Value::Text),
        ],
    );
    closed.rows().map(|row| Ok(row.uuid(0)?)).collect()
}

/// How tasks end.
pub enum Closing<'a> {
    /// By the verdict of their seat.
    Decided {
        /// The verdict's event.
        event: &'a str,
    },
    /// By something else.
    Outdated {
        /// Why, for people.
        reason: &'a str,
    },
}

/// Writes the history and outbox rows of a plan.
pub fn record(
    command: &Command<'_>,
    scene: &Scene<'_>,
    plan: &Plan,
    task: Option<Uuid>,
    remarks: Remarks<'_>,
) -> Result<(), Failure> {
    for (index, step) in plan.steps.iter().enumerate() {
        let revision = scene.revision + 1 + index as i64;
        // What the caller said belongs to the step the caller asked for.
        let said = if index == 0 {
            remarks
        } else {
            Remarks::default()
        };
        let task = task.filter(|_| index == 0);
        record_step(command, scene, step, revision, task, said)?;
    }
    Ok(())
}

fn record_step(
    command: &Command<'_>,
    scene: &Scene<'_>,
    step: &Step,
    revision: i64,
    task: Option<Uuid>,
    remarks: Remarks<'_>,
) -> Result<(), Failure> {
    let states = &scene.definition.machine.states;
    let from_state = Value::optional(step.from, |from| Value::Text(&states[from].name));
    let to_state = Value::Text(&states[step.to].name);
    let event = Value::optional(step.event.as_deref(), Value::Text);
    let decision = Value::optional(step.decision.map(Decision::as_str), Value::Text);
    let payload = Value::optional(remarks.payload, Value::Jsonb);
    let written = command.spi.run(
        &statements::INSERT_HISTORY,
        &[
            command.tenant(),
            Value::Uuid(scene.instance),
            Value::Bigint(revision),
            Value::Text(step.kind.as_str()),
            from_state.clone(),
            to_state.clone(),
            event.clone(),
            decision.clone(),
            Value::Int(step.round),
            Value::Int(scene.material_version),
            Value::Int(scene.definition.version),
            Value::optional(task, Value::Uuid),
            Value::Text(&command.caller.actor),
            Value::Text(command.caller.proof),
            Value::optional(remarks.comment, Value::Text),
            payload.clone(),
            command.request_key(),
            Value::Time(scene.at),
        ],
    );
    if written.count() != 1 {
        return Err(trigger_interfered("a trigger kept a history row out"));
    }
    if !step.publish {
        return Ok(());
    }
    let trace = settings::traceparent();
    let published = command.spi.run(
        &statements::INSERT_OUTBOX,
        &[
            command.tenant(),
            Value::Uuid(Uuid::now_v7()),
            Value::Text(&scene.definition.name),
            Value::Uuid(scene.instance),
            Value::Text(step.event.as_deref().unwrap_or(step.kind.as_str())),
            Value::Uuid(scene.application),
            Value::Int(scene.definition.version),
            Value::Bigint(revision),
            Value::Text(step.kind.as_str()),
            event,
            from_state,
            to_state,
            decision,
            Value::Int(step.round),
            Value::Int(scene.material_version),
            Value::Text(&command.caller.actor),
            payload,
            Value::Time(scene.at),
            Value::optional(trace.as_deref(), Value::Text),
        ],
    );
    if published.count() != 1 {
        return Err(trigger_interfered("a trigger kept an outbox row out"));
    }
    Ok(())
}

/// Opens the tasks of the state a plan comes to rest in; gives their ids.
pub fn open_tasks(
    command: &Command<'_>,
    scene: &Scene<'_>,
    plan: &Plan,
) -> Result<Vec<Uuid>, Failure> {
    let rest = &scene.definition.machine.states[plan.rest()];
    let mut ids = Vec::new();
    for seat in rest.task.iter().flat_map(|task| &task.seats) {
        let id = Uuid::now_v7();
        let opened = command.spi.run(
            &statements::INSERT_TASK,
            &[
                command.tenant(),
                Value::Uuid(id),
                Value::Uuid(scene.instance),
                Value::Text(&seat.name),
                Value::Text(&rest.name),
                Value::Int(plan.round),
                Value::Int(scene.material_version),
                Value::Texts(&seat.roles),
                Value::Bigint(plan.revision),
                Value::Time(scene.at),
            ],
        );
        if opened.count() != 1 {
            return Err(trigger_interfered("a trigger kept a task out"));
        }
        ids.push(id);
    }
    Ok(ids)
}
