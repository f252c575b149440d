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

/// The columns of `workflow.outcome`.
pub fn cells(outcome: Outcome) -> Vec<Cell> {
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

/// Rows of `workflow.resource_outcome`: one for each resource, or one that says why not.
pub fn resources(outcome: Outcome) -> Answer {
    let detail = |key: &str| outcome.detail.as_ref().and_then(|detail| detail.get(key));
    let asked = detail("resource").and_then(|key| key.as_str().map(str::to_owned));
    let left = detail("remaining").and_then(|remaining| remaining.as_i64());
    let rows: Vec<(Option<String>, Option<i64>)> = if outcome.applied {
        let known = outcome.resources.iter();
        known
            .map(|resource| (Some(resource.key.clone()), Some(resource.remaining)))
            .collect()
    } else {
        vec![(asked, left)]
    };
    let rows = rows.into_iter().map(|(key, remaining)| {
        vec![
            Cell::Bool(outcome.applied),
            Cell::optional(outcome.code.clone(), Cell::Text),
            Cell::optional(outcome.reason.clone(), Cell::Text),
            Cell::optional(key, Cell::Text),
            Cell::optional(remaining, Cell::Bigint),
            Cell::Bool(outcome.replayed),
            Cell::Int(outcome.attempts),
            Cell::Bool(outcome.retryable),
            Cell::optional(outcome.retry_after_ms, Cell::Int),
            Cell::optional(outcome.detail.as_ref(), |detail| {
                Cell::Json(detail.to_string())
            }),
        ]
    });
    Answer::Rows(rows.collect())
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
