//! The catalogue of refusals: why a command lost or was not allowed.
//!
//! One table, [`CATALOGUE`], is the source of the SQLSTATE, of the reason that is message prefix
//! and constraint name, of the hint, of `docs/refusals.md` and of the tests that hold them
//! together. A refusal is never an accident: it says what the caller expected, what is there now
//! and, where somebody was faster, who won.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::sqlstate::SqlState;

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The instance has moved on since the caller read it.
    StaleRevision,
    /// The material has a newer version.
    StaleMaterial,
    /// Revision right (or not given), but the command belongs to another state.
    WrongState,
    /// The pinned definition has no such edge or event anywhere.
    NoSuchTransition,
    /// Absent, or another tenant's.
    NotFound,
    /// The task is completed, superseded or cancelled.
    TaskNotOpen,
    /// Role, separation of duties, assignee, or identity.
    NotAuthorized,
    /// Same request key, other command.
    RequestMismatch,
    /// Lease expired, taken over, or fence too low.
    LeaseLost,
    /// This person or seat has a counted vote in this round.
    AlreadyVoted,
    /// A guard was false, or unknown.
    GuardRefused,
    /// Not enough of a resource.
    Insufficient,
    /// The instance has ended, and the caller knows its last revision.
    Closed,
    /// The definition is not sound.
    InvalidDefinition,
    /// The state is decided by its seats.
    VotesRequired,
    /// Another person holds the task.
    AlreadyClaimed,
    /// Instances stand in states that the new version cannot take.
    NotMigratable,
    /// The application has an open instance of this definition.
    AlreadyRunning,
    /// A limit of the tenant.
    LimitExceeded,
    /// The state does not take new material.
    MaterialFrozen,
    /// A lock was not had within the budget, or retries were exhausted.
    Busy,
}

/// One line of the catalogue.
#[derive(Debug)]
pub struct Entry {
    /// The reason this line is about.
    pub reason: Reason,
    /// SQLSTATE.
    pub code: SqlState,
    /// Word by which programs know it: prefix of the message, constraint name, `reason`.
    pub slug: &'static str,
    /// Status for an HTTP gateway.
    pub http_status: u16,
    /// When it is given.
    pub when: &'static str,
    /// What the caller should do, as HINT.
    pub hint: &'static str,
}

macro_rules! catalogue {
    ($($reason:ident $code:literal $slug:literal $http:literal $when:literal $hint:literal;)*) => {
        /// Every refusal there is, in the order of the documentation.
        pub const CATALOGUE: &[Entry] = &[$(Entry {
            reason: Reason::$reason,
            code: SqlState::new($code),
            slug: $slug,
            http_status: $http,
            when: $when,
            hint: $hint,
        }),*];
    };
}

