//! What an instance's row is once a plan has been carried out, so that several commands of one call
//! can be decided one after another before anything is written.

use uuid::Uuid;

use super::{Instance, Plan, SeatTask, StepKind};
use crate::definition::Definition;

/// How many tasks a plan opens where it comes to rest.
pub fn opens(definition: &Definition, plan: &Plan) -> usize {
    let task = definition.states[plan.rest()].task.as_ref();
    task.filter(|_| plan.entered_revision.is_some())
        .map_or(0, |task| task.seats.len())
}

impl Instance {
    /// The row after a plan along edges, with the tasks it has opened.
    pub fn after(&self, definition: &Definition, plan: &Plan, opened: &[Uuid]) -> Instance {
        let rest = &definition.states[plan.rest()];
        let seats = rest.task.iter().flat_map(|task| &task.seats);
        let tasks = opened.iter().zip(seats).map(|(id, seat)| SeatTask {
            id: *id,
            seat: seat.name.clone(),
            roles: seat.roles.clone(),
            veto: seat.veto,
            open: true,
            holder: None,
            delegated_by: None,
            claimed: false,
            vote: None,
        });
        Instance {
            state: rest.name.clone(),
            revision: plan.revision,
            round: plan.round,
            closed: rest.is_final || plan.first().kind == StepKind::Cancel,
            tasks: tasks.collect(),
            ..self.clone()
        }
    }
}
