//! Carries out many plans at once: the same rows as `write` makes for one, a statement for each
//! table.

use std::rc::Rc;

use uuid::Uuid;
use workflow_core::decide::{Plan, SeatTask};
use workflow_core::definition::Decision;

use crate::engine::clock;
use crate::engine::command::Command;
use crate::engine::event::{self, Circumstances};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::lease::check::Presented;
use crate::engine::resource::{self, Origin};
use crate::engine::timer;
use crate::engine::work::queue::{self, Arrival};
use crate::engine::write::{self, Scene};
use crate::pg::spi::Statement;
use crate::pg::value::{Element, Jsonb, Time, Value};
use crate::settings;
use crate::store::definitions::Published;
use crate::store::{InstanceRow, statements};

/// A step along an edge of one instance, decided and not yet written. Its row is ours.
pub struct Change<'a> {
    /// The row before.
    pub before: InstanceRow,
    /// Its definition.
    pub definition: Rc<Published>,
    /// What was decided.
    pub plan: Plan,
    /// Ids of the tasks it opens.
    pub opened: Vec<Uuid>,
    /// For people who read the history.
    pub comment: Option<&'a str>,
    /// For guards, the history and the outbox.
    pub payload: Option<&'a Jsonb>,
    /// Its request key.
    pub request_id: Option<&'a str>,
    /// The lease under which it is done.
    pub lease: Option<&'a Presented>,
}

impl Change<'_> {
    /// The one seat whose verdict the step is.
    fn verdict(&self) -> Option<&SeatTask> {
        match self.before.instance.tasks.as_slice() {
            [task] if self.plan.first().decision.is_some() => Some(task),
            _ => None,
        }
    }

    /// Who decided, and for whom, as the next steps of the instance are to know.
    pub fn deciders(&self, command: &Command<'_>) -> Vec<String> {
        let step = self.plan.first();
        if step.decision.is_none() && step.from == Some(step.to) {
            return Vec::new();
        }
        let principal = self.verdict().and_then(|task| task.delegated_by.clone());
        std::iter::once(command.caller.actor.clone())
            .chain(principal)
            .collect()
    }

    fn event(&self) -> &str {
        self.plan.first().event.as_deref().unwrap_or_default()
    }
}

/// Rows of values on their way to a statement that takes columns.
struct Columns<'a> {
    kinds: &'static [Element],
    columns: Vec<Vec<Value<'a>>>,
}

