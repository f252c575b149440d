//! What an event of the outbox says.

use uuid::Uuid;
use workflow_core::decide::Step;
use workflow_core::definition::Decision;

use crate::pg::jsonb::{self, Part};
use crate::pg::report::Report;
use crate::pg::value::Jsonb;
use crate::settings;
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
    // In the order in which a jsonb keeps its keys, so that it need not sort them.
    jsonb::object(&[
        ("step", Part::Text(step.kind.as_str())),
        ("actor", Part::Text(at.actor)),
        ("event", Part::optional(step.event.as_deref(), Part::Text)),
        ("round", Part::Number(step.round.into())),
        ("payload", Part::optional(at.payload, Part::Document)),
        ("version", Part::Number(at.definition.version.into())),
        (
            "decision",
            Part::optional(step.decision.map(Decision::as_str), Part::Text),
        ),
        ("revision", Part::Number(at.revision)),
        ("to_state", Part::Text(&states[step.to].name)),
        ("definition", Part::Text(&at.definition.name)),
        ("from_state", Part::optional(from, Part::Text)),
        ("instance_id", Part::Text(instance)),
        ("application_id", Part::Text(application)),
        ("material_version", Part::Number(at.material_version.into())),
    ])
}

/// Its type: the event of the edge, or the kind of step.
pub fn name(step: &Step) -> &str {
    step.event.as_deref().unwrap_or(step.kind.as_str())
}

/// The trace context that leaves with it: the payload's, else the session's.
pub fn trace(payload: Option<&Jsonb>) -> Result<Option<String>, Report> {
    let sent = payload.map(|payload| jsonb::field(payload, "traceparent"));
    match sent.transpose()?.flatten() {
        Some(trace) => Ok(Some(trace)),
        None => settings::traceparent(),
    }
}
