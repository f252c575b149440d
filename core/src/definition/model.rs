//! The machine as the engine runs it: names resolved to indexes, branches in order.

use std::collections::{HashMap, HashSet};

/// Index of a state in [`Definition::states`].
pub type StateId = usize;

/// A sound, published state machine. Built by [`super::parse`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The machine's name, `id` in the spec.
    pub name: String,
    /// Where an instance starts.
    pub initial: StateId,
    /// All states.
    pub states: Vec<State>,
    /// State name to index. Names compare bytewise.
    pub by_name: HashMap<String, StateId>,
    /// Whether one application may have several open instances (`meta.concurrent`).
    pub concurrent: bool,
    /// How commands on one instance are arbitrated (`meta.lock_mode`); `None` leaves it to the
    /// server.
    pub lock_mode: Option<LockMode>,
    pub(super) events: HashSet<String>,
}

/// `meta.lock_mode` of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Read, decide, write under the condition that nothing changed; try again if something did.
    Optimistic,
    /// Wait for the row first.
    Pessimistic,
    /// Optimistic until commands on the instance are seen to race.
    Adaptive,
}

/// One state.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// `type: "final"`: entering it closes the instance.
    pub is_final: bool,
    /// Edges of `on`, sorted by event, branches of one event in the order of the spec.
    pub edges: Vec<Edge>,
    /// Edges of `always`, in order; taken on entry by the first true guard.
    pub always: Vec<Edge>,
    /// Edges of `after`, shortest delay first; taken by time.
    pub after: Vec<Timer>,
    /// Whether new material, facts and changed seats start the timers again (`after.restart`).
    pub restart: bool,
    /// The human work that is opened on entry.
    pub task: Option<Task>,
    /// What a new material does to an instance that stands here.
    pub on_supersede: OnSupersede,
    /// Whether commands that leave the state must present a lease (`meta.lease: "required"`).
    pub lease_required: bool,
    /// How machines go about the state's work (`meta.retry`).
    pub retry: Option<Retry>,
}

/// `meta.retry` of a state: what becomes of work that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is tried; `None`: without end.
    pub max_attempts: Option<i32>,
    /// Longest delay after the first failure, in milliseconds; doubled with each further one.
    pub base_ms: u64,
    /// Ceiling of the delay.
    pub max_ms: u64,
    /// Where the instance goes when the attempts are used up; `None`: it stays.
    pub exhausted: Option<StateId>,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            max_attempts: None,
            base_ms: 1_000,
            max_ms: 300_000,
            exhausted: None,
        }
    }
}

impl Retry {
    /// How long to wait after this many attempts: twice as long each time up to the ceiling, of
    /// which `jitter` (0 to 1) takes away up to one half, so that what failed together does not
    /// come back together.
    pub fn delay_ms(&self, attempts: i32, jitter: f64) -> u64 {
        let doublings = u32::try_from(attempts.max(1) - 1).unwrap_or(0).min(40);
        let full = self.base_ms.saturating_mul(1 << doublings).min(self.max_ms);
        full - ((full / 2) as f64 * jitter.clamp(0.0, 1.0)) as u64
    }

    /// Whether work that was tried so often is not tried again.
    pub fn is_exhausted(&self, attempts: i32) -> bool {
        self.max_attempts.is_some_and(|most| attempts >= most)
    }
}

/// How the events of timers begin; the delay as it is written follows.
pub const AFTER: &str = "after.";

/// The edges of one delay of `after`.
#[derive(Clone, Debug, PartialEq)]
pub struct Timer {
    /// [`AFTER`] and the delay as written: the name of the timer, and of the step it takes.
    pub event: String,
    /// How long after the entry into the state.
    pub delay: Delay,
    /// What it leads to, tried in order.
    pub branches: Vec<Edge>,
}

/// When a timer is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delay {
    /// This long after the entry, as PostgreSQL reads an interval.
    Span(String),
    /// At the due date of the state's task.
    Due,
}

/// One branch of one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The event's name; empty on `always` edges, that of the timer on edges of `after`.
    pub event: String,
    /// Where it leads.
    pub target: StateId,
    /// SQL/JSON path predicate as written; `None` is true.
    pub guard: Option<String>,
    /// JSON pointer to this branch in the spec.
    pub path: String,
    /// Set where the edge is a verdict on the material.
    pub decision: Option<Decision>,
    /// Roles of which the actor must hold one; empty admits everybody.
    pub roles: Vec<String>,
    /// Whether the step goes to the outbox (`meta.publish`, true unless the spec says false).
    pub publish: bool,
    /// What the step gives back to resources and takes from them, in this order.
    pub draws: Vec<Draw>,
}

