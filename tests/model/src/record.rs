//! What happened in a round: each command with its answer and the times between which it ran.

use std::time::Instant;

use serde_json::Value;
use uuid::Uuid;

use crate::command::{Action, Command};

/// Microseconds since the run began.
pub type Time = u64;

/// Something happened after `from` and before `to`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: Time,
    pub to: Time,
}

impl Span {
    /// Runs and times `block`. Both ends lie outside what the server does in between.
    pub fn around<T>(epoch: Instant, block: impl FnOnce() -> T) -> (Span, T) {
        let from = epoch.elapsed().as_micros() as Time;
        let result = block();
        // Rounded outwards: two things in one microsecond are not in order.
        let to = epoch.elapsed().as_micros() as Time + 1;
        (Span { from, to }, result)
    }
}

/// A row of `workflow.outcome` (or of `workflow.superseded`).
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub applied: bool,
    pub code: Option<String>,
    pub reason: Option<String>,
    pub instance_id: Option<Uuid>,
    pub application_id: Option<Uuid>,
    pub state: Option<String>,
    pub revision: Option<i64>,
    pub material_version: Option<i32>,
    pub event: Option<String>,
    pub task_ids: Option<Vec<Uuid>>,
    pub replayed: bool,
    pub attempts: i32,
    pub retryable: bool,
    pub retry_after_ms: Option<i32>,
    pub detail: Option<Value>,
    pub instances: Option<i32>,
    pub tasks: Option<i32>,
    /// The instance's work after it, if it was carried out now.
    pub work: Option<i64>,
    /// Whether it wrote to the task log.
    pub logged: bool,
}

/// A row of `workflow.page`, as far as it is checked.
#[derive(Clone, Debug)]
pub struct Page {
    pub instance_id: Uuid,
    pub application_id: Uuid,
    pub business_key: String,
    pub definition: String,
    pub version: i32,
    pub state: String,
    pub revision: i64,
    pub material_version: i32,
    pub material: Option<Value>,
    pub open_tasks: Option<Value>,
    pub actions: Option<Value>,
}

impl Page {
    /// Open tasks: id, revision of the opening, seat.
    pub fn tasks(&self) -> impl Iterator<Item = (Uuid, i64, &str)> {
        let open = self.open_tasks.as_ref().and_then(Value::as_array);
        open.into_iter().flatten().filter_map(|task| {
            let id = task["task_id"].as_str()?.parse().ok()?;
            Some((
                id,
                task["opened_revision"].as_i64()?,
                task["seat"].as_str()?,
            ))
        })
    }
}

/// An error of the server.
#[derive(Clone, Debug)]
pub struct Fault {
    pub code: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub constraint: Option<String>,
}

#[derive(Clone, Debug)]
pub enum Answer {
    Outcome(Box<Outcome>),
    Page(Box<Page>),
    Fault(Fault),
}

/// One command of a transaction.
#[derive(Clone, Debug)]
pub struct Record {
    /// Place among the steps of its transaction.
    pub seq: u32,
    /// The place of the first command of the same call.
    pub call: u32,
    pub command: Command,
    pub span: Span,
    pub answer: Answer,
    /// The step that rolled back to a savepoint before it.
    pub undone: Option<(u32, Span)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// Whether all its statements see one snapshot.
    pub fn keeps_snapshot(self) -> bool {
        self != Isolation::ReadCommitted
    }

    pub fn sql(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Debug)]
pub enum Ending {
    Committed,
    RolledBack,
    /// COMMIT answered with this error.
    Failed(Fault),
}

/// One transaction. Autocommit is one with a single command, which ends as it answers.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub session: usize,
    pub isolation: Isolation,
    /// `workflow.wait_ms` of the session.
    pub wait_ms: i32,
    pub records: Vec<Record>,
    pub ending: Ending,
    pub end: Span,
}

/// Names a record: transaction and place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    pub transaction: usize,
    pub record: usize,
}

impl Transaction {
    /// Whether what this record did is there for good.
    pub fn keeps(&self, record: &Record) -> bool {
        matches!(self.ending, Ending::Committed) && record.undone.is_none()
    }

    /// Between which times the snapshot was taken that this record read from.
    pub fn snapshot(&self, record: &Record) -> Span {
        if self.isolation.keeps_snapshot() {
            self.records[0].span
        } else {
            record.span
        }
    }

    /// Whether it is more than one call.
    pub fn is_long(&self) -> bool {
        self.records
            .iter()
            .any(|record| record.call != self.records[0].call)
    }

    /// From its first command to its end.
    pub fn life(&self) -> Span {
        Span {
            from: self.records[0].span.from,
            to: self.end.to,
        }
    }
}

impl Record {
    /// The outcome of a command that was carried out now, not of one that had been before.
    pub fn applied(&self) -> Option<&Outcome> {
        match &self.answer {
            Answer::Outcome(outcome)
                if outcome.applied && !outcome.replayed && !self.command.is_reader() =>
            {
                Some(outcome)
            }
            _ => None,
        }
    }

    /// Whether its transaction, or the part of it since the last savepoint, is over.
    pub fn failed(&self) -> bool {
        matches!(self.answer, Answer::Fault(_))
    }

    /// Whether it changed something, which a lock does not, nor who takes what they have.
    pub fn writes(&self) -> bool {
        match self.command.action {
            Action::Lock { .. } => false,
            Action::Hand(_) => self.applied().is_some_and(|outcome| outcome.logged),
            _ => self.applied().is_some(),
        }
    }
}
