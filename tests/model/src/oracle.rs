//! The contract as a function: what a command does to an instance, or why it is refused.
//!
//! Written from the contract alone; it shares nothing with the engine.

use serde_json::Value;

use crate::command::{Send, Transition};
use crate::machine::{Edge, Facts, Machine, State, Supersede, Truth};

/// An instance at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub state: &'static str,
    pub revision: i64,
    pub material: i32,
    pub round: i32,
    pub entered: i64,
    pub closed: bool,
}

/// A history row.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub revision: i64,
    pub kind: &'static str,
    pub from: Option<&'static str>,
    pub to: &'static str,
    /// `None` on `always` edges and administrative steps.
    pub event: Option<&'static str>,
    pub decision: Option<&'static str>,
    pub round: i32,
    pub material: i32,
    pub publish: bool,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub node: Node,
    pub steps: Vec<Step>,
}

/// What is to be said to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Applied(Effect),
    /// Refused with this code.
    Refused(&'static str),
    /// An argument is missing: 22004.
    Missing,
    /// An argument can mean two things or nothing: 22023.
    Invalid,
}

/// What a command rests on beside the instance.
pub struct Scene<'a> {
    pub machine: &'a Machine,
    pub material: &'a Value,
    pub payload: Option<&'a Value>,
    pub roles: &'a [&'static str],
}

/// An instance before its first step, over a material.
pub fn unborn(machine: &Machine, material: i32) -> Node {
    Node {
        state: machine.initial,
        revision: 0,
        material,
        round: 0,
        entered: 0,
        closed: false,
    }
}

pub fn start(scene: &Scene<'_>, material: i32) -> Verdict {
    let mut path = Path::new(scene, unborn(scene.machine, material));
    path.step("start", None, scene.machine.initial, None);
    path.enter();
    path.settle()
}

pub fn supersede(scene: &Scene<'_>, node: &Node) -> Verdict {
    let here = state(scene.machine, node.state);
    let mut before = node.clone();
    before.material += 1;
    let mut path = Path::new(scene, before);
    match here.supersede {
        Supersede::Refuse => Verdict::Refused("WF020"),
        Supersede::Stay => {
            path.step("supersede", Some(here.name), here.name, None);
            path.rest()
        }
        Supersede::Back(to) => {
            path.step("supersede", Some(here.name), to, None);
            path.enter();
            path.settle()
        }
    }
}

pub fn transition(scene: &Scene<'_>, node: &Node, command: &Transition) -> Verdict {
    if command.revision < 1 || command.material < 1 {
        return Verdict::Invalid;
    }
    let edges: Vec<&Edge> = match scene.machine.state(&command.from) {
        Some(from) => from.on.iter().filter(|edge| leads(edge, command)).collect(),
        None => Vec::new(),
    };
    let Some(named) = edges.first() else {
        return Verdict::Refused("WF004");
    };
    if edges.iter().any(|edge| edge.event != named.event) {
        return Verdict::Invalid;
    }
    if !authorized(scene, state(scene.machine, &command.from), named) {
        return Verdict::Refused("WF007");
    }
    if let Some(code) = outdated(node, Some(command.revision), Some(command.material)) {
        return Verdict::Refused(code);
    }
    if node.state != command.from {
        return Verdict::Refused("WF003");
    }
    match choose(scene, node, named.event) {
        Some(edge) if edge.target == named.target => follow(scene, node, edge),
        _ => Verdict::Refused("WF011"),
    }
}

/// All that may be said: where an event is a verdict elsewhere but unknown here, a missing version
/// may be noticed before the wrong state or after it.
pub fn send(scene: &Scene<'_>, node: &Node, command: &Send) -> Vec<Verdict> {
    if command.revision.is_some_and(|revision| revision < 1)
        || command.material.is_some_and(|material| material < 1)
    {
        return vec![Verdict::Invalid];
    }
    if !scene.machine.has_event(&command.event) {
        return vec![Verdict::Refused("WF004")];
    }
    let here: Vec<&Edge> = state(scene.machine, node.state)
        .on
        .iter()
        .filter(|edge| edge.event == command.event)
        .collect();
    let incomplete = command.revision.is_none() || command.material.is_none();
    if incomplete && here.iter().any(|edge| edge.decision.is_some()) {
        return vec![Verdict::Missing];
    }
    let mut verdicts = Vec::new();
    if incomplete && here.is_empty() && scene.machine.decides(&command.event) {
        verdicts.push(Verdict::Missing);
    }
    verdicts.push(send_complete(scene, node, command, here.first().copied()));
    verdicts
}

