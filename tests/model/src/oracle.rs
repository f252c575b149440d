//! The contract as a function: what a command does to an instance, or why it is refused.
//!
//! Written from the contract alone; it shares nothing with the engine.

use serde_json::Value;

use crate::command::{Action, Send, Transition};
use crate::machine::{Edge, Facts, Machine, State, Supersede, Truth};
use crate::panel::{Count, Panel};
use crate::path::Path;
use crate::task::{Entry, Given, Task};
use crate::{hands, seats, votes};

/// An instance at rest.
#[derive(Clone, PartialEq)]
pub struct Node {
    pub state: &'static str,
    pub revision: i64,
    pub material: i32,
    pub round: i32,
    pub entered: i64,
    pub closed: bool,
    pub work: i64,
    /// The last material that was approved or rejected.
    pub judged: i32,
    pub starter: &'static str,
    /// All it ever had.
    pub tasks: Vec<Task>,
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
    /// The event the answer names.
    pub event: Option<String>,
    /// Places of the tasks it opens.
    pub opened: Vec<usize>,
    /// The task it decides or removes, and for whom the actor decides.
    pub task: Option<(usize, Option<&'static str>)>,
    /// What it writes to the task log instead of steps.
    pub entry: Option<Entry>,
    /// The count it answers, if it does.
    pub count: Option<Count>,
}

/// What is to be said to a command.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a verdict lives for a moment")]
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
    pub actor: &'static str,
    /// The author of the present material.
    pub author: &'static str,
}

/// An instance before its first step, over a material.
pub fn unborn(machine: &Machine, material: i32, starter: &'static str) -> Node {
    Node {
        work: 0,
        judged: 0,
        starter,
        tasks: Vec::new(),
        state: machine.initial,
        revision: 0,
        material,
        round: 0,
        entered: 0,
        closed: false,
    }
}

pub fn start(scene: &Scene<'_>, material: i32) -> Verdict {
    let mut path = Path::new(scene, unborn(scene.machine, material, scene.actor));
    path.step("start", None, scene.machine.initial, None);
    path.enter();
    path.settle()
}

pub fn supersede(scene: &Scene<'_>, node: &Node) -> Verdict {
    let here = state(scene.machine, node.state);
    let mut before = node.clone();
    before.material += 1;
    before.close_open("SUPERSEDED", node.revision + 1);
    let mut path = Path::new(scene, before);
    match here.supersede {
        Supersede::Refuse => Verdict::Refused("WF020"),
        Supersede::Stay => {
            path.step("supersede", Some(here.name), here.name, None);
            // The seats of the round stay, whoever was added or removed.
            path.ask(node.present().map(|(_, task)| task.seat))
        }
        Supersede::Back(to) => {
            path.step("supersede", Some(here.name), to, None);
            path.enter();
            path.settle()
        }
    }
}