impl<'a> Columns<'a> {
    fn new(kinds: &'static [Element]) -> Columns<'a> {
        let columns = kinds.iter().map(|_| Vec::new()).collect();
        Columns { kinds, columns }
    }

    fn push<const N: usize>(&mut self, row: [Value<'a>; N]) {
        assert_eq!(N, self.kinds.len(), "values of a row");
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }

    fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Runs the statement, the scalar arguments first; nothing is run without rows. `expected` rows
    /// must be written.
    fn write(
        self,
        command: &Command<'_>,
        statement: &Statement,
        scalars: &[Value<'a>],
        expected: usize,
        interference: &str,
    ) -> Result<(), Failure> {
        if self.len() == 0 {
            return Ok(());
        }
        let columns = self.kinds.iter().zip(self.columns);
        let columns = columns.map(|(kind, column)| Value::Array(*kind, column));
        let arguments: Vec<Value<'_>> = scalars.iter().cloned().chain(columns).collect();
        if command.spi.run(statement, &arguments).count() != expected as u64 {
            return Err(trigger_interfered(interference));
        }
        Ok(())
    }
}

/// Writes changes of different instances, all of which are locked and as they were decided on.
pub fn carry_out(command: &Command<'_>, changes: &[Change<'_>]) -> Result<(), Failure> {
    let at = Time::now();
    move_instances(command, changes)?;
    complete_tasks(command, changes, at)?;
    supersede_tasks(command, changes, at)?;
    record(command, changes, at)?;
    move_resources(command, changes)?;
    publish(command, changes, at)?;
    open_tasks(command, changes, at)?;
    set_timers(command, changes, at)?;
    queue_work(command, changes, at)
}

fn move_instances(command: &Command<'_>, changes: &[Change<'_>]) -> Result<(), Failure> {
    use Element::{Bigint, Bool, Int, Text, Uuid};
    let mut columns = Columns::new(&[
        Uuid, Text, Bigint, Int, Bigint, Text, Bigint, Int, Bool, Bigint,
    ]);
    for change in changes {
        let (row, plan) = (&change.before, &change.plan);
        let rest = &change.definition.machine.states[plan.rest()];
        columns.push([
            Value::Uuid(row.instance.id),
            Value::Text(&row.instance.state),
            Value::Bigint(row.instance.revision),
            Value::Int(row.instance.material_version),
            Value::Bigint(row.work),
            Value::Text(&rest.name),
            Value::Bigint(plan.revision),
            Value::Int(plan.round),
            Value::Bool(rest.is_final),
            Value::Bigint(plan.entered_revision.unwrap_or(row.entered_revision)),
        ]);
    }
    let message = "a trigger kept an instance from moving";
    let scalars = [command.tenant()];
    columns.write(
        command,
        &statements::MOVE_INSTANCES,
        &scalars,
        changes.len(),
        message,
    )
}

/// A verdict that names no task is that of the one seat there is.
fn complete_tasks(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    use Element::{Bigint, Text, Uuid};
    let mut columns = Columns::new(&[Uuid, Bigint, Text, Text]);
    for change in changes {
        if let Some(task) = change.verdict() {
            columns.push([
                Value::Uuid(task.id),
                Value::Bigint(change.before.instance.revision + 1),
                Value::Text(change.event()),
                Value::optional(task.delegated_by.as_deref(), Value::Text),
            ]);
        }
    }
    let scalars = [
        command.tenant(),
        Value::Time(at),
        Value::Text(&command.caller.actor),
    ];
    let expected = columns.len();
    let message = "a trigger kept a task from being completed";
    columns.write(
        command,
        &statements::COMPLETE_TASKS,
        &scalars,
        expected,
        message,
    )
}

fn supersede_tasks(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    use Element::{Bigint, Text, Uuid};
    let left = changes
        .iter()
        .filter(|change| change.verdict().is_none() && change.before.instance.open_tasks() > 0);
    let reasons: Vec<(&Change<'_>, String)> = left
        .map(|change| (change, format!("the state was left by {}", change.event())))
        .collect();
    let mut columns = Columns::new(&[Uuid, Bigint, Text]);
    let mut expected = 0;
    for (change, reason) in &reasons {
        let instance = &change.before.instance;
        expected += instance.open_tasks();
        columns.push([
            Value::Uuid(instance.id),
            Value::Bigint(instance.revision + 1),
            Value::Text(reason),
        ]);
    }
    let scalars = [command.tenant(), Value::Time(at)];
    let message = "a trigger kept a task from being closed";
    columns.write(
        command,
        &statements::SUPERSEDE_TASKS,
        &scalars,
        expected,
        message,
    )
}

fn record(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    use Element::{Bigint, Int, Jsonb, Text, Uuid};
    let mut columns = Columns::new(&[
        Uuid, Bigint, Text, Text, Text, Text, Int, Int, Int, Uuid, Text, Text, Jsonb, Text, Text,
        Bigint,
    ]);
    for change in changes {
        let instance = &change.before.instance;
        let states = &change.definition.machine.states;
        for (index, step) in change.plan.steps.iter().enumerate() {
            // What the caller said belongs to the step the caller asked for.
            let said = Some(change).filter(|_| index == 0);
            let task = said.and_then(Change::verdict);
            columns.push([
                Value::Uuid(instance.id),
                Value::Bigint(instance.revision + 1 + index as i64),
                Value::optional(step.from, |from| Value::Text(&states[from].name)),
                Value::Text(&states[step.to].name),
                Value::optional(step.event.as_deref(), Value::Text),
                Value::optional(step.decision.map(Decision::as_str), Value::Text),
                Value::Int(step.round),
                Value::Int(instance.material_version),
                Value::Int(change.definition.version),
                Value::optional(task.map(|task| task.id), Value::Uuid),
                Value::optional(
                    task.and_then(|task| task.delegated_by.as_deref()),
                    Value::Text,
                ),
                Value::optional(said.and_then(|said| said.comment), Value::Text),
                Value::optional(said.and_then(|said| said.payload), Value::Jsonb),
                Value::optional(change.request_id, Value::Text),
                Value::optional(change.lease, |lease| Value::Text(&lease.key)),
                Value::optional(change.lease, |lease| Value::Bigint(lease.fence)),
            ]);
        }
    }
    let scalars = [
        command.tenant(),
        Value::Time(at),
        Value::Text(&command.caller.actor),
        Value::Text(command.caller.proof),
    ];
    let expected = columns.len();
    let message = "a trigger kept a history row out";
    columns.write(
        command,
        &statements::INSERT_HISTORIES,
        &scalars,
        expected,
        message,
    )
}

fn publish(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    use Element::{Bigint, Jsonb, Text, Uuid};
    let mut events = Vec::with_capacity(changes.len());
    for change in changes {
        let instance = &change.before.instance;
        for (index, step) in change.plan.steps.iter().enumerate() {
            if !step.publish {
                continue;
            }
            let circumstances = Circumstances {
                instance: instance.id,
                application: instance.application_id,
                definition: &change.definition,
                material_version: instance.material_version,
                revision: instance.revision + 1 + index as i64,
                actor: &command.caller.actor,
                payload: change.payload.filter(|_| index == 0),
            };
            let image = event::image(step, &circumstances);
            events.push((change, step, circumstances.revision, image));
        }
    }
    let mut columns = Columns::new(&[Uuid, Text, Uuid, Text, Jsonb, Bigint]);
    for (change, step, revision, image) in &events {
        columns.push([
            Value::Uuid(uuid::Uuid::now_v7()),
            Value::Text(&change.definition.name),
            Value::Uuid(change.before.instance.id),
            Value::Text(event::name(step)),
            Value::Jsonb(image),
            Value::Bigint(*revision),
        ]);
    }
    let trace = settings::traceparent()?;
    let scalars = [
        command.tenant(),
        Value::Time(at),
        Value::optional(trace.as_deref(), Value::Text),
    ];
    let expected = columns.len();
    if expected > 0 {
        write::wake_consumers(command);
    }
    let message = "a trigger kept an outbox row out";
    columns.write(
        command,
        &statements::INSERT_OUTBOXES,
        &scalars,
        expected,
        message,
    )
}

fn open_tasks(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    use Element::{Bigint, Bool, Int, Text, Uuid};
    let mut opened = Vec::new();
    for change in changes {
        let rest = &change.definition.machine.states[change.plan.rest()];
        let task = rest.task.iter();
        let seats = task.flat_map(|task| task.seats.iter().map(move |seat| (task, seat)));
        for (id, (task, seat)) in change.opened.iter().zip(seats) {
            opened.push((change, rest, task, seat, *id, array_text(&seat.roles)));
        }
    }
    let mut columns = Columns::new(&[
        Uuid, Uuid, Text, Text, Int, Int, Text, Bool, Bool, Bigint, Text,
    ]);
    for (change, rest, task, seat, id, roles) in &opened {
        columns.push([
            Value::Uuid(*id),
            Value::Uuid(change.before.instance.id),
            Value::Text(&seat.name),
            Value::Text(&rest.name),
            Value::Int(change.plan.round),
            Value::Int(change.before.instance.material_version),
            Value::Text(roles),
            Value::Bool(seat.veto),
            Value::Bool(task.one_vote_each),
            Value::Bigint(change.plan.revision),
            Value::optional(task.due.as_deref(), Value::Text),
        ]);
    }
    let scalars = [
        command.tenant(),
        Value::Time(at),
        Value::Time(clock::at(at)?),
    ];
    let expected = columns.len();
    let message = "a trigger kept a task out";
    columns.write(
        command,
        &statements::INSERT_TASKS,
        &scalars,
        expected,
        message,
    )
}

/// Few steps move resources, so they are moved one by one. They are held, and there is enough.
fn move_resources(command: &Command<'_>, changes: &[Change<'_>]) -> Result<(), Failure> {
    for change in changes {
        let before = &change.before.instance;
        for (revision, step) in (before.revision + 1..).zip(&change.plan.steps) {
            let origin = Origin {
                instance: before.id,
                revision,
            };
            resource::record(command, &step.movements, origin)?;
        }
    }
    Ok(())
}

/// Few states have timers, so they are set one by one.
fn set_timers(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    for change in changes {
        let scene = Scene {
            at,
            ..Scene::of(&change.before, &change.definition)
        };
        timer::set(command, &scene, &change.plan)?;
    }
    Ok(())
}

fn queue_work(command: &Command<'_>, changes: &[Change<'_>], at: Time) -> Result<(), Failure> {
    let left = changes
        .iter()
        .filter(|change| queue::leaves(&change.definition.machine, &change.plan));
    let left: Vec<Uuid> = left.map(|change| change.before.instance.id).collect();
    queue::remove(command, &left);
    let arrivals = changes.iter().filter_map(|change| {
        Arrival::by(change.before.instance.id, &change.definition, &change.plan)
    });
    queue::add(command, &arrivals.collect::<Vec<_>>(), at)
}

/// A list as PostgreSQL reads an array.
fn array_text(list: &[String]) -> String {
    let quoted = list
        .iter()
        .map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

/// Keeps the outcomes of commands that had a request key: key, fingerprint, outcome.
pub fn keep_requests(command: &Command<'_>, kept: &[(&str, &[u8], String)]) -> Result<(), Failure> {
    use Element::{Bytes, Jsonb, Text};
    let mut columns = Columns::new(&[Text, Bytes, Jsonb]);
    for (key, fingerprint, outcome) in kept {
        columns.push([
            Value::Text(key),
            Value::Bytes(fingerprint),
            Value::Json(outcome),
        ]);
    }
    let scalars = [
        command.tenant(),
        Value::Time(Time::now()),
        Value::Text(command.name),
    ];
    let message = "a trigger kept a request key out";
    columns.write(
        command,
        &statements::INSERT_REQUESTS,
        &scalars,
        kept.len(),
        message,
    )
}
