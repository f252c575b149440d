//! The commands, each as one function from rows to a plan.

use super::authority::{authorize, direct};
use super::chain::{Chain, first_true, guard_refused};
use super::draws::settle;
use super::work::check_lease;
use super::{Instance, Plan, Rejection, World};
use crate::definition::{Definition, Edge, OnSupersede, StateId};
use crate::refusal::{Position, Reason, Refusal};

/// Takes one edge of an instance that the caller has seen.
#[derive(Clone, Debug)]
pub struct Transition<'a> {
    /// State the caller saw.
    pub from_state: &'a str,
    /// State the caller wants.
    pub to_state: &'a str,
    /// Revision the caller saw.
    pub expected_revision: i64,
    /// Material the caller saw.
    pub material_version: i32,
    /// Event, where several lead from one state to the other.
    pub event: Option<&'a str>,
}

/// Sends an event to an instance wherever it stands.
#[derive(Clone, Debug)]
pub struct Send<'a> {
    /// The event.
    pub event: &'a str,
    /// Revision the caller saw, if it looked.
    pub expected_revision: Option<i64>,
    /// Material the caller saw, if it looked.
    pub material_version: Option<i32>,
}

/// What a page may offer.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The event.
    pub event: String,
    /// Where it would lead.
    pub to_state: String,
    /// Why the caller may not send it now.
    pub blocker: Option<Reason>,
}

/// The first steps of a new instance, whose row has revision and round 0.
pub fn start(
    definition: &Definition,
    instance: &Instance,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let mut chain = Chain::new(definition, instance);
    chain.start();
    chain.settle(world)
}

/// What `wf_transition` does.
pub fn transition(
    definition: &Definition,
    instance: &Instance,
    command: &Transition<'_>,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let expected = Position {
        state: Some(command.from_state.to_owned()),
        revision: Some(command.expected_revision),
        material_version: Some(command.material_version),
    };
    let plan = decide_transition(definition, instance, command, &expected, world);
    plan.map_err(|rejection| complete(rejection, instance, &expected, Some(command.to_state)))
}

fn decide_transition(
    definition: &Definition,
    instance: &Instance,
    command: &Transition<'_>,
    expected: &Position,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let (from, edge) = named_edge(definition, instance, command)?;
    authorize(definition, instance, from, edge, world)?;
    check_lease(instance, &definition.states[from], world)?;
    current(instance, expected)?;
    if instance.state != command.from_state {
        let message = format!(
            "the instance is in state {}, the command belongs to {}",
            instance.state, command.from_state
        );
        return Err(instance.refuse(Reason::WrongState, message).into());
    }
    direct(instance, edge, world)?;
    let branches = definition.states[from].branches(&edge.event);
    let chosen = choose(instance, branches, world)?;
    if chosen.target != edge.target {
        let leads_to = &definition.states[chosen.target].name;
        let message = format!(
            "the guards lead {} to {leads_to}, not to {}",
            edge.event, command.to_state
        );
        return Err(instance
            .refuse(Reason::GuardRefused, message)
            .with("path", chosen.path.clone())
            .with("leads_to", leads_to.clone())
            .into());
    }
    authorize(definition, instance, from, chosen, world)?;
    take(definition, instance, from, chosen, world)
}

/// What `wf_send` does.
pub fn send(
    definition: &Definition,
    instance: &Instance,
    command: &Send<'_>,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let expected = Position {
        state: None,
        revision: command.expected_revision,
        material_version: command.material_version,
    };
    let plan = decide_send(definition, instance, command, &expected, world);
    plan.map_err(|rejection| complete(rejection, instance, &expected, None))
}