catalogue! {
    StaleRevision b"WF001" "stale_revision" 409
        "The instance has moved on since the caller read it."
        "Read the instance again and let the user decide again; do not retry by itself.";
    StaleMaterial b"WF002" "stale_material" 409
        "The material has a newer version."
        "Show the user the new material; a decision is about exactly one version.";
    WrongState b"WF003" "wrong_state" 409
        "The revision is right (or was not given), but the command belongs to another state."
        "Read the instance again: the command does not apply in its present state.";
    NoSuchTransition b"WF004" "no_such_transition" 422
        "The pinned definition has no such edge or event anywhere."
        "Check the names of states and event against the definition version of the instance.";
    NotFound b"WF005" "not_found" 404
        "Absent, or another tenant's: the same text, and nothing is locked."
        "Check the id, and the tenant on whose behalf the call was made.";
    TaskNotOpen b"WF006" "task_not_open" 409
        "The task is completed, superseded or cancelled; DETAIL says which, and by which revision."
        "Read the instance again: this piece of work is over.";
    NotAuthorized b"WF007" "not_authorized" 403
        "Role, separation of duties, not the assignee, or identity not allowed."
        "The command needs another person, or another role.";
    RequestMismatch b"WF008" "request_mismatch" 422
        "The request key was used for another command."
        "Use a new request key for a new command; repeat a command with exactly the same arguments.";
    LeaseLost b"WF009" "lease_lost" 409
        "The lease expired, was taken over, or the fence is too low."
        "Stop the work: another holder may have it. Acquire the lease again before writing.";
    AlreadyVoted b"WF010" "already_voted" 409
        "This person or seat has a counted vote in this round."
        "One person and one seat have one vote in a round.";
    GuardRefused b"WF011" "guard_refused" 422
        "A guard was false, or unknown because data was missing or of the wrong type; DETAIL has the path."
        "Look at the guard in DETAIL and at the data it reads.";
    Insufficient b"WF012" "insufficient" 409
        "Not enough of a resource."
        "Restock the resource, or ask for less.";
    Closed b"WF013" "closed" 409
        "The instance has ended, and the caller knows its last revision."
        "Nothing more can happen to this instance; start another one.";
    InvalidDefinition b"WF014" "invalid_definition" 422
        "The definition is not sound; DETAIL has a JSON pointer to each place."
        "wf_validate(spec) lists everything that is wrong with it.";
    VotesRequired b"WF015" "votes_required" 409
        "The state is decided by its seats, not by a direct transition."
        "Vote with wf_decide.";
    AlreadyClaimed b"WF016" "already_claimed" 409
        "Another person holds the task."
        "Wait for its release, or have it assigned.";
    NotMigratable b"WF017" "not_migratable" 409
        "Instances stand in states that the new version cannot take; DETAIL lists them."
        "Give a state map for these states.";
    AlreadyRunning b"WF018" "already_running" 409
        "The application has an open instance of this definition."
        "Go on with the open instance; a definition may allow several by meta.concurrent.";
    LimitExceeded b"WF019" "limit_exceeded" 429
        "A limit of the tenant."
        "Try again when there is room, or have the limit raised.";
    MaterialFrozen b"WF020" "material_frozen" 409
        "The state does not take new material (meta.on_supersede: \"refuse\")."
        "Wait until the instance has left this state.";
    Busy b"55P03" "busy" 503
        "A lock was not had within the budget, or retries were exhausted. Nothing happened."
        "Safe to retry after retry_after_ms.";
}

impl Reason {
    /// Its line in the catalogue.
    pub fn entry(self) -> &'static Entry {
        let entry = &CATALOGUE[self as usize];
        debug_assert_eq!(entry.reason, self);
        entry
    }
}

/// State, revision and material version, as expected or as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position {
    /// Name of a state.
    pub state: Option<String>,
    /// Revision of the instance.
    pub revision: Option<i64>,
    /// Version of the material.
    pub material_version: Option<i32>,
}

/// The command that came first.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    /// Revision that it made.
    pub revision: i64,
    /// Its event, if it was an edge.
    pub event: Option<String>,
    /// Where it led.
    pub to_state: String,
    /// When, ISO 8601.
    pub at: String,
    /// Whether it was the refused caller's own command: same actor, event, target and material.
    pub same_command: bool,
    /// Who gave it, where the caller may read that.
    pub actor: Option<String>,
}

/// A command that lost or was not allowed, and everything its caller may know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The same in a sentence.
    pub message: String,
    /// The instance it was about.
    pub instance_id: Option<Uuid>,
    /// The application it was about.
    pub application_id: Option<Uuid>,
    /// The task it was about.
    pub task_id: Option<Uuid>,
    /// What the caller expected.
    pub expected: Position,
    /// What is there.
    pub actual: Position,
    /// Who was faster.
    pub winner: Option<Winner>,
    /// Whether the instance already is where the caller wanted it.
    pub already_in_target: bool,
    /// How often the command was decided.
    pub attempts: i32,
    /// When to try again, where that makes sense.
    pub retry_after_ms: Option<i32>,
    /// Further keys of DETAIL that belong to this reason.
    pub extra: Map<String, Value>,
}

