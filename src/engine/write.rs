//! Carries out a plan: the conditional update first, then what goes with it.

use uuid::Uuid;
use workflow_core::decide::{Plan, Step, StepKind};
use workflow_core::definition::{Decision, Seat, Task};
use workflow_core::outcome::Outcome;

use crate::engine::clock;
use crate::engine::command::Command;
use crate::engine::event::{self, Circumstances};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::instance::Effect;
use crate::engine::lease::check::Presented;
use crate::engine::resource::{self, Origin};
use crate::engine::timer;
use crate::engine::work::queue;
use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::value::{Address, Jsonb, Time, Value};
use crate::settings;
use crate::store::definitions::Published;
use crate::store::{self, Completion, InstanceRow, Standing, statements};

/// What the caller said along with a command.
#[derive(Clone, Copy, Default)]
pub struct Remarks<'a> {
    /// For people who read the history.
    pub comment: Option<&'a str>,
    /// For guards, the history and the outbox.
    pub payload: Option<&'a Jsonb>,
    /// The task that the command decides.
    pub task: Option<Uuid>,
    /// For whom the actor acts, if not for themselves.
    pub on_behalf_of: Option<&'a str>,
    /// The state that was left, where it is one of another version.
    pub left: Option<&'a str>,
    /// The lease under which it is done.
    pub lease: Option<&'a Presented>,
}

/// The conditional update. False if the row is held by somebody else, or no longer as it was read.
pub fn move_instance(
    command: &Command<'_>,
    definition: &Published,
    before: &InstanceRow,
    decision: &impl Effect,
) -> bool {
    let material_version = before.instance.material_version;
    move_to_material(command, definition, before, decision, material_version)
}

/// The same, to another material.
pub fn move_to_material(
    command: &Command<'_>,
    definition: &Published,
    before: &InstanceRow,
    decision: &impl Effect,
    material_version: i32,
) -> bool {
    let instance = &before.instance;
    let now = match decision.plan() {
        Some(plan) => {
            let rest = &definition.machine.states[plan.rest()];
            Standing {
                state: &rest.name,
                revision: plan.revision,
                round: plan.round,
                material_version,
                closed: rest.is_final || plan.first().kind == StepKind::Cancel,
                entered_revision: plan.entered_revision.unwrap_or(before.entered_revision),
                work: before.work,
            }
        }
        None => Standing {
            state: &instance.state,
            revision: instance.revision,
            round: instance.round,
            material_version,
            closed: instance.closed,
            entered_revision: before.entered_revision,
            work: before.work + 1,
        },
    };
    store::move_instance(command.spi, &command.caller.tenant, before, &now)
}

/// The same into another version of its definition.
pub fn move_to_version(
    command: &Command<'_>,
    to: &Published,
    before: &InstanceRow,
    plan: &Plan,
) -> bool {
    let rest = &to.machine.states[plan.rest()];
    let entered = plan.entered_revision.unwrap_or(before.entered_revision);
    let moved = command.spi.run(
        &statements::MIGRATE_INSTANCE,
        &[
            command.tenant(),
            Value::Uuid(before.instance.id),
            Value::Bigint(before.instance.revision),
            Value::Bigint(before.work),
            Value::Uuid(before.definition_id),
            Value::Uuid(to.id),
            Value::Text(&rest.name),
            Value::Bigint(plan.revision),
            Value::Int(plan.round),
            Value::Bool(rest.is_final),
            Value::Bigint(entered),
        ],
    );
    moved.count() == 1
}

/// Where a plan is carried out.
#[derive(Clone, Copy)]
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

impl<'a> Scene<'a> {
    /// The scene of an instance that has just been moved: its row is ours, so the clock is read now.
    pub fn of(before: &InstanceRow, definition: &'a Published) -> Scene<'a> {
        Scene {
            instance: before.instance.id,
            application: before.instance.application_id,
            definition,
            material_version: before.instance.material_version,
            revision: before.instance.revision,
            at: Time::now(),
        }
    }

    /// The outcome of a plan that was carried out here.
    pub fn outcome(&self, plan: &Plan, task_ids: Vec<Uuid>, attempts: i32) -> Outcome {
        Outcome {
            applied: true,
            instance_id: Some(self.instance),
            application_id: Some(self.application),
            state: Some(self.definition.machine.states[plan.rest()].name.clone()),
            revision: Some(plan.revision),
            material_version: Some(self.material_version),
            event: plan.first().event.clone(),
            task_ids,
            attempts,
            ..Outcome::default()
        }
    }
}

/// The verdict that completes a task.
pub struct Verdict<'a> {
    /// The task.
    pub task: Uuid,
    /// The event.
    pub event: &'a str,
    /// Its counted vote, where several seats speak.
    pub in_favour: Option<bool>,
    /// For whom the actor decides, if not for themselves.
    pub on_behalf_of: Option<&'a str>,
}