fn decide_send(
    definition: &Definition,
    instance: &Instance,
    command: &Send<'_>,
    expected: &Position,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    if !definition.has_event(command.event) {
        let message = format!("the definition has no event {}", command.event);
        return Err(instance.refuse(Reason::NoSuchTransition, message).into());
    }
    let from = standing_state(definition, instance)?;
    let here: Vec<&Edge> = definition.states[from].branches(command.event).collect();
    if decides(definition, &here, command.event) {
        if command.expected_revision.is_none() {
            return Err(Rejection::MissingArgument("expected_revision"));
        }
        if command.material_version.is_none() {
            return Err(Rejection::MissingArgument("material_version"));
        }
    }
    if let Some(edge) = here.first() {
        authorize(definition, instance, from, edge, world)?;
    }
    check_lease(instance, &definition.states[from], world)?;
    current(instance, expected)?;
    if here.is_empty() {
        let message = format!(
            "the event {} does not belong to state {}",
            command.event, instance.state
        );
        return Err(instance.refuse(Reason::WrongState, message).into());
    }
    for edge in &here {
        direct(instance, edge, world)?;
    }
    let chosen = choose(instance, here.into_iter(), world)?;
    authorize(definition, instance, from, chosen, world)?;
    take(definition, instance, from, chosen, world)
}

/// What a new material does to an open instance; `material_version` of the row is the old one.
pub fn supersede(
    definition: &Definition,
    instance: &Instance,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let here = standing_state(definition, instance)?;
    let back_to = match definition.states[here].on_supersede {
        OnSupersede::Stay => None,
        OnSupersede::GoTo(target) => Some(target),
        OnSupersede::Refuse => {
            let message = format!("state {} does not take new material", instance.state);
            return Err(instance.refuse(Reason::MaterialFrozen, message).into());
        }
    };
    let mut chain = Chain::new(definition, instance);
    chain.supersede(here, back_to);
    chain.settle(world)
}

/// What the caller may do with the instance as it stands, one entry per event.
pub fn actions(
    definition: &Definition,
    instance: &Instance,
    world: &mut impl World,
) -> Result<Vec<Action>, Rejection> {
    let here = standing_state(definition, instance)?;
    let mut actions: Vec<Action> = Vec::new();
    for edge in &definition.states[here].edges {
        if actions.iter().any(|action| action.event == edge.event) {
            continue;
        }
        let command = Send {
            event: &edge.event,
            expected_revision: Some(instance.revision),
            material_version: Some(instance.material_version),
        };
        let (target, blocker) = match send(definition, instance, &command, world) {
            Ok(plan) => {
                let short = settle(plan.movements(), |resource| world.balance(resource));
                (plan.first().to, short.err().map(|refusal| refusal.reason))
            }
            // What is sent along is not known yet, and may make the guard true.
            Err(Rejection::Refused(refusal)) if waits_for_payload(&refusal) => (edge.target, None),
            Err(Rejection::Refused(refusal)) => (edge.target, Some(refusal.reason)),
            Err(rejection) => return Err(rejection),
        };
        let to_state = definition.states[target].name.clone();
        actions.push(Action {
            event: edge.event.clone(),
            to_state,
            blocker,
        });
    }
    Ok(actions)
}

fn waits_for_payload(refusal: &Refusal) -> bool {
    let unknown = refusal
        .extra
        .get("verdict")
        .is_some_and(|verdict| verdict == "unknown");
    let paths = ["guard", "expression"].map(|key| refusal.extra.get(key)?.as_str());
    unknown
        && paths
            .into_iter()
            .flatten()
            .any(|path| path.contains("payload"))
}

/// The event that a transition means, where the definition leaves no doubt.
pub fn event_of(definition: &Definition, command: &Transition<'_>) -> Option<String> {
    let edges = edges_between(definition, command)?;
    let mut events = edges.map(|edge| edge.event.as_str());
    let first = events.next()?;
    events.all(|event| event == first).then(|| first.to_owned())
}

fn edges_between<'a>(
    definition: &'a Definition,
    command: &'a Transition<'_>,
) -> Option<impl Iterator<Item = &'a Edge>> {
    let from = definition.state(command.from_state)?;
    let to = definition.state(command.to_state)?;
    let edges = definition.states[from].edges.iter();
    Some(edges.filter(move |edge| {
        edge.target == to && command.event.is_none_or(|event| event == edge.event)
    }))
}

