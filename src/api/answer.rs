//! Outcomes as rows of their SQL types.

use workflow_core::outcome::Outcome;

use crate::pg::entry::{Answer, Cell};

/// A row of `workflow.outcome`.
pub fn outcome(outcome: Outcome) -> Answer {
    Answer::Row(cells(outcome))
}

/// Rows of `workflow.outcome`.
pub fn outcomes(outcomes: Vec<Outcome>) -> Answer {
    Answer::Rows(outcomes.into_iter().map(cells).collect())
}

fn cells(outcome: Outcome) -> Vec<Cell> {
    vec![
        Cell::Bool(outcome.applied),
        Cell::optional(outcome.code, Cell::Text),
        Cell::optional(outcome.reason, Cell::Text),
        Cell::optional(outcome.instance_id, Cell::Uuid),
        Cell::optional(outcome.application_id, Cell::Uuid),
        Cell::optional(outcome.state, Cell::Text),
        Cell::optional(outcome.revision, Cell::Bigint),
        Cell::optional(outcome.material_version, Cell::Int),
        Cell::optional(outcome.event, Cell::Text),
        Cell::Uuids(outcome.task_ids),
        Cell::Bool(outcome.replayed),
        Cell::Int(outcome.attempts),
        Cell::Bool(outcome.retryable),
        Cell::optional(outcome.retry_after_ms, Cell::Int),
        Cell::optional(outcome.detail, |detail| Cell::Json(detail.to_string())),
    ]
}

/// A row of `workflow.superseded`.
pub fn superseded(outcome: Outcome) -> Answer {
    Answer::Row(vec![
        Cell::Bool(outcome.applied),
        Cell::optional(outcome.code, Cell::Text),
        Cell::optional(outcome.reason, Cell::Text),
        Cell::optional(outcome.application_id, Cell::Uuid),
        Cell::optional(outcome.material_version, Cell::Int),
        Cell::Int(outcome.instances),
        Cell::Int(outcome.tasks),
        Cell::Bool(outcome.replayed),
        Cell::Int(outcome.attempts),
        Cell::Bool(outcome.retryable),
        Cell::optional(outcome.retry_after_ms, Cell::Int),
        Cell::optional(outcome.detail, |detail| Cell::Json(detail.to_string())),
    ])
}
