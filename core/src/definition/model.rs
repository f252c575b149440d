//! The machine as the engine runs it: names resolved to indexes, branches in order.

use std::collections::HashMap;

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
    pub lock_mode: Option<LockMode>,
}

/// One state.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// `type: "final"`: entering it closes the instance.
    pub is_final: bool,
    /// Edges of `on`, grouped by event, branches of one event in the order of the spec.
    pub edges: Vec<Edge>,
    /// Edges of `always`, in order; taken on entry by the first true guard.
    pub always: Vec<Edge>,
    /// The human work that is opened on entry.
    pub task: Option<Task>,
    /// What a new material does to an instance that stands here.
    pub on_supersede: OnSupersede,
}

/// One branch of one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The event's name; empty on `always` edges.
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
    /// Whether the submitter may decide (default true).
    pub self_approval: bool,
}

/// One seat of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Seat {
    /// Its name, unique in the state.
    pub name: String,
    /// Roles of which the decider must hold one; empty admits everybody.
    pub roles: Vec<String>,
}

impl Definition {
    /// The state of this name.
    pub fn state(&self, name: &str) -> Option<StateId> {
        self.by_name.get(name).copied()
    }
}

impl State {
    /// The branches of one event, in order.
    pub fn branches<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'a Edge> + Clone {
        self.edges.iter().filter(move |edge| edge.event == event)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    Optimistic,
    Pessimistic,
    Adaptive,
}
impl Definition {
    pub fn has_event(&self, e: &str) -> bool {
        self.states
            .iter()
            .any(|s| s.edges.iter().any(|x| x.event == e))
    }
}
