//! What an event of the outbox says.

use uuid::Uuid;
use workflow_core::decide::Step;
use workflow_core::definition::Decision;

use crate::pg::jsonb::{self, Part};
use crate::pg::value::Jsonb;
use crate::store::definitions::Published;

/// Where and by whom a step was taken.
pub struct Circumstances<'a> {
    /// The instance.
    pub instance: Uuid,
    /// Its application.
    pub application: Uuid,
    /// Its definition.
    pub definition: &'a Published,
    /// The material in force.
    pub material_version: i32,
    /// Revision of the step.
    pub revision: i64,
    /// Who took it.
    pub actor: &'a str,
    /// What was sent along.
    pub payload: Option<&'a Jsonb>,
}

/// The event of a step, as consumers read it.
pub fn image(step: &Step, at: &Circumstances<'_>) -> Jsonb {
    let states = &at.definition.machine.states;
    let (mut instance, mut application) = (Uuid::encode_buffer(), Uuid::encode_buffer());
    let instance = at.instance.hyphenated().encode_lower(&mut instance);
    let application = at.application.hyphenated().encode_lower(&mut application);
    let from = step.from.map(|from| states[from].name.as_str());
    jsonb::object(&[
        ("instance_id", Part::Text(instance)),
        ("application_id", Part::Text(application)),
        ("definition", Part::Text(&at.definition.name)),
        ("version", Part::Number(at.definition.version.into())),
        ("revision", Part::Number(at.revision)),
        ("step", Part::Text(step.kind.as_str())),
        ("event", Part::optional(step.event.as_deref(), Part::Text)),
        ("from_state", Part::optional(from, Part::Text)),
        ("to_state", Part::Text(&states[step.to].name)),
        (
            "decision",
            Part::optional(step.decision.map(Decision::as_str), Part::Text),
        ),
        ("round", Part::Number(step.round.into())),
        ("material_version", Part::Number(at.material_version.into())),
        ("actor", Part::Text(at.actor)),
        ("payload", Part::optional(at.payload, Part::Document)),
    ])
}

/// Its type: the event of the edge, or the kind of step.
pub fn name(step: &Step) -> &str {
    step.event.as_deref().unwrap_or(step.kind.as_str())
}