/// What an edge takes from a resource, or gives back to it (`meta.consume`, `meta.restock`).
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Which of the two.
    pub direction: Direction,
    /// Key of the resource.
    pub resource: Term<String>,
    /// How much, more than nothing.
    pub quantity: Term<i64>,
    /// JSON pointer to this draw in the spec.
    pub path: String,
}

impl Draw {
    /// Its paths, each with the JSON pointer to it.
    pub fn paths(&self) -> impl Iterator<Item = (&String, String)> {
        let resource = match &self.resource {
            Term::Path(path) => Some((path, format!("{}/resource", self.path))),
            Term::Constant(_) => None,
        };
        let quantity = match &self.quantity {
            Term::Path(path) => Some((path, format!("{}/quantity", self.path))),
            Term::Constant(_) => None,
        };
        resource.into_iter().chain(quantity)
    }
}

/// Out of a resource, or into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `meta.consume`
    Consume,
    /// `meta.restock`
    Restock,
}

/// A value that is given in the definition, or where to find it when the edge is taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Term<T> {
    /// The value.
    Constant(T),
    /// SQL/JSON path over what guards look at.
    Path(String),
}

/// What a verdict says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// In favour.
    Approve,
    /// Against.
    Reject,
    /// Sent back to be mended.
    Return,
}

/// `meta.on_supersede` of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnSupersede {
    /// The instance stays, its tasks are replaced.
    Stay,
    /// New material is refused (`WF020`).
    Refuse,
    /// The instance goes back to this state.
    GoTo(StateId),
}

/// `meta.task` of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Who must speak.
    pub seats: Vec<Seat>,
    /// What is enough for approval.
    pub rule: Rule,
    /// What is enough for rejection.
    pub reject: RejectRule,
    /// Whether the submitter may decide (default true).
    pub self_approval: bool,
    /// States whose deciders may not decide here.
    pub not_same_as: Vec<String>,
    /// Whether one person has one vote in a round, whatever seats they could take (default true).
    pub one_vote_each: bool,
    /// Time from opening to the due date, an ISO 8601 duration.
    pub due: Option<String>,
}

/// How many seats must be in favour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Every seat.
    All,
    /// One seat.
    Any,
    /// This many seats.
    Count(usize),
    /// At least this share of the seats, as an exact fraction.
    Ratio {
        /// Numerator.
        parts: usize,
        /// Denominator, not zero.
        of: usize,
    },
}

/// When a round is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectRule {
    /// When approval has become impossible.
    WhenHopeless,
    /// When this many seats are against (`"first"` is 1), or approval has become impossible.
    After(usize),
}

/// One seat of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Seat {
    /// Its name, unique in the state.
    pub name: String,
    /// Roles of which the decider must hold one; empty admits everybody.
    pub roles: Vec<String>,
    /// Whether its rejection alone decides.
    pub veto: bool,
}

impl Definition {
    /// The state of this name.
    pub fn state(&self, name: &str) -> Option<StateId> {
        self.by_name.get(name).copied()
    }

    /// Whether any state has an edge for this event.
    pub fn has_event(&self, event: &str) -> bool {
        self.events.contains(event)
    }
}

impl State {
    /// The branches of one event, in order.
    pub fn branches(&self, event: &str) -> std::slice::Iter<'_, Edge> {
        let start = self
            .edges
            .partition_point(|edge| edge.event.as_str() < event);
        let rest = &self.edges[start..];
        let end = rest.partition_point(|edge| edge.event == event);
        rest[..end].iter()
    }

    /// Every edge that leads out, whoever takes it.
    pub fn all_edges(&self) -> impl Iterator<Item = &Edge> {
        let timed = self.after.iter().flat_map(|timer| &timer.branches);
        self.edges.iter().chain(&self.always).chain(timed)
    }

    /// Whether machines take the state's work from a queue.
    pub fn is_machine_work(&self) -> bool {
        !self.is_final && (self.lease_required || self.retry.is_some())
    }

    /// The timer of this name.
    pub fn timer(&self, event: &str) -> Option<&Timer> {
        self.after.iter().find(|timer| timer.event == event)
    }

    /// The events that the state answers to, each with its branches.
    pub fn events(&self) -> impl Iterator<Item = (&str, &[Edge])> {
        let groups = self.edges.chunk_by(|a, b| a.event == b.event);
        groups.map(|branches| (branches[0].event.as_str(), branches))
    }
}

impl Rule {
    /// How many of so many seats must be in favour.
    pub fn needed(self, seats: usize) -> usize {
        match self {
            Rule::All => seats,
            Rule::Any => 1,
            Rule::Count(count) => count,
            Rule::Ratio { parts, of } => (seats * parts).div_ceil(of),
        }
    }
}

impl Decision {
    /// The word used in specs, tables and outcomes.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
            Decision::Return => "return",
        }
    }
}
