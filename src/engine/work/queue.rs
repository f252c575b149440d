//! Instances enter and leave states whose work machines do. Their rows are ours.

use uuid::Uuid;
use workflow_core::decide::Plan;
use workflow_core::definition::Definition;

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::write::Scene;
use crate::pg::value::{Element, Time, Value};
use crate::store::definitions::Published;
use crate::store::statements;

/// A visit that an instance begins.
pub struct Arrival<'a> {
    /// The instance.
    pub instance: Uuid,
    /// Revision of the entry.
    pub entered_revision: i64,
    /// Name of the definition.
    pub definition: &'a str,
    /// The state.
    pub state: &'a str,
}

impl<'a> Arrival<'a> {
    /// What a plan brings to a queue, if anything.
    pub fn by(instance: Uuid, definition: &'a Published, plan: &Plan) -> Option<Arrival<'a>> {
        let rest = &definition.machine.states[plan.rest()];
        let entered_revision = plan.entered_revision.filter(|_| rest.is_machine_work())?;
        Some(Arrival {
            instance,
            entered_revision,
            definition: &definition.name,
            state: &rest.name,
        })
    }
}

/// Whether a plan takes an instance out of a queue.
pub fn leaves(machine: &Definition, plan: &Plan) -> bool {
    plan.entered_revision.is_some()
        && plan
            .first()
            .from
            .is_some_and(|from| machine.states[from].is_machine_work())
}

/// What a plan does to the queues, once it is carried out.
pub fn follow(command: &Command<'_>, scene: &Scene<'_>, plan: &Plan) -> Result<(), Failure> {
    if leaves(&scene.definition.machine, plan) {
        remove(command, &[scene.instance]);
    }
    let arrival = Arrival::by(scene.instance, scene.definition, plan);
    add(command, arrival.as_slice(), scene.at)
}

/// Adds items.
pub fn add(command: &Command<'_>, arrivals: &[Arrival<'_>], at: Time) -> Result<(), Failure> {
    if arrivals.is_empty() {
        return Ok(());
    }
    let column = |element, value: fn(&Arrival<'_>) -> Value<'static>| {
        Value::Array(element, arrivals.iter().map(value).collect())
    };
    let texts = |text: fn(&Arrival<'_>) -> String| arrivals.iter().map(text).collect::<Vec<_>>();
    let definitions = texts(|arrival| arrival.definition.to_owned());
    let states = texts(|arrival| arrival.state.to_owned());
    let added = command.spi.run(
        &statements::INSERT_WORK,
        &[
            command.tenant(),
            Value::Time(at),
            column(Element::Uuid, |arrival| Value::Uuid(arrival.instance)),
            column(Element::Bigint, |arrival| {
                Value::Bigint(arrival.entered_revision)
            }),
            Value::Texts(&definitions),
            Value::Texts(&states),
        ],
    );
    if added.count() != arrivals.len() as u64 {
        return Err(trigger_interfered("a trigger kept work out"));
    }
    Ok(())
}

/// Removes the items of instances, unless somebody has them.
pub fn remove(command: &Command<'_>, instances: &[Uuid]) {
    if !instances.is_empty() {
        let key = [command.tenant(), Value::Uuids(instances)];
        command.spi.run(&statements::DELETE_WORK, &key);
    }
}

/// An instance stays in a state that has got a queue.
pub fn join(command: &Command<'_>, scene: &Scene<'_>, state: &str) {
    let instance = [scene.instance];
    let it = [
        command.tenant(),
        Value::Text(state),
        Value::Uuids(&instance),
    ];
    // None is added where somebody has asked for its work before.
    command.spi.run(&statements::QUEUE_WORK, &it);
}

/// New material is a new chance.
pub fn refresh(command: &Command<'_>, scene: &Scene<'_>, entered_revision: i64) {
    let visit = [
        command.tenant(),
        Value::Uuid(scene.instance),
        Value::Bigint(entered_revision),
        Value::Time(scene.at),
    ];
    command.spi.run(&statements::REFRESH_WORK, &visit);
}
