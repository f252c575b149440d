//! Who may: roles of edges and seats, separation of duties, and who holds a task.

use super::{Instance, Rejection, World};
use crate::definition::{Definition, Edge, StateId, Task};
use crate::refusal::Reason;

/// Roles of the edge and, for a verdict, of the one seat that gives it. Where several seats speak,
/// each answers for itself.
pub(super) fn authorize(
    definition: &Definition,
    instance: &Instance,
    from: StateId,
    edge: &Edge,
    world: &mut impl World,
) -> Result<(), Rejection> {
    check_edge(instance, edge, world)?;
    let Some(task) = definition.states[from]
        .task
        .as_ref()
        .filter(|_| edge.decision.is_some())
    else {
        return Ok(());
    };
    // Seats come and go: where the instance stands, the tasks say who is asked.
    let here = instance.state == definition.states[from].name;
    match (here, instance.tasks.as_slice(), task.seats.as_slice()) {
        (true, [one], _) if one.entrusted_to(world.actor()) => {}
        (true, [one], _) => check_seat(instance, &one.seat, &one.roles, world)?,
        (false, _, [seat]) | (_, [], [seat]) => {
            check_seat(instance, &seat.name, &seat.roles, world)?
        }
        _ => {}
    }
    let principal = match instance.tasks.as_slice() {
        [one] => one.delegated_by.as_deref(),
        _ => None,
    };
    check_duties(instance, task, principal, world)
}

/// Whether the actor holds a role of the edge.
pub(super) fn check_edge(
    instance: &Instance,
    edge: &Edge,
    world: &mut impl World,
) -> Result<(), Rejection> {
    if holds_one(world, &edge.roles) {
        return Ok(());
    }
    let message = format!(
        "{} needs one of the roles {}",
        edge.event,
        edge.roles.join(", ")
    );
    Err(instance.refuse(Reason::NotAuthorized, message).into())
}

/// Whether the actor holds a role of the seat.
pub(super) fn check_seat(
    instance: &Instance,
    name: &str,
    roles: &[String],
    world: &mut impl World,
) -> Result<(), Rejection> {
    if holds_one(world, roles) {
        return Ok(());
    }
    let message = format!("seat {name} needs one of the roles {}", roles.join(", "));
    Err(instance.refuse(Reason::NotAuthorized, message).into())
}

/// Whether the actor, and whoever they act for, may decide, given who submitted and who decided
/// before.
pub(super) fn check_duties(
    instance: &Instance,
    task: &Task,
    principal: Option<&str>,
    world: &mut impl World,
) -> Result<(), Rejection> {
    let actor = world.actor().to_owned();
    let mut people = std::iter::once(actor.as_str()).chain(principal);
    if !task.self_approval
        && people
            .clone()
            .any(|person| submits(instance, person, world))
    {
        let message = "the submitter may not decide";
        return Err(instance.refuse(Reason::NotAuthorized, message).into());
    }
    if task.not_same_as.is_empty() {
        return Ok(());
    }
    let earlier = world.deciders(&task.not_same_as);
    if people.any(|person| earlier.iter().any(|other| same_person(person, other))) {
        let states = task.not_same_as.join(", ");
        let message = format!("who decided in {states} may not decide here");
        let refusal = instance.refuse(Reason::NotAuthorized, message);
        let refusal = refusal.with("not_same_as", task.not_same_as.clone());
        return Err(refusal.into());
    }
    Ok(())
}

/// Whether two names may mean one person who decides twice. Names are compared byte by byte elsewhere;
/// but logins are often typed in either case, and taking two people for one here only asks for a third.
fn same_person(one: &str, other: &str) -> bool {
    let plain =
        |name: &str| -> String { name.trim().chars().flat_map(char::to_lowercase).collect() };
    one == other || plain(one) == plain(other)
}

/// Whether a person started the instance or is the author of the present material.
pub(super) fn submits(instance: &Instance, person: &str, world: &mut impl World) -> bool {
    person == instance.started_by || world.is_author(person)
}

/// Whether the actor holds one of the roles that are needed, if any are.
pub(super) fn holds_one(world: &mut impl World, needed: &[String]) -> bool {
    needed.is_empty() || world.roles().iter().any(|role| needed.contains(role))
}

/// Whether a verdict may be given without naming a task.
pub(super) fn direct(
    instance: &Instance,
    edge: &Edge,
    world: &impl World,
) -> Result<(), Rejection> {
    if edge.decision.is_none() {
        return Ok(());
    }
    match instance.tasks.as_slice() {
        [] => Ok(()),
        [task] => match &task.holder {
            Some(holder) if holder != world.actor() => {
                let message = "another person holds the task";
                let mut refusal = instance.refuse(Reason::NotAuthorized, message);
                refusal.task_id = Some(task.id);
                Err(refusal.into())
            }
            _ => Ok(()),
        },
        tasks => {
            let message = format!(
                "state {} is decided by {} seats",
                instance.state,
                tasks.len()
            );
            Err(instance.refuse(Reason::VotesRequired, message).into())
        }
    }
}