/// All that may be said to a command about an instance.
pub fn judge(scene: &Scene<'_>, node: &Node, action: &Action) -> Vec<Verdict> {
    match action {
        Action::Transition(command) | Action::Check(command) => {
            vec![transition(scene, node, command)]
        }
        Action::Send(command) => send(scene, node, command),
        Action::Decide(command) => votes::decide(scene, node, command),
        Action::Hand(command) => vec![hands::hand(scene, node, command)],
        Action::Reseat(command) => vec![seats::reseat(scene, node, command)],
        Action::Supersede { .. } if node.closed => vec![Verdict::Missing],
        Action::Supersede { .. } => vec![supersede(scene, node)],
        _ => Vec::new(),
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
    if !authorized(scene, node, state(scene.machine, &command.from), named) {
        return Verdict::Refused("WF007");
    }
    if let Some(code) = outdated(node, Some(command.revision), Some(command.material)) {
        return Verdict::Refused(code);
    }
    if node.state != command.from {
        return Verdict::Refused("WF003");
    }
    if let Some(code) = not_direct(scene, node, named) {
        return Verdict::Refused(code);
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
        && !authorized(scene, node, state(scene.machine, node.state), edge)
    {
        return Verdict::Refused("WF007");
    }
    if let Some(code) = outdated(node, command.revision, command.material) {
        return Verdict::Refused(code);
    }
    let Some(edge) = here else {
        return Verdict::Refused("WF003");
    };
    if let Some(code) = not_direct(scene, node, edge) {
        return Verdict::Refused(code);
    }
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

pub fn state<'a>(machine: &'a Machine, name: &str) -> &'a State {
    machine.state(name).expect("a state of the machine")
}

pub fn holds_one(roles: &[&str], needed: &[&str]) -> bool {
    needed.is_empty() || needed.iter().any(|role| roles.contains(role))
}

/// Whether a person brought what is to be decided.
pub fn submits(scene: &Scene<'_>, node: &Node, person: &str) -> bool {
    node.starter == person || scene.author == person
}

/// Whether the actor, or for whom they would decide, brought what is to be decided and must not
/// decide it.
pub fn barred(scene: &Scene<'_>, node: &Node, panel: &Panel, principal: Option<&str>) -> bool {
    let people = [Some(scene.actor), principal];
    let mut people = people.into_iter().flatten();
    !panel.self_approval && people.any(|person| submits(scene, node, person))
}

/// The edge's roles and, for a verdict where one seat speaks, those of the seat. Who was
/// entrusted with its task needs none of these.
fn authorized(scene: &Scene<'_>, node: &Node, from: &State, edge: &Edge) -> bool {
    if !holds_one(scene.roles, edge.roles) {
        return false;
    }
    let Some(panel) = from.panel.as_ref().filter(|_| edge.decision.is_some()) else {
        return true;
    };
    let present: Vec<&Task> = node.present().map(|(_, task)| task).collect();
    let principal = match present.as_slice() {
        [one] => one.delegated_by,
        _ => None,
    };
    if barred(scene, node, panel, principal) {
        return false;
    }
    // Seats come and go: where the instance stands, its tasks say who is asked. Several of them are
    // asked one by one, never by a verdict that names no task.
    if node.state == from.name {
        match present.as_slice() {
            [] => {}
            [task] => {
                return task.entrusted_to(scene.actor) || holds_one(scene.roles, task.seat.roles);
            }
            _ => return true,
        }
    }
    match panel.seats.as_slice() {
        [seat] => holds_one(scene.roles, seat.roles),
        _ => true,
    }
}

/// Why a verdict cannot be given without naming a task.
fn not_direct(scene: &Scene<'_>, node: &Node, edge: &Edge) -> Option<&'static str> {
    edge.decision?;
    let present: Vec<&Task> = node.present().map(|(_, task)| task).collect();
    match present.as_slice() {
        [] => None,
        [task] => task
            .holder
            .is_some_and(|holder| holder != scene.actor)
            .then_some("WF007"),
        _ => Some("WF015"),
    }
}

/// Material before revision before closed.
pub fn outdated(node: &Node, revision: Option<i64>, material: Option<i32>) -> Option<&'static str> {
    if material.is_some_and(|material| material != node.material) {
        Some("WF002")
    } else if revision.is_some_and(|revision| revision != node.revision) {
        Some("WF001")
    } else {
        node.closed.then_some("WF013")
    }
}

/// The first branch of an event whose guard is true; none if all are false or one is unknown.
pub fn choose<'a>(scene: &Scene<'a>, node: &Node, event: &str) -> Option<&'a Edge> {
    let branches = state(scene.machine, node.state).on.iter();
    first_true(
        scene,
        node.round,
        branches.filter(|edge| edge.event == event),
    )
    .ok()?
}

/// `Err` where a guard is unknown before one is true.
pub fn first_true<'a>(
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

/// Along an edge. A verdict that names no task is that of the one seat there is.
fn follow(scene: &Scene<'_>, node: &Node, edge: &Edge) -> Verdict {
    let mut before = node.clone();
    let (next, work) = (node.revision + 1, node.work);
    let mut decided = None;
    if edge.decision.is_some()
        && let Some((index, task)) = node.present().next()
    {
        decided = Some((index, task.delegated_by));
        let given = Given {
            event: edge.event.to_owned(),
            actor: scene.actor,
            on_behalf_of: task.delegated_by,
            in_favour: None,
            work,
        };
        before.complete(index, next, given);
    }
    before.close_open("SUPERSEDED", next);
    along(scene, before, edge, decided)
}

/// Takes an edge, with the tasks of the state already closed.
pub fn along(
    scene: &Scene<'_>,
    node: Node,
    edge: &Edge,
    task: Option<(usize, Option<&'static str>)>,
) -> Verdict {
    let from = node.state;
    let mut path = Path::new(scene, node);
    path.task = task;
    path.step("edge", Some(from), edge.target, Some(edge));
    path.enter();
    path.settle()
}