/// Completes one open task; `revision` is the one by which it is completed.
pub fn complete_task(
    command: &Command<'_>,
    verdict: &Verdict<'_>,
    revision: i64,
    at: Time,
) -> Result<(), Failure> {
    let completion = Completion {
        event: verdict.event,
        in_favour: verdict.in_favour,
        actor: &command.caller.actor,
        on_behalf_of: verdict.on_behalf_of,
        revision,
        at,
    };
    let (spi, tenant) = (command.spi, &command.caller.tenant);
    if !store::complete_task(spi, tenant, verdict.task, &completion)? {
        return Err(trigger_interfered(
            "a trigger kept a task from being completed",
        ));
    }
    Ok(())
}

/// How tasks end that nobody decided.
pub struct Ending<'a> {
    /// SUPERSEDED or CANCELLED.
    pub status: &'a str,
    /// Why, for people.
    pub reason: &'a str,
    /// Only this seat.
    pub seat: Option<&'a str>,
}

/// Closes open tasks of an instance whose row is ours, of which there are `expected`.
pub fn close_tasks(
    command: &Command<'_>,
    scene: &Scene<'_>,
    ending: &Ending<'_>,
    expected: usize,
) -> Result<(), Failure> {
    if expected == 0 {
        return Ok(());
    }
    let closed = command.spi.run(
        &statements::CLOSE_TASKS,
        &[
            command.tenant(),
            Value::Uuid(scene.instance),
            Value::Text(ending.status),
            Value::Bigint(scene.revision + 1),
            Value::Time(scene.at),
            Value::Text(ending.reason),
            Value::optional(ending.seat, Value::Text),
        ],
    );
    if closed.count() != expected as u64 {
        return Err(trigger_interfered(
            "a trigger kept a task from being closed",
        ));
    }
    Ok(())
}

/// What the server itself knows of the session: the same as the defaults of the columns say, which
/// are dearer to evaluate.
struct Witness {
    session_role: String,
    outer_role: Option<String>,
    application_name: Option<String>,
    client_addr: Option<Address>,
}

impl Witness {
    fn of_session() -> Result<Witness, Report> {
        let (session, outer) = (backend::session_role(), backend::outer_role());
        let set_role = (outer != session).then(|| backend::role_name(outer));
        Ok(Witness {
            session_role: backend::role_name(session)?,
            outer_role: set_role.transpose()?,
            application_name: backend::setting_of_others(c"application_name")?,
            client_addr: Address::of_client(),
        })
    }
}

/// Writes the history and outbox rows of a plan.
pub fn record(
    command: &Command<'_>,
    scene: &Scene<'_>,
    plan: &Plan,
    remarks: Remarks<'_>,
) -> Result<(), Failure> {
    let witness = Witness::of_session()?;
    for (index, step) in plan.steps.iter().enumerate() {
        let revision = scene.revision + 1 + index as i64;
        // What the caller said belongs to the step the caller asked for.
        let said = if index == 0 {
            remarks
        } else {
            Remarks::default()
        };
        record_step(command, scene, step, revision, said, &witness)?;
    }
    Ok(())
}

fn record_step(
    command: &Command<'_>,
    scene: &Scene<'_>,
    step: &Step,
    revision: i64,
    remarks: Remarks<'_>,
    witness: &Witness,
) -> Result<(), Failure> {
    let states = &scene.definition.machine.states;
    let from_state = step.from.map(|from| states[from].name.as_str());
    let from_state = Value::optional(from_state.or(remarks.left), Value::Text);
    let to_state = Value::Text(&states[step.to].name);
    let event = Value::optional(step.event.as_deref(), Value::Text);
    let decision = Value::optional(step.decision.map(Decision::as_str), Value::Text);
    let payload = Value::optional(remarks.payload, Value::Jsonb);
    let written = command.spi.insert(
        &statements::INSERT_HISTORY,
        &[
            command.tenant(),
            Value::Uuid(scene.instance),
            Value::Bigint(revision),
            Value::Text(step.kind.as_str()),
            from_state,
            to_state,
            event,
            decision,
            Value::Int(step.round),
            Value::Int(scene.material_version),
            Value::Int(scene.definition.version),
            Value::optional(remarks.task, Value::Uuid),
            Value::Text(&command.caller.actor),
            Value::Text(command.caller.proof),
            Value::optional(remarks.comment, Value::Text),
            payload,
            command.request_key(),
            Value::Time(scene.at),
            Value::optional(remarks.on_behalf_of, Value::Text),
            Value::optional(remarks.lease, |lease| Value::Text(&lease.key)),
            Value::optional(remarks.lease, |lease| Value::Bigint(lease.fence)),
            Value::Text(&witness.session_role),
            Value::optional(witness.outer_role.as_deref(), Value::Text),
            Value::optional(witness.application_name.as_deref(), Value::Text),
            Value::optional(witness.client_addr.as_ref(), Value::Address),
        ],
    );
    if !written {
        return Err(trigger_interfered("a trigger kept a history row out"));
    }
    let origin = Origin {
        instance: scene.instance,
        revision,
    };
    resource::record(command, &step.movements, origin)?;
    if !step.publish {
        return Ok(());
    }
    let circumstances = Circumstances {
        instance: scene.instance,
        application: scene.application,
        definition: scene.definition,
        material_version: scene.material_version,
        revision,
        actor: &command.caller.actor,
        payload: remarks.payload,
    };
    let image = event::image(step, &circumstances);
    let trace = event::trace(remarks.payload)?;
    let id = Value::Uuid(Uuid::now_v7());
    let published = command.spi.insert(
        &statements::INSERT_OUTBOX,
        &[
            command.tenant(),
            id.clone(),
            Value::Text(&scene.definition.name),
            Value::Text(&scene.instance.to_string()),
            Value::Text(event::name(step)),
            Value::Jsonb(&image),
            Value::Bigint(revision),
            Value::Time(scene.at),
            Value::optional(trace.as_deref(), Value::Text),
        ],
    ) && command.spi.insert(
        &statements::INSERT_OUTBOX_QUEUE,
        &[
            command.tenant(),
            Value::Uuid(scene.instance),
            Value::Bigint(revision),
            id,
            Value::Time(scene.at),
        ],
    );
    if !published {
        return Err(trigger_interfered("a trigger kept an outbox row out"));
    }
    wake_consumers(command);
    Ok(())
}

