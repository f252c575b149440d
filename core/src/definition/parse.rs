//! From a spec to a machine: the shape of the document, then the machine as a whole.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::findings::{Finding, Findings, child, quote};
use super::keys::{self, Place};
use super::names::{Kind, Names};
use super::{Definition, LockMode, State, StateId, check};

/// Most states a definition may have.
pub const MAX_STATES: usize = 20_000;

/// Most branches a definition may have, `always` included.
pub const MAX_EDGES: usize = 100_000;

/// A machine as far as its spec was understood.
#[derive(Default)]
pub(super) struct Draft {
    /// `None` if the spec names no state of the machine.
    pub(super) initial: Option<StateId>,
    pub(super) states: Vec<State>,
    /// What is known about each state beyond the compiled form.
    pub(super) notes: Vec<Note>,
}

/// What the checks have to know about a state's spec.
pub(super) struct Note {
    /// JSON pointer to the state.
    pub(super) path: String,
    /// Whether `meta.on_supersede` is there, right or wrong.
    pub(super) says_supersede: bool,
    /// Whether the author may have meant edges that could not be read. Such a state is not blamed
    /// for having none.
    pub(super) hides_edges: bool,
}

/// Reads one spec.
#[derive(Default)]
pub(super) struct Reader<'s> {
    pub(super) findings: Findings,
    pub(super) names: Names<'s>,
    pub(super) states: HashMap<&'s str, StateId>,
    pub(super) edges: usize,
}

/// Validates a definition spec and compiles it; see the module for the rules. There is a definition
/// exactly if no finding is an error. Findings are sorted by path, then message.
pub fn parse(spec: &Value) -> (Option<Definition>, Vec<Finding>) {
    let mut reader = Reader::default();
    let definition = reader.machine(spec);
    let sound = !reader.findings.has_errors();
    (definition.filter(|_| sound), reader.findings.sorted())
}

impl<'s> Reader<'s> {
    fn machine(&mut self, spec: &'s Value) -> Option<Definition> {
        let spec = self.findings.object(spec, "")?;
        keys::vet(Place::Machine, spec, "", &mut self.findings);
        self.machine_type(spec);
        let name = self.required_text(spec, "id");
        if let Some(name) = name {
            self.names
                .vet(Kind::Machine, name, "/id", &mut self.findings);
        }
        let (concurrent, lock_mode) = self.machine_meta(spec);
        let initial = self.required_text(spec, "initial");
        let draft = self.draft(spec, initial)?;
        check::check(&draft, &mut self.findings);
        compile(name?, draft, concurrent, lock_mode)
    }

    fn machine_type(&mut self, spec: &Map<String, Value>) {
        let Some(value) = spec.get("type") else {
            return;
        };
        match self.findings.text(value, "/type") {
            None | Some("compound") => {}
            Some("parallel") => self
                .findings
                .error("/type", "parallel states are not supported"),
            Some(other) => {
                let message = format!("unknown machine type {}", quote(other));
                self.findings.error("/type", message);
            }
        }
    }

    fn machine_meta(&mut self, spec: &Map<String, Value>) -> (bool, Option<LockMode>) {
        let meta = spec
            .get("meta")
            .and_then(|meta| self.findings.object(meta, "/meta"));
        let Some(meta) = meta else {
            return (false, None);
        };
        keys::vet(Place::MachineMeta, meta, "/meta", &mut self.findings);
        let concurrent = self.findings.flag(meta, "concurrent", "/meta");
        let modes = [
            ("optimistic", LockMode::Optimistic),
            ("pessimistic", LockMode::Pessimistic),
            ("adaptive", LockMode::Adaptive),
        ];
        let lock_mode = self.findings.word(meta, "lock_mode", "/meta", &modes);
        (concurrent.unwrap_or(false), lock_mode)
    }

    /// A string that every machine has.
    fn required_text(&mut self, spec: &'s Map<String, Value>, key: &str) -> Option<&'s str> {
        let path = child("", key);
        match spec.get(key) {
            Some(value) => self.findings.text(value, &path),
            None => {
                self.findings.error(path, format!("missing `{key}`"));
                None
            }
        }
    }

    /// The states; `None` if there is nothing that the checks could look at.
    fn draft(&mut self, spec: &'s Map<String, Value>, initial: Option<&str>) -> Option<Draft> {
        let Some(states) = spec.get("states") else {
            self.findings.error("/states", "missing `states`");
            return None;
        };
        let states = self.findings.object(states, "/states")?;
        if states.is_empty() {
            self.findings
                .error("/states", "a machine needs at least one state");
            return None;
        }
        if states.len() > MAX_STATES {
            let message = format!("more than {MAX_STATES} states");
            self.findings.error("/states", message);
            return None;
        }
        let ids = states.keys().enumerate();
        self.states = ids.map(|(id, name)| (name.as_str(), id)).collect();

        let mut draft = Draft::default();
        for (name, value) in states {
            let (state, note) = self.state(name, value);
            draft.states.push(state);
            draft.notes.push(note);
            if self.edges > MAX_EDGES {
                let message = format!("more than {MAX_EDGES} edges");
                self.findings.error("/states", message);
                return None;
            }
        }
        draft.initial = initial.and_then(|name| self.resolve(name, "/initial"));
        Some(draft)
    }

    /// The state that is meant by a name, or a finding.
    pub(super) fn resolve(&mut self, name: &str, path: &str) -> Option<StateId> {
        let state = self.states.get(name).copied();
        if state.is_none() {
            let message = match name.chars().next() {
                None => "must name a state, not be empty".to_owned(),
                Some('#' | '.') => format!(
                    "not supported: {} (a target is the plain name of a state)",
                    quote(name)
                ),
                Some(_) => format!("there is no state {}", quote(name)),
            };
            self.findings.error(path, message);
        }
        state
    }
}

fn compile(
    name: &str,
    draft: Draft,
    concurrent: bool,
    lock_mode: Option<LockMode>,
) -> Option<Definition> {
    let initial = draft.initial?;
    let states = draft.states;
    let named = states.iter().enumerate();
    let by_name: HashMap<String, StateId> =
        named.map(|(id, state)| (state.name.clone(), id)).collect();
    let edges = states.iter().flat_map(|state| &state.edges);
    let mut events = HashSet::new();
    for edge in edges {
        if !events.contains(&edge.event) {
            events.insert(edge.event.clone());
        }
    }
    Some(Definition {
        name: name.to_owned(),
        initial,
        states,
        by_name,
        concurrent,
        lock_mode,
        events,
    })
}
