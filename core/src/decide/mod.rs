//! What a command does to an instance, or why it is refused.
//!
//! Each function here takes rows as they were read in one statement and gives a [`Plan`]: the
//! history steps to write and the state to rest in. Whoever carries the plan out does so under the
//! condition that revision, work, state and material are still the ones decided on; if they are
//! not, nothing was done and the question is asked again.
//!
//! The order of the checks is part of the contract, so that the same command always gets the same
//! answer: edge in the definition, role, lease, material, revision, closed, state, task, guards,
//! resources.

mod after;
mod authority;
mod chain;
mod command;
mod draws;
mod operate;
mod seats;
mod task;
mod timer;
pub mod votes;
mod work;

#[cfg(test)]
mod tests;

pub use after::opens;
pub use draws::{Movement, not_found, settle};
pub use operate::{Override, adopt, cancel, migrate, overrule};
pub use seats::{add_seat, remove_seat, withdraw};
pub use work::{Finish, Offer, Taken, exhaust, finish, offer};

pub use timer::{Due, TIMER_ACTOR, Timer, fire};

pub use task::{
    Ended, Handover, Holding, Vote, VotePlan, assign, claim, delegate, release, transfer, vote,
};

pub use command::{
    Action, Send, Transition, actions, event_of, send, start, supersede, transition,
};

use uuid::Uuid;

use crate::definition::{Decision, StateId};
use crate::refusal::{Position, Reason, Refusal};

/// An instance's row, as far as decisions rest on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Its id.
    pub id: Uuid,
    /// The application under review.
    pub application_id: Uuid,
    /// Where it stands.
    pub state: String,
    /// Count of its history rows.
    pub revision: i64,
    /// Count of entries into a state.
    pub round: i32,
    /// The material that decisions are about.
    pub material_version: i32,
    /// Whether it has ended.
    pub closed: bool,
    /// Who started it.
    pub started_by: String,
    /// The tasks of its present round and material, removed seats left out.
    pub tasks: Vec<SeatTask>,
}

/// A task of the present round, as far as decisions rest on it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatTask {
    /// Its id.
    pub id: Uuid,
    /// Name of the seat.
    pub seat: String,
    /// Roles of which the decider must hold one; empty admits everybody.
    pub roles: Vec<String>,
    /// Whether its rejection alone decides.
    pub veto: bool,
    /// Whether it still waits for its vote.
    pub open: bool,
    /// Who has claimed it or had it assigned, while that holds.
    pub holder: Option<String>,
    /// For whom the holder acts.
    pub delegated_by: Option<String>,
    /// Whether it came to its holder (or to who delegated it) by their own claim.
    pub claimed: bool,
    /// Its counted vote.
    pub vote: Option<CountedVote>,
}

impl SeatTask {
    /// Whether somebody entrusted the task to this person, who then needs no role of the seat.
    pub fn entrusted_to(&self, person: &str) -> bool {
        self.holder.as_deref() == Some(person) && (self.delegated_by.is_some() || !self.claimed)
    }
}

/// A vote that has been counted.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedVote {
    /// The event it was given by.
    pub event: String,
    /// In favour or against.
    pub in_favour: bool,
    /// Who gave it.
    pub voter: String,
    /// For whom, if not for themselves.
    pub on_behalf_of: Option<String>,
}

/// What a guard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Take the branch.
    True,
    /// Try the next one.
    False,
    /// Data is missing or of the wrong type: refuse the command.
    Unknown,
}

/// The lease that a command presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lease {
    /// None.
    Absent,
    /// One that stands, and will until the command is committed.
    Holds,
    /// One that is over, and why.
    Lost(String),
}

