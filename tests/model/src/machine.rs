//! The state machines of a run, as the model understands them and as specs for `wf_define`.
//!
//! They are built for trouble: loops that come back to the same state (a revision is all that tells
//! the visits apart), self-transitions, an approval that is not the end, guards that can be
//! unknown, `always` edges, several open instances over one application.

use serde_json::{Map, Value, json};

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

/// The one seat of a state's task.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    pub name: &'static str,
    pub roles: &'static [&'static str],
}

#[derive(Clone, Debug)]
pub struct State {
    pub name: &'static str,
    pub last: bool,
    pub on: Vec<Edge>,
    pub always: Vec<Edge>,
    pub seat: Option<Seat>,
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
        if let Some(seat) = self.seat {
            let seats = json!([{"name": seat.name, "roles": seat.roles}]);
            meta.insert("task".to_owned(), json!({"seats": seats}));
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

    fn guard(mut self, guard: Guard) -> Edge {
        self.guard = Some(guard);
        self
    }

    fn decision(mut self, decision: &'static str) -> Edge {
        self.decision = Some(decision);
        self
    }

    fn roles(mut self, roles: &'static [&'static str]) -> Edge {
        self.roles = roles;
        self
    }

    fn unpublished(mut self) -> Edge {
        self.publish = false;
        self
    }
}

fn on(event: &'static str, target: &'static str) -> Edge {
    Edge {
        event,
        target,
        guard: None,
        decision: None,
        roles: &[],
        publish: true,
    }
}

fn always(target: &'static str) -> Edge {
    on("", target)
}

fn state(name: &'static str, supersede: Supersede, on: Vec<Edge>) -> State {
    State {
        name,
        last: false,
        on,
        always: Vec::new(),
        seat: None,
        supersede,
    }
}

fn last(name: &'static str) -> State {
    let mut state = state(name, Supersede::Stay, Vec::new());
    state.last = true;
    state
}

impl State {
    fn seat(mut self, name: &'static str, roles: &'static [&'static str]) -> State {
        self.seat = Some(Seat { name, roles });
        self
    }

    fn always(mut self, edges: Vec<Edge>) -> State {
        self.always = edges;
        self
    }
}

/// A single reviewer with rework, and an approval that is not the end. `deciders` may approve;
/// one tenant has a definition of its own of the same name, where others may.
pub fn review(deciders: &'static [&'static str]) -> Machine {
    Machine {
        name: "review",
        version: 1,
        concurrent: false,
        initial: "DRAFT",
        states: vec![
            state("DRAFT", Supersede::Stay, vec![on("SUBMIT", "REVIEW")]),
            state(
                "REVIEW",
                Supersede::Stay,
                vec![
                    on("APPROVE", "APPROVED")
                        .decision("approve")
                        .roles(deciders),
                    on("REJECT", "REJECTED").decision("reject"),
                    on("RETURN", "REWORK").decision("return"),
                    on("NOTE", "REVIEW").unpublished(),
                    on("WITHDRAW", "DRAFT").roles(&["author"]),
                ],
            )
            .seat("reviewer", &["reviewer", "chief"]),
            state(
                "REWORK",
                Supersede::Back("REVIEW"),
                vec![on("RESUBMIT", "REVIEW"), on("NOTE", "REWORK")],
            ),
            state(
                "APPROVED",
                Supersede::Back("REVIEW"),
                vec![
                    on("PAY", "PAID").guard(Guard::PayloadOk),
                    on("REOPEN", "REVIEW"),
                ],
            ),
            last("REJECTED"),
            last("PAID"),
        ],
    }
}

/// Thresholds on the material, a state that takes no new material, two events between the same
/// states, and a guarded `always`.
pub fn threshold() -> Machine {
    Machine {
        name: "threshold",
        version: 1,
        concurrent: false,
        initial: "NEW",
        states: vec![
            state(
                "NEW",
                Supersede::Stay,
                vec![
                    on("CHECK", "HIGH").guard(Guard::AmountAbove(10_000)),
                    on("CHECK", "LOW"),
                    on("SKIP", "LOW").roles(&["chief"]),
                    on("TOUCH", "NEW"),
                ],
            ),
            state(
                "LOW",
                Supersede::Back("GATE"),
                vec![on("BACK", "NEW"), on("TOUCH", "LOW")],
            )
            .always(vec![always("DONE").guard(Guard::AmountBelow(10))]),
            state("GATE", Supersede::Stay, vec![on("OPEN", "NEW")]).always(vec![
                always("HIGH").guard(Guard::AmountAbove(10_000)),
                always("NEW").guard(Guard::AmountAbove(100)),
            ]),
            state(
                "HIGH",
                Supersede::Refuse,
                vec![
                    on("OK", "LOW").decision("approve").roles(&["chief"]),
                    on("NO", "NEW").decision("reject"),
                    on("TOUCH", "HIGH").unpublished(),
                ],
            )
            .seat("chief", &["chief"]),
            last("DONE"),
        ],
    }
}

/// Two states that chase each other, in several instances at once over one application. Version 2
/// knows one event more.
pub fn pendulum(version: i32) -> Machine {
    let mut right = vec![
        on("SWING", "LEFT"),
        on("GRADE", "LEFT").decision("return").unpublished(),
        on("PUSH", "RIGHT"),
    ];
    if version > 1 {
        right.push(on("LIFT", "TOP"));
    }
    let mut states = vec![
        state(
            "LEFT",
            Supersede::Stay,
            vec![on("SWING", "RIGHT"), on("PUSH", "LEFT")],
        )
        .always(vec![always("STOPPED").guard(Guard::RoundFrom(40))]),
        state("RIGHT", Supersede::Back("LEFT"), right).seat("grader", &[]),
        last("STOPPED"),
    ];
    if version > 1 {
        states.push(state(
            "TOP",
            Supersede::Stay,
            vec![on("FALL", "LEFT").roles(&["reviewer"])],
        ));
    }
    Machine {
        name: "pendulum",
        version,
        concurrent: true,
        initial: "LEFT",
        states,
    }
}