fn send_complete(scene: &Scene<'_>, node: &Node, command: &Send, here: Option<&Edge>) -> Verdict {
    if let Some(edge) = here
        && !authorized(scene, state(scene.machine, node.state), edge)
    {
        return Verdict::Refused("WF007");
    }
    if let Some(code) = outdated(node, command.revision, command.material) {
        return Verdict::Refused(code);
    }
    let Some(edge) = here else {
        return Verdict::Refused("WF003");
    };
    match choose(scene, node, edge.event) {
        Some(edge) => follow(scene, node, edge),
        None => Verdict::Refused("WF011"),
    }
}

fn leads(edge: &Edge, command: &Transition) -> bool {
    edge.target == command.to
        && command
            .event
            .as_deref()
            .is_none_or(|event| event == edge.event)
}

fn state<'a>(machine: &'a Machine, name: &str) -> &'a State {
    machine.state(name).expect("a state of the machine")
}

fn holds_one(roles: &[&str], needed: &[&str]) -> bool {
    needed.is_empty() || needed.iter().any(|role| roles.contains(role))
}

/// The edge's roles and, for a verdict, those of the seat that gives it.
fn authorized(scene: &Scene<'_>, from: &State, edge: &Edge) -> bool {
    let seat = from.seat.filter(|_| edge.decision.is_some());
    holds_one(scene.roles, edge.roles) && seat.is_none_or(|seat| holds_one(scene.roles, seat.roles))
}

/// Material before revision before closed.
fn outdated(node: &Node, revision: Option<i64>, material: Option<i32>) -> Option<&'static str> {
    if material.is_some_and(|material| material != node.material) {
        Some("WF002")
    } else if revision.is_some_and(|revision| revision != node.revision) {
        Some("WF001")
    } else {
        node.closed.then_some("WF013")
    }
}

/// The first branch of an event whose guard is true; none if all are false or one is unknown.
fn choose<'a>(scene: &Scene<'a>, node: &Node, event: &str) -> Option<&'a Edge> {
    let branches = state(scene.machine, node.state).on.iter();
    first_true(
        scene,
        node.round,
        branches.filter(|edge| edge.event == event),
    )
    .ok()?
}

/// `Err` where a guard is unknown before one is true.
fn first_true<'a>(
    scene: &Scene<'_>,
    round: i32,
    branches: impl Iterator<Item = &'a Edge>,
) -> Result<Option<&'a Edge>, ()> {
    let facts = Facts {
        material: scene.material,
        payload: scene.payload,
        round,
    };
    for edge in branches {
        match edge.guard.map_or(Truth::True, |guard| guard.test(&facts)) {
            Truth::True => return Ok(Some(edge)),
            Truth::False => {}
            Truth::Unknown => return Err(()),
        }
    }
    Ok(None)
}

fn follow(scene: &Scene<'_>, node: &Node, edge: &Edge) -> Verdict {
    let mut path = Path::new(scene, node.clone());
    path.step("edge", Some(node.state), edge.target, Some(edge));
    path.enter();
    path.settle()
}

/// Steps that follow each other in one command.
struct Path<'a> {
    scene: &'a Scene<'a>,
    node: Node,
    steps: Vec<Step>,
}

impl<'a> Path<'a> {
    fn new(scene: &'a Scene<'a>, node: Node) -> Path<'a> {
        Path {
            scene,
            node,
            steps: Vec::new(),
        }
    }

    fn step(
        &mut self,
        kind: &'static str,
        from: Option<&'static str>,
        to: &str,
        edge: Option<&Edge>,
    ) {
        let node = &mut self.node;
        let to = state(self.scene.machine, to);
        node.revision += 1;
        node.state = to.name;
        node.closed = to.last;
        self.steps.push(Step {
            kind,
            revision: node.revision,
            from,
            to: to.name,
            event: edge
                .map(|edge| edge.event)
                .filter(|event| !event.is_empty()),
            decision: edge.and_then(|edge| edge.decision),
            // Of the state that is left; of the first state for the start.
            round: node.round.max(1),
            material: node.material,
            publish: edge.is_none_or(|edge| edge.publish),
        });
    }

    /// A state was entered, be it the same as before.
    fn enter(&mut self) {
        self.node.round += 1;
        self.node.entered = self.node.revision;
    }

    /// Follows `always` edges until none is true. An unknown guard refuses the whole command.
    fn settle(mut self) -> Verdict {
        loop {
            let here = state(self.scene.machine, self.node.state);
            match first_true(self.scene, self.node.round, here.always.iter()) {
                Err(()) => return Verdict::Refused("WF011"),
                Ok(None) => return self.rest(),
                Ok(Some(edge)) => {
                    self.step("edge", Some(here.name), edge.target, Some(edge));
                    self.enter();
                }
            }
        }
    }

    fn rest(self) -> Verdict {
        Verdict::Applied(Effect {
            node: self.node,
            steps: self.steps,
        })
    }
}