/// What a decision may ask for while it is made, fetched only where it matters.
pub trait World {
    /// Name of the acting person.
    fn actor(&self) -> &str;
    /// Roles of the acting person.
    fn roles(&mut self) -> &[String];
    /// Whether this person is the author of the present material.
    fn is_author(&mut self, person: &str) -> bool;
    /// Who has decided in these states, in whatever round and on whatever material: who gave a
    /// verdict or a vote there or moved the instance on, and for whom.
    fn deciders(&mut self, states: &[String]) -> Vec<String> {
        let _ = states;
        Vec::new()
    }
    /// Whether an approval or rejection of the present material is in the history.
    fn has_verdict(&mut self) -> bool;
    /// The lease that the command presents.
    fn lease(&mut self) -> Lease {
        Lease::Absent
    }
    /// Evaluates a guard for the instance as it would stand at this point of the plan.
    fn test(&mut self, guard: &str, at: &Standing<'_>) -> Truth;
    /// The JSON text of the one value that a path leads to, looked up where guards look; `None` if
    /// it leads to none, or to several.
    fn value(&mut self, path: &str, at: &Standing<'_>) -> Option<String>;
    /// What is left of a resource, as far as it shows without its lock; `None` if there is none.
    fn balance(&mut self, resource: &str) -> Option<i64>;
}

/// Where an instance stands while a plan is being made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing<'a> {
    /// State whose edges are looked at.
    pub state: &'a str,
    /// Revision before the next step.
    pub revision: i64,
    /// Round of that state.
    pub round: i32,
}

/// Kind of a history row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The first row of an instance.
    Start,
    /// An edge of the definition.
    Edge,
    /// New material came into force.
    Supersede,
    /// A seat was added or removed.
    Seat,
    /// The instance was ended from outside its machine.
    Cancel,
    /// The instance went over to another version of its definition.
    Migrate,
    /// Machine work failed too often.
    Exhaust,
    /// An operator took an edge in the place of those who are asked.
    Override,
}

impl StepKind {
    /// The word used in tables and events.
    pub fn as_str(self) -> &'static str {
        match self {
            StepKind::Start => "start",
            StepKind::Edge => "edge",
            StepKind::Supersede => "supersede",
            StepKind::Seat => "seat",
            StepKind::Cancel => "cancel",
            StepKind::Migrate => "migrate",
            StepKind::Exhaust => "exhaust",
            StepKind::Override => "override",
        }
    }
}

/// One history row to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its kind.
    pub kind: StepKind,
    /// State that is left; `None` for the start, and for a migration, which leaves a state of
    /// another machine.
    pub from: Option<StateId>,
    /// State that is entered, or stayed in by a supersede.
    pub to: StateId,
    /// Event of the edge; `None` for `always` edges and administrative steps.
    pub event: Option<String>,
    /// Verdict of the edge.
    pub decision: Option<Decision>,
    /// Round of the state that is left.
    pub round: i32,
    /// Whether it goes to the outbox.
    pub publish: bool,
    /// What it gives to resources and takes from them.
    pub movements: Vec<Movement>,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// History rows, in order; never empty.
    pub steps: Vec<Step>,
    /// Revision after the last step.
    pub revision: i64,
    /// Round after the last step.
    pub round: i32,
    /// Revision of the last entry into a state; `None` if no state was entered.
    pub entered_revision: Option<i64>,
}

impl Plan {
    /// The state the instance comes to rest in.
    pub fn rest(&self) -> StateId {
        self.steps[self.steps.len() - 1].to
    }

    /// The step the command itself asked for.
    pub fn first(&self) -> &Step {
        &self.steps[0]
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    /// Refused for a reason of the catalogue.
    Refused(Box<Refusal>),
    /// The command cannot be understood without this argument (22004).
    MissingArgument(&'static str),
    /// The command names more than one thing (22023).
    Ambiguous(String),
    /// The arguments ask for what cannot be (22023).
    Invalid(String),
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Rejection {
        Rejection::Refused(Box::new(refusal))
    }
}

impl Instance {
    /// State, revision and material version as they are.
    pub fn position(&self) -> Position {
        Position {
            state: Some(self.state.clone()),
            revision: Some(self.revision),
            material_version: Some(self.material_version),
        }
    }

    fn standing(&self) -> Standing<'_> {
        Standing {
            state: &self.state,
            revision: self.revision,
            round: self.round,
        }
    }

    /// How many tasks of the present round wait for their vote.
    pub fn open_tasks(&self) -> usize {
        self.tasks.iter().filter(|task| task.open).count()
    }

    /// A refusal that shows this instance as it is.
    pub fn refuse(&self, reason: Reason, message: impl Into<String>) -> Refusal {
        let mut refusal = Refusal::new(reason, message);
        refusal.instance_id = Some(self.id);
        refusal.application_id = Some(self.application_id);
        refusal.actual = self.position();
        refusal
    }
}
