//! The state machines of a run, as the model understands them and as specs for `wf_define`.
//!
//! They are built for trouble: loops that come back to the same state (a revision is all that tells
//! the visits apart), self-transitions, an approval that is not the end, guards that can be
//! unknown, `always` edges, several open instances over one application, rounds of several seats.

use serde_json::{Map, Value, json};

use crate::panel::{Panel, seat};

/// What a guard says about data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    /// Data is missing or of the wrong type.
    Unknown,
}

/// The guards of a run: a closed list, because the model must know what each one means without
/// evaluating SQL/JSON paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guard {
    AmountAbove(i64),
    AmountBelow(i64),
    PayloadOk,
    RoundFrom(i32),
}

/// What a guard may look at.
pub struct Facts<'a> {
    pub material: &'a Value,
    pub payload: Option<&'a Value>,
    pub round: i32,
}

impl Guard {
    fn path(self) -> String {
        match self {
            Guard::AmountAbove(limit) => format!("$.material.amount > {limit}"),
            Guard::AmountBelow(limit) => format!("$.material.amount < {limit}"),
            Guard::PayloadOk => "$.payload.ok == true".to_owned(),
            Guard::RoundFrom(round) => format!("$.instance.round >= {round}"),
        }
    }

    /// A number compares with a number and a boolean with a boolean; anything else is unknown.
    pub fn test(self, facts: &Facts<'_>) -> Truth {
        let known = match self {
            Guard::AmountAbove(limit) => facts.material["amount"].as_i64().map(|a| a > limit),
            Guard::AmountBelow(limit) => facts.material["amount"].as_i64().map(|a| a < limit),
            Guard::PayloadOk => facts.payload.and_then(|payload| payload["ok"].as_bool()),
            Guard::RoundFrom(round) => Some(facts.round >= round),
        };
        match known {
            Some(true) => Truth::True,
            Some(false) => Truth::False,
            None => Truth::Unknown,
        }
    }
}

/// One branch of one event, or of `always`.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Empty on `always` edges.
    pub event: &'static str,
    pub target: &'static str,
    pub guard: Option<Guard>,
    pub decision: Option<&'static str>,
    pub roles: &'static [&'static str],
    pub publish: bool,
}

/// What new material does to an instance in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supersede {
    Stay,
    Refuse,
    Back(&'static str),
}

#[derive(Clone, Debug)]
pub struct State {
    pub name: &'static str,
    pub last: bool,
    pub on: Vec<Edge>,
    pub always: Vec<Edge>,
    pub panel: Option<Panel>,
    pub supersede: Supersede,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub name: &'static str,
    pub version: i32,
    pub concurrent: bool,
    pub initial: &'static str,
    pub states: Vec<State>,
}

impl Machine {
    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|state| state.name == name)
    }

    pub fn has_event(&self, event: &str) -> bool {
        self.edges().any(|edge| edge.event == event)
    }

    /// Whether the event is a verdict in some state.
    pub fn decides(&self, event: &str) -> bool {
        self.edges()
            .any(|edge| edge.event == event && edge.decision.is_some())
    }

    fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.states.iter().flat_map(|state| &state.on)
    }

    /// The spec for `wf_define`.
    pub fn spec(&self) -> Value {
        let mut states = Map::new();
        for state in &self.states {
            states.insert(state.name.to_owned(), state.spec());
        }
        let mut spec = json!({"id": self.name, "initial": self.initial, "states": states});
        if self.concurrent {
            spec["meta"] = json!({"concurrent": true});
        }
        spec
    }
}

impl State {
    fn spec(&self) -> Value {
        if self.last {
            return json!({"type": "final"});
        }
        let mut on: Map<String, Value> = Map::new();
        for edge in &self.on {
            let branches = on.entry(edge.event).or_insert_with(|| json!([]));
            branches.as_array_mut().expect("a list").push(edge.spec());
        }
        let mut meta = Map::new();
        meta.insert(
            "on_supersede".to_owned(),
            match self.supersede {
                Supersede::Stay => json!("stay"),
                Supersede::Refuse => json!("refuse"),
                Supersede::Back(state) => json!(state),
            },
        );
        if let Some(panel) = &self.panel {
            meta.insert("task".to_owned(), panel.spec());
        }
        let mut spec = json!({"on": on, "meta": meta});
        if !self.always.is_empty() {
            spec["always"] = self.always.iter().map(Edge::spec).collect();
        }
        spec
    }
}

impl Edge {
    fn spec(&self) -> Value {
        let mut meta = Map::new();
        if let Some(decision) = self.decision {
            meta.insert("decision".to_owned(), json!(decision));
        }
        if !self.roles.is_empty() {
            meta.insert("roles".to_owned(), json!(self.roles));
        }
        if !self.publish {
            meta.insert("publish".to_owned(), json!(false));
        }
        let mut spec = json!({"target": self.target});
        if let Some(guard) = self.guard {
            spec["guard"] = json!(guard.path());
        }
        if !meta.is_empty() {
            spec["meta"] = Value::Object(meta);
        }
        spec
    }

    pub fn guard(mut self, guard: Guard) -> Edge {
        self.guard = Some(guard);
        self
    }

    pub fn decision(mut self, decision: &'static str) -> Edge {
        self.decision = Some(decision);
        self
    }

    pub fn roles(mut self, roles: &'static [&'static str]) -> Edge {
        self.roles = roles;
        self
    }

    pub fn unpublished(mut self) -> Edge {
        self.publish = false;
        self
    }
}

pub fn on(event: &'static str, target: &'static str) -> Edge {
    Edge {
        event,
        target,
        guard: None,
        decision: None,
        roles: &[],
        publish: true,
    }
}

pub fn always(target: &'static str) -> Edge {
    on("", target)
}

pub fn state(name: &'static str, supersede: Supersede, on: Vec<Edge>) -> State {
    State {
        name,
        last: false,
        on,
        always: Vec::new(),
        panel: None,
        supersede,
    }
}

pub fn last(name: &'static str) -> State {
    let mut state = state(name, Supersede::Stay, Vec::new());
    state.last = true;
    state
}

impl State {
    pub fn seat(self, name: &'static str, roles: &'static [&'static str]) -> State {
        self.panel(Panel::of(&[seat(name, roles)]))
    }

    pub fn panel(mut self, panel: Panel) -> State {
        self.panel = Some(panel);
        self
    }

    pub fn always(mut self, edges: Vec<Edge>) -> State {
        self.always = edges;
        self
    }
}
