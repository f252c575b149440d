//! Reads edges: one branch, or a list of branches that are tried in order.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::findings::child;
use super::keys::{self, Place};
use super::parse::{MAX_EDGES, Reader};
use super::{Decision, Edge, StateId};

/// Longest guard, in bytes.
const MAX_GUARD: usize = 4096;

/// What takes an edge.
#[derive(Clone, Copy)]
pub(super) enum Trigger<'e> {
    /// An event that somebody sends.
    Event(&'e str),
    /// The engine, at once.
    Always,
    /// Time; the name of the timer.
    After(&'e str),
}

/// When a branch is taken.
enum Guard {
    Always,
    If(String),
    /// It was written in a way that is not understood.
    Unknown,
}

/// What the branches before one leave over.
#[derive(Default)]
struct Tried {
    everything: bool,
    guards: HashSet<String>,
}

impl<'s> Reader<'s> {
    /// The branches that one trigger chooses from, and whether all of them could be read.
    pub(super) fn branches(
        &mut self,
        trigger: Trigger<'_>,
        value: &'s Value,
        path: &str,
    ) -> (Vec<Edge>, bool) {
        let mut tried = Tried::default();
        let Some(list) = value.as_array() else {
            self.edges += 1;
            let edge = self.branch(trigger, value, path, &mut tried);
            let all_read = edge.is_some();
            return (Vec::from_iter(edge), all_read);
        };
        self.edges += list.len();
        if self.edges > MAX_EDGES {
            return (Vec::new(), false);
        }
        let mut edges = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            let path = child(path, &i.to_string());
            edges.extend(self.branch(trigger, value, &path, &mut tried));
        }
        let all_read = edges.len() == list.len();
        (edges, all_read)
    }

    fn branch(
        &mut self,
        trigger: Trigger<'_>,
        value: &'s Value,
        path: &str,
        tried: &mut Tried,
    ) -> Option<Edge> {
        let mut edge = Edge {
            event: trigger.event().to_owned(),
            target: 0,
            guard: None,
            path: path.to_owned(),
            decision: None,
            roles: Vec::new(),
            publish: true,
            draws: Vec::new(),
        };
        let object = match value {
            Value::String(target) => {
                self.vet_order(&Guard::Always, tried, path);
                edge.target = self.resolve(target, path)?;
                return Some(edge);
            }
            Value::Object(object) => object,
            other => {
                self.findings
                    .wrong_type(path, "the name of a state or an object", other);
                return None;
            }
        };
        keys::vet(Place::Edge, object, path, &mut self.findings);
        let guard = self.guard(object, path);
        self.vet_order(&guard, tried, path);
        if let Guard::If(text) = guard {
            edge.guard = Some(text);
        }
        if let Some(meta) = object.get("meta") {
            let path = child(path, "meta");
            if let Some(meta) = self.findings.object(meta, &path) {
                self.edge_meta(meta, &path, trigger, &mut edge);
            }
        }
        edge.target = self.target(object, path)?;
        Some(edge)
    }

    fn vet_order(&mut self, guard: &Guard, tried: &mut Tried, path: &str) {
        if tried.everything {
            let message = "can never be taken: a branch before it has no guard";
            return self.findings.error(path, message);
        }
        match guard {
            Guard::Always => tried.everything = true,
            Guard::If(text) => {
                if !tried.guards.insert(text.clone()) {
                    let message = "can never be taken: a branch before it has the same guard";
                    self.findings.error(path, message);
                }
            }
            Guard::Unknown => {}
        }
    }

    fn target(&mut self, object: &Map<String, Value>, path: &str) -> Option<StateId> {
        let path = child(path, "target");
        let Some(value) = object.get("target") else {
            let message = "missing `target`: every edge leads to a state";
            self.findings.error(path, message);
            return None;
        };
        match value {
            Value::String(name) => self.resolve(name, &path),
            Value::Array(list) => match list.as_slice() {
                [only] => {
                    let path = child(&path, "0");
                    let name = self.findings.text(only, &path)?;
                    self.resolve(name, &path)
                }
                _ => {
                    let message = "must be exactly one state: parallel states are not supported";
                    self.findings.error(path, message);
                    None
                }
            },
            other => {
                self.findings.wrong_type(&path, "a string", other);
                None
            }
        }
    }

    fn guard(&mut self, object: &Map<String, Value>, path: &str) -> Guard {
        let path = child(path, "guard");
        let message = match object.get("guard") {
            // XState 4 calls it `cond`; that key has its own finding.
            None if object.contains_key("cond") => return Guard::Unknown,
            None => return Guard::Always,
            Some(Value::Object(_)) => {
                "not supported: guard objects (a guard is a SQL/JSON path predicate in a string)"
                    .to_owned()
            }
            Some(Value::String(text)) => match fault_of_path("a guard", text) {
                None => return Guard::If(text.clone()),
                Some(fault) => fault,
            },
            Some(other) => {
                self.findings.wrong_type(&path, "a string", other);
                return Guard::Unknown;
            }
        };
        self.findings.error(path, message);
        Guard::Unknown
    }

    fn edge_meta(
        &mut self,
        meta: &'s Map<String, Value>,
        path: &str,
        trigger: Trigger<'_>,
        edge: &mut Edge,
    ) {
        keys::vet(Place::EdgeMeta, meta, path, &mut self.findings);
        let decisions = [Decision::Approve, Decision::Reject, Decision::Return];
        let decisions = decisions.map(|decision| (decision.as_str(), decision));
        edge.decision = self.findings.word(meta, "decision", path, &decisions);
        edge.roles = self.roles(meta, path);
        if meta.get("roles").is_some_and(|list| *list == json!([])) {
            // It reads as "nobody" and would admit everybody.
            let message = "must name a role; leave it out to admit everybody";
            self.findings.error(child(path, "roles"), message);
        }
        let publish = self.findings.flag(meta, "publish", path);
        edge.publish = publish.unwrap_or(true);
        edge.draws = self.draws(meta, path);
        let (decision, roles) = match trigger {
            Trigger::Event(_) => return,
            Trigger::Always => (
                "an `always` edge is no decision: nobody has seen the material",
                "an `always` edge has no roles: the engine takes it, not a person",
            ),
            Trigger::After(_) => (
                "an `after` edge is no decision: time gives no verdict",
                "an `after` edge has no roles: time takes it, not a person",
            ),
        };
        for (key, message) in [("decision", decision), ("roles", roles)] {
            if meta.contains_key(key) {
                self.findings.error(child(path, key), message);
            }
        }
    }
}

impl Trigger<'_> {
    /// The event of the edges that it takes.
    fn event(&self) -> &str {
        match self {
            Trigger::Event(event) | Trigger::After(event) => event,
            Trigger::Always => "",
        }
    }
}

/// What is wrong with a guard or another path, as far as it shows without PostgreSQL.
pub(super) fn fault_of_path(what: &str, text: &str) -> Option<String> {
    let first_word = text
        .trim_start()
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    if text.trim().is_empty() {
        let hint = match what {
            "a guard" => "; leave it out for a branch that is always taken",
            _ => "",
        };
        Some(format!("{what} must not be empty{hint}"))
    } else if text.len() > MAX_GUARD {
        Some(format!("{what} must not be longer than {MAX_GUARD} bytes"))
    } else if text.contains('\0') {
        Some(format!("{what} must not contain U+0000"))
    } else if first_word.eq_ignore_ascii_case("lax") {
        Some(format!(
            "{what} must not be `lax`: missing data has to refuse, so the mode is strict"
        ))
    } else {
        None
    }
}
