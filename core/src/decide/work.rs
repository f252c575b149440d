//! Machine work: leases that states ask for, what a worker has done, and work that has failed too
//! often.

use super::authority::{authorize, direct, holds_one};
use super::chain::Chain;
use super::command::{choose, complete, current, standing_state, take};
use super::{Instance, Lease, Plan, Rejection, StepKind, World};
use crate::definition::{Definition, State, StateId};
use crate::refusal::{Position, Reason, Refusal};

/// Whether the lease that the command presents, if any, allows it to leave the state.
pub(super) fn check_lease(
    instance: &Instance,
    state: &State,
    world: &mut impl World,
) -> Result<(), Rejection> {
    match world.lease() {
        Lease::Holds => Ok(()),
        Lease::Absent if !state.lease_required => Ok(()),
        Lease::Absent => {
            let message = format!(
                "state {} is left under a lease: give lease_key and fence",
                state.name
            );
            Err(instance.refuse(Reason::LeaseLost, message).into())
        }
        Lease::Lost(message) => Err(instance.refuse(Reason::LeaseLost, message).into()),
    }
}

/// An instance as it was when a worker took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Where it stood.
    pub state: String,
    /// Revision of the entry into that state.
    pub entered_revision: i64,
    /// Its revision.
    pub revision: i64,
    /// Its material.
    pub material_version: i32,
}

/// What a worker has done.
#[derive(Clone, Debug)]
pub struct Finish<'a> {
    /// The event.
    pub event: &'a str,
    /// Material that the work is about, if the worker says so.
    pub material_version: Option<i32>,
    /// What the worker took; `None` if nothing is in work under the lease.
    pub taken: Option<&'a Taken>,
}

/// Whether work of a state is there to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The state has no such event.
    Nothing,
    /// The event is for others.
    NotForActor,
    /// It is.
    Open,
}

/// Whether an actor may take work of a state, to be finished with an event.
pub fn offer(definition: &Definition, state: &str, event: &str, world: &mut impl World) -> Offer {
    let Some(state) = definition.state(state) else {
        return Offer::Nothing;
    };
    let mut branches = definition.states[state].branches(event).peekable();
    if branches.peek().is_none() {
        Offer::Nothing
    } else if branches.any(|edge| holds_one(world, &edge.roles)) {
        Offer::Open
    } else {
        Offer::NotForActor
    }
}

/// What `wf_work_finish` does with an instance whose present state was entered at
/// `entered_revision`.
pub fn finish(
    definition: &Definition,
    instance: &Instance,
    entered_revision: i64,
    command: &Finish<'_>,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let expected = Position {
        state: command.taken.map(|taken| taken.state.clone()),
        revision: command.taken.map(|taken| taken.revision),
        material_version: command
            .material_version
            .or(command.taken.map(|taken| taken.material_version)),
    };
    decide_finish(definition, instance, entered_revision, command, world)
        .map_err(|rejection| complete(rejection, instance, &expected, None))
}

fn decide_finish(
    definition: &Definition,
    instance: &Instance,
    entered_revision: i64,
    command: &Finish<'_>,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    if !definition.has_event(command.event) {
        let message = format!("the definition has no event {}", command.event);
        return Err(instance.refuse(Reason::NoSuchTransition, message).into());
    }
    let standing = standing_state(definition, instance)?;
    let known = command
        .taken
        .and_then(|taken| definition.state(&taken.state));
    let from = known.unwrap_or(standing);
    if let Some(edge) = definition.states[from].branches(command.event).next() {
        authorize(definition, instance, from, edge, world)?;
    }
    check_lease(instance, &definition.states[from], world)?;
    let Some(taken) = command.taken else {
        let message = "nothing is in work under this fence";
        return Err(instance.refuse(Reason::LeaseLost, message).into());
    };
    for version in [command.material_version, Some(taken.material_version)] {
        let material = Position {
            material_version: version,
            ..Position::default()
        };
        // Whether it has ended is asked below.
        if version.is_some_and(|version| version != instance.material_version) {
            current(instance, &material)?;
        }
    }
    if entered_revision != taken.entered_revision || instance.closed {
        return Err(moved_on(instance, taken).into());
    }
    let here: Vec<_> = definition.states[from].branches(command.event).collect();
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

/// The visit that the work belongs to is over.
fn moved_on(instance: &Instance, taken: &Taken) -> Refusal {
    let message = format!(
        "the instance has left the visit to state {} that was taken at revision {}",
        taken.state, taken.revision
    );
    instance.refuse(Reason::StaleRevision, message)
}

/// The step to the state for work that has failed too often.
pub fn exhaust(
    definition: &Definition,
    instance: &Instance,
    from: StateId,
    target: StateId,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let mut chain = Chain::new(definition, instance);
    chain.administer(StepKind::Exhaust, from, target);
    chain.settle(world)
}