impl Refusal {
    /// A refusal with nothing filled in but its reason.
    pub fn new(reason: Reason, message: impl Into<String>) -> Refusal {
        Refusal {
            reason,
            message: message.into(),
            instance_id: None,
            application_id: None,
            task_id: None,
            expected: Position::default(),
            actual: Position::default(),
            winner: None,
            already_in_target: false,
            attempts: 1,
            retry_after_ms: None,
            extra: Map::new(),
        }
    }

    /// The one text for whatever is absent or another tenant's.
    pub fn not_found(what: &str) -> Refusal {
        Refusal::new(Reason::NotFound, format!("there is no such {what}"))
    }

    /// Adds a key of DETAIL.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Refusal {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// Whether the same call may succeed later without anybody changing anything.
    pub fn retryable(&self) -> bool {
        self.reason == Reason::Busy
    }

    /// MESSAGE: the reason first, because some clients show nothing else.
    pub fn error_message(&self) -> String {
        format!("{}: {}", self.reason.entry().slug, self.message)
    }

    /// DETAIL: what a program needs to explain the refusal.
    pub fn detail(&self) -> Value {
        let entry = self.reason.entry();
        let mut detail = Map::new();
        detail.insert("code".into(), json!(entry.code.as_str()));
        detail.insert("reason".into(), json!(entry.slug));
        detail.insert("http_status".into(), json!(entry.http_status));
        detail.insert("retryable".into(), json!(self.retryable()));
        for (key, id) in [
            ("instance_id", self.instance_id),
            ("application_id", self.application_id),
            ("task_id", self.task_id),
        ] {
            if let Some(id) = id {
                detail.insert(key.into(), json!(id.to_string()));
            }
        }
        if let Some(expected) = self.expected.to_json() {
            detail.insert("expected".into(), expected);
        }
        if let Some(actual) = self.actual.to_json() {
            detail.insert("actual".into(), actual);
            detail.insert("already_in_target".into(), json!(self.already_in_target));
        }
        if let Some(winner) = &self.winner {
            detail.insert("winner".into(), winner.to_json());
        }
        if let Some(delay) = self.retry_after_ms {
            detail.insert("attempts".into(), json!(self.attempts));
            detail.insert("retry_after_ms".into(), json!(delay));
        }
        detail.extend(self.extra.clone());
        Value::Object(detail)
    }
}

impl Position {
    fn to_json(&self) -> Option<Value> {
        let mut position = Map::new();
        if let Some(state) = &self.state {
            position.insert("state".into(), json!(state));
        }
        if let Some(revision) = self.revision {
            position.insert("revision".into(), json!(revision));
        }
        if let Some(version) = self.material_version {
            position.insert("material_version".into(), json!(version));
        }
        (!position.is_empty()).then_some(Value::Object(position))
    }
}

impl Winner {
    fn to_json(&self) -> Value {
        let mut winner = Map::new();
        winner.insert("revision".into(), json!(self.revision));
        winner.insert("event".into(), json!(self.event));
        winner.insert("to_state".into(), json!(self.to_state));
        winner.insert("at".into(), json!(self.at));
        winner.insert("same_command".into(), json!(self.same_command));
        if let Some(actor) = &self.actor {
            winner.insert("actor".into(), json!(actor));
        }
        Value::Object(winner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_in_the_order_of_the_reasons() {
        for (index, entry) in CATALOGUE.iter().enumerate() {
            assert_eq!(entry.reason as usize, index, "{}", entry.slug);
        }
    }

    #[test]
    fn codes_and_slugs_are_unique() {
        for (index, entry) in CATALOGUE.iter().enumerate() {
            for other in &CATALOGUE[index + 1..] {
                assert_ne!(entry.code, other.code);
                assert_ne!(entry.slug, other.slug);
            }
        }
    }

    #[test]
    fn detail_is_one_line() {
        let refusal = Refusal::new(Reason::StaleRevision, "a\nb").with("note", "line\nbreak");
        assert!(!refusal.detail().to_string().contains('\n'));
    }
}
