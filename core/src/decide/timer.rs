//! What time does: a timer of `after` that is due takes its edge, once.

use super::command::{choose, complete, standing_state, take};
use super::{Instance, Plan, Rejection, World};
use crate::definition::Definition;
use crate::refusal::Position;

/// Who acts when time does. Nobody may call under this name.
pub const TIMER_ACTOR: &str = "workflow.timer";

/// A timer that is due.
#[derive(Clone, Debug)]
pub struct Timer<'a> {
    /// Its name, the event of the step it takes.
    pub event: &'a str,
    /// Revision of the entry into the state that it belongs to.
    pub entered_revision: i64,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    /// The visit is over, or its definition no longer has the timer: nothing happens.
    Over,
    /// It takes its edge.
    Fires(Plan),
}

/// Decides on a timer of an instance whose present state was entered at `entered_revision`. A guard
/// that is false, or unknown, refuses it.
pub fn fire(
    definition: &Definition,
    instance: &Instance,
    entered_revision: i64,
    timer: &Timer<'_>,
    world: &mut impl World,
) -> Result<Due, Rejection> {
    if instance.closed || timer.entered_revision != entered_revision {
        return Ok(Due::Over);
    }
    let here = standing_state(definition, instance)?;
    let Some(found) = definition.states[here].timer(timer.event) else {
        return Ok(Due::Over);
    };
    choose(instance, found.branches.iter(), world)
        .and_then(|edge| take(definition, instance, here, edge, world))
        .map(Due::Fires)
        .map_err(|rejection| complete(rejection, instance, &Position::default(), None))
}
