//! Commands that change who must speak, or take the question back: a seat more, a seat less, and
//! the submitter's withdrawal. Each is an administrative step of its own.

use super::authority::submits;
use super::chain::Chain;
use super::command::{choose, complete, current, standing_state};
use super::task::tally;
use super::votes::{self, Verdict};
use super::{Instance, Plan, Rejection, SeatTask, StepKind, World};
use crate::definition::{Definition, MAX_SEATS, Seat, StateId, Task};
use crate::refusal::{Position, Reason};

/// What `wf_seat_add` does.
pub fn add_seat(
    definition: &Definition,
    instance: &Instance,
    seat: &Seat,
    expected_revision: i64,
) -> Result<Plan, Rejection> {
    let expected = revision_only(expected_revision);
    let decide = || {
        current(instance, &expected)?;
        let (here, _) = deciding_state(definition, instance)?;
        if instance.tasks.len() >= MAX_SEATS {
            return Err(Rejection::Invalid(format!(
                "a round has at most {MAX_SEATS} seats"
            )));
        }
        if instance.tasks.iter().any(|task| task.seat == seat.name) {
            let message = format!("the round has a seat {} already", seat.name);
            return Err(Rejection::Invalid(message));
        }
        let mut chain = Chain::new(definition, instance);
        chain.stay(StepKind::Seat, here);
        Ok(chain.finish())
    };
    decide().map_err(|rejection| complete(rejection, instance, &expected, None))
}

/// What `wf_seat_remove` does: if the votes of the seats that remain decide, the round closes by the
/// last vote of the side that has it.
pub fn remove_seat<'i>(
    definition: &Definition,
    instance: &'i Instance,
    seat: &str,
    expected_revision: i64,
    world: &mut impl World,
) -> Result<(&'i SeatTask, Plan), Rejection> {
    let expected = revision_only(expected_revision);
    let decided = decide_removal(definition, instance, seat, &expected, world);
    decided.map_err(|rejection| complete(rejection, instance, &expected, None))
}

fn decide_removal<'i>(
    definition: &Definition,
    instance: &'i Instance,
    seat: &str,
    expected: &Position,
    world: &mut impl World,
) -> Result<(&'i SeatTask, Plan), Rejection> {
    current(instance, expected)?;
    let (here, rules) = deciding_state(definition, instance)?;
    let Some(task) = instance.tasks.iter().find(|task| task.seat == seat) else {
        return Err(crate::refusal::Refusal::not_found("seat").into());
    };
    if !task.open {
        let message = format!("seat {seat} has a counted vote in this round");
        return Err(instance.refuse(Reason::AlreadyVoted, message).into());
    }
    let rest: Vec<SeatTask> = instance
        .tasks
        .iter()
        .filter(|other| other.id != task.id)
        .cloned()
        .collect();
    if rest.is_empty() || votes::needed(rules.rule, rest.len()) > rest.len() {
        let message = "the seats that remain could not meet the rule".to_owned();
        return Err(Rejection::Invalid(message));
    }
    let remaining = Instance {
        tasks: rest,
        ..instance.clone()
    };
    let tally = tally(rules, &remaining, None);
    let mut chain = Chain::new(definition, instance);
    chain.stay(StepKind::Seat, here);
    if tally.verdict == Verdict::Open {
        return Ok((task, chain.finish()));
    }
    let approved = tally.verdict == Verdict::Approved;
    let votes = remaining.tasks.iter().filter_map(|task| task.vote.as_ref());
    let Some(last) = votes.rev().find(|vote| vote.in_favour == approved) else {
        return Ok((task, chain.finish()));
    };
    let edge = choose(
        instance,
        definition.states[here].branches(&last.event),
        world,
    )?;
    chain.follow(here, edge, world)?;
    Ok((task, chain.settle(world)?))
}

/// What `wf_withdraw` does: the submitter takes the question back while nobody has voted on it.
pub fn withdraw(
    definition: &Definition,
    instance: &Instance,
    expected_revision: i64,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let expected = revision_only(expected_revision);
    let mut decide = || {
        let actor = world.actor().to_owned();
        if !submits(instance, &actor, world) {
            let message = "only the submitter may withdraw";
            return Err(instance.refuse(Reason::NotAuthorized, message).into());
        }
        current(instance, &expected)?;
        let voted = instance.tasks.iter().any(|task| task.vote.is_some());
        if voted || world.has_verdict() {
            let message = "somebody has decided on this material";
            return Err(instance.refuse(Reason::AlreadyVoted, message).into());
        }
        let here = standing_state(definition, instance)?;
        let mut chain = Chain::new(definition, instance);
        chain.stay(StepKind::Cancel, here);
        Ok(chain.finish())
    };
    decide().map_err(|rejection| complete(rejection, instance, &expected, None))
}

pub(super) fn revision_only(revision: i64) -> Position {
    Position {
        state: None,
        revision: Some(revision),
        material_version: None,
    }
}

/// The present state with its task; WF003 if nobody is asked here.
fn deciding_state<'d>(
    definition: &'d Definition,
    instance: &Instance,
) -> Result<(StateId, &'d Task), Rejection> {
    let here = standing_state(definition, instance)?;
    match &definition.states[here].task {
        Some(task) => Ok((here, task)),
        None => {
            let message = format!("state {} has no seats", instance.state);
            Err(instance.refuse(Reason::WrongState, message).into())
        }
    }
}