/// Tells those who listen that there will be an event. PostgreSQL keeps one of several equal
/// notifications of a transaction.
pub fn wake_consumers(command: &Command<'_>) {
    if settings::notify() {
        command.spi.run(&statements::NOTIFY, &[]);
    }
}

/// Opens the tasks and sets the timers of the state a plan comes to rest in; gives the tasks' ids.
pub fn open_tasks(
    command: &Command<'_>,
    scene: &Scene<'_>,
    plan: &Plan,
) -> Result<Vec<Uuid>, Failure> {
    timer::set(command, scene, plan)?;
    queue::follow(command, scene, plan)?;
    let rest = &scene.definition.machine.states[plan.rest()];
    let Some(task) = &rest.task else {
        return Ok(Vec::new());
    };
    task.seats
        .iter()
        .map(|seat| open_task(command, scene, plan, task, seat))
        .collect()
}

/// Opens the task of one seat; gives its id.
pub fn open_task(
    command: &Command<'_>,
    scene: &Scene<'_>,
    plan: &Plan,
    task: &Task,
    seat: &Seat,
) -> Result<Uuid, Failure> {
    let rest = &scene.definition.machine.states[plan.rest()];
    let id = Uuid::now_v7();
    let mut values = vec![
        command.tenant(),
        Value::Uuid(id),
        Value::Uuid(scene.instance),
        Value::Text(&seat.name),
        Value::Text("OPEN"),
        Value::Text(&rest.name),
        Value::Int(plan.round),
        Value::Int(scene.material_version),
        Value::Texts(&seat.roles),
        Value::Bool(seat.veto),
        Value::Bool(task.one_vote_each),
        Value::Bigint(plan.revision),
        Value::Time(scene.at),
    ];
    let opened = match &task.due {
        None => command.spi.insert(&statements::INSERT_TASK, &values),
        Some(due) => {
            values.extend([Value::Text(due), Value::Time(clock::at(scene.at)?)]);
            let inserted = command.spi.run(&statements::INSERT_TASK_DUE, &values);
            inserted.count() == 1
        }
    };
    if !opened {
        return Err(trigger_interfered("a trigger kept a task out"));
    }
    Ok(id)
}

/// A change of hands or a vote, for the task log.
pub struct LogEntry<'a> {
    /// Its kind, in the words of `workflow.task_step`.
    pub step: &'static str,
    /// The task.
    pub task: Uuid,
    /// Its seat.
    pub seat: &'a str,
    /// The event of a vote.
    pub event: Option<&'a str>,
    /// The side of a vote.
    pub in_favour: Option<bool>,
    /// For whom the actor acts.
    pub on_behalf_of: Option<&'a str>,
    /// Who holds the task afterwards.
    pub to_actor: Option<&'a str>,
}

/// Writes the task log's row of a command that has counted one unit of work.
pub fn log_work(
    command: &Command<'_>,
    before: &InstanceRow,
    entry: &LogEntry<'_>,
    remarks: Remarks<'_>,
    at: Time,
) -> Result<(), Failure> {
    let instance = &before.instance;
    let written = command.spi.run(
        &statements::INSERT_TASK_LOG,
        &[
            command.tenant(),
            Value::Uuid(instance.id),
            Value::Bigint(before.work + 1),
            Value::Text(entry.step),
            Value::Uuid(entry.task),
            Value::Text(entry.seat),
            Value::Bigint(instance.revision),
            Value::Int(instance.round),
            Value::Int(instance.material_version),
            Value::optional(entry.event, Value::Text),
            Value::optional(entry.in_favour, Value::Bool),
            Value::Text(&command.caller.actor),
            Value::optional(entry.on_behalf_of, Value::Text),
            Value::optional(entry.to_actor, Value::Text),
            Value::Text(command.caller.proof),
            Value::optional(remarks.comment, Value::Text),
            Value::optional(remarks.payload, Value::Jsonb),
            command.request_key(),
            Value::Time(at),
        ],
    );
    if written.count() != 1 {
        return Err(trigger_interfered(
            "a trigger kept a row of the task log out",
        ));
    }
    Ok(())
}
