//! What a command answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::refusal::Refusal;

/// The answer of a command, whatever it was; also what a replay of its request key gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Whether it was carried out.
    pub applied: bool,
    /// SQLSTATE of the refusal.
    pub code: Option<String>,
    /// Reason of the refusal.
    pub reason: Option<String>,
    /// The instance.
    pub instance_id: Option<Uuid>,
    /// The application.
    pub application_id: Option<Uuid>,
    /// State after the command, or as it is.
    pub state: Option<String>,
    /// Revision after the command, or as it is.
    pub revision: Option<i64>,
    /// Material version after the command, or as it is.
    pub material_version: Option<i32>,
    /// Event that was taken.
    pub event: Option<String>,
    /// Tasks that were opened.
    pub task_ids: Vec<Uuid>,
    /// Open instances that took a new material.
    pub instances: i32,
    /// Open tasks that a new material outdated.
    pub tasks: i32,
    /// What is left of the resources that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Remaining>,
    /// Whether the command had been carried out before, under the same request key.
    pub replayed: bool,
    /// How often the command was decided before it was carried out.
    pub attempts: i32,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// How long to wait before it.
    pub retry_after_ms: Option<i32>,
    /// What DETAIL of the error says.
    pub detail: Option<Value>,
}

/// What is left of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// Its key.
    pub key: String,
    /// Its balance.
    pub remaining: i64,
}

impl Outcome {
    /// The answer for a refusal.
    pub fn refused(refusal: &Refusal) -> Outcome {
        let entry = refusal.reason.entry();
        Outcome {
            code: Some(entry.code.as_str().to_owned()),
            reason: Some(entry.slug.to_owned()),
            instance_id: refusal.instance_id,
            application_id: refusal.application_id,
            state: refusal.actual.state.clone(),
            revision: refusal.actual.revision,
            material_version: refusal.actual.material_version,
            attempts: refusal.attempts,
            retryable: refusal.retryable(),
            retry_after_ms: refusal.retry_after_ms,
            detail: Some(refusal.detail()),
            ..Outcome::default()
        }
    }
}