/// Completes a refusal with what the caller expected.
pub(super) fn complete(
    rejection: Rejection,
    instance: &Instance,
    expected: &Position,
    target: Option<&str>,
) -> Rejection {
    match rejection {
        Rejection::Refused(mut refusal) => {
            refusal.expected = expected.clone();
            refusal.already_in_target = target == Some(instance.state.as_str());
            Rejection::Refused(refusal)
        }
        other => other,
    }
}

/// The edge that a transition names by its states and, where needed, its event.
fn named_edge<'a>(
    definition: &'a Definition,
    instance: &Instance,
    command: &'a Transition<'_>,
) -> Result<(StateId, &'a Edge), Rejection> {
    let (from, to) = (command.from_state, command.to_state);
    let mut edges = edges_between(definition, command).into_iter().flatten();
    let Some(edge) = edges.next() else {
        let by = command
            .event
            .map(|event| format!(" by {event}"))
            .unwrap_or_default();
        let message = format!("the definition has no edge from {from} to {to}{by}");
        return Err(instance.refuse(Reason::NoSuchTransition, message).into());
    };
    if let Some(other) = edges.find(|other| other.event != edge.event) {
        return Err(Rejection::Ambiguous(format!(
            "both {} and {} lead from {from} to {to}: name the event",
            edge.event, other.event
        )));
    }
    let from = definition.by_name[from];
    Ok((from, edge))
}

/// Whether the event is a verdict where the instance stands or, if it does not belong there,
/// anywhere.
fn decides(definition: &Definition, here: &[&Edge], event: &str) -> bool {
    if here.is_empty() {
        definition
            .states
            .iter()
            .any(|state| state.branches(event).any(|edge| edge.decision.is_some()))
    } else {
        here.iter().any(|edge| edge.decision.is_some())
    }
}

/// Whether the instance still is what the caller saw, as far as the caller said.
pub(super) fn current(instance: &Instance, expected: &Position) -> Result<(), Rejection> {
    if let Some(version) = expected.material_version
        && version != instance.material_version
    {
        let message = format!(
            "expected material {version}, actual {}",
            instance.material_version
        );
        return Err(instance.refuse(Reason::StaleMaterial, message).into());
    }
    if let Some(revision) = expected.revision
        && revision != instance.revision
    {
        let message = format!("expected revision {revision}, actual {}", instance.revision);
        return Err(instance.refuse(Reason::StaleRevision, message).into());
    }
    if instance.closed {
        let message = format!("the instance has ended in state {}", instance.state);
        return Err(instance.refuse(Reason::Closed, message).into());
    }
    Ok(())
}

/// The branch that the guards choose.
pub(super) fn choose<'e>(
    instance: &Instance,
    branches: impl Iterator<Item = &'e Edge> + Clone,
    world: &mut impl World,
) -> Result<&'e Edge, Rejection> {
    if let Some(edge) = first_true(instance, branches.clone(), &instance.standing(), world)? {
        return Ok(edge);
    }
    match branches.last() {
        Some(edge) => Err(guard_refused(instance, edge, "false").into()),
        None => Err(instance
            .refuse(Reason::WrongState, "no branch belongs to this state")
            .into()),
    }
}

pub(super) fn take(
    definition: &Definition,
    instance: &Instance,
    from: StateId,
    edge: &Edge,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let mut chain = Chain::new(definition, instance);
    chain.follow(from, edge, world)?;
    chain.settle(world)
}

/// The state a row names. Definitions are immutable, so a row that names none is damage, not a lost
/// race; it still must not take the backend down.
pub(super) fn standing_state(
    definition: &Definition,
    instance: &Instance,
) -> Result<StateId, Rejection> {
    definition.state(&instance.state).ok_or_else(|| {
        let message = format!("the definition has no state {}", instance.state);
        instance.refuse(Reason::NoSuchTransition, message).into()
    })
}
