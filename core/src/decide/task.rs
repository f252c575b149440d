//! Commands on one task: a vote, and who holds the task until then.

use uuid::Uuid;

use super::authority::{check_duties, check_edge, check_seat};
use super::command::{choose, complete, current, standing_state, take};
use super::votes::{self, Ballot, Tally, Verdict, Voice};
use super::work::check_lease;
use super::{CountedVote, Instance, Plan, Rejection, SeatTask, World};
use crate::definition::{Decision, Definition, Task};
use crate::refusal::{Position, Reason, Refusal};

/// A vote of one seat.
#[derive(Clone, Debug)]
pub struct Vote<'a> {
    /// The task.
    pub task: Uuid,
    /// The event by which it votes.
    pub event: &'a str,
    /// Revision the caller saw.
    pub expected_revision: i64,
    /// Material the caller saw.
    pub material_version: i32,
    /// How the task ended, if it has.
    pub ended: Option<Ended>,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// COMPLETED, SUPERSEDED or CANCELLED.
    pub status: String,
    /// Revision of the instance by which it ended.
    pub revision: Option<i64>,
    /// Why, if not by its own vote.
    pub reason: Option<String>,
}

/// What a vote does.
#[derive(Clone, Debug, PartialEq)]
pub enum VotePlan {
    /// It is counted, and the round goes on.
    Counted {
        /// The vote.
        vote: CountedVote,
        /// The count, this vote included.
        tally: Tally,
    },
    /// It decides the round.
    Decides {
        /// The vote.
        vote: CountedVote,
        /// The count, this vote included; none if the event is no vote for or against.
        tally: Option<Tally>,
        /// The steps it takes.
        plan: Plan,
    },
}

/// What `wf_decide` does. The task is one of the instance's present round, or `None` if it is not.
pub fn vote(
    definition: &Definition,
    instance: &Instance,
    command: &Vote<'_>,
    world: &mut impl World,
) -> Result<VotePlan, Rejection> {
    let expected = Position {
        state: None,
        revision: Some(command.expected_revision),
        material_version: Some(command.material_version),
    };
    decide_vote(definition, instance, command, &expected, world)
        .map_err(|rejection| complete(rejection, instance, &expected, None))
        .map_err(|rejection| about(rejection, command.task))
}

fn decide_vote(
    definition: &Definition,
    instance: &Instance,
    command: &Vote<'_>,
    expected: &Position,
    world: &mut impl World,
) -> Result<VotePlan, Rejection> {
    if !definition.has_event(command.event) {
        let message = format!("the definition has no event {}", command.event);
        return Err(instance.refuse(Reason::NoSuchTransition, message).into());
    }
    let from = standing_state(definition, instance)?;
    let state = &definition.states[from];
    let mine = instance.tasks.iter().find(|task| task.id == command.task);
    if let (Some(task), Some(rules)) = (mine, &state.task) {
        if !task.entrusted_to(world.actor()) {
            check_seat(instance, &task.seat, &task.roles, world)?;
        }
        check_duties(instance, rules, task.delegated_by.as_deref(), world)?;
        check_lease(instance, state, world)?;
    }
    if let Some(ended) = command
        .ended
        .as_ref()
        .filter(|ended| ended.status != "COMPLETED")
    {
        // What became of the task says more than that the revision has moved: that is why it ended.
        current(
            instance,
            &Position {
                revision: None,
                ..expected.clone()
            },
        )
        .or_else(unless_closed)?;
        return Err(task_over(instance, ended).into());
    }
    current(instance, expected)?;
    let (Some(task), Some(rules)) = (mine, &state.task) else {
        let ended = command.ended.clone().unwrap_or(Ended {
            status: "COMPLETED".to_owned(),
            revision: None,
            reason: None,
        });
        return Err(task_over(instance, &ended).into());
    };
    let branches = state.branches(command.event);
    if branches.len() == 0 {
        let message = format!(
            "the event {} does not belong to state {}",
            command.event, instance.state
        );
        return Err(instance.refuse(Reason::WrongState, message).into());
    }
    may_vote(instance, task, rules, world)?;
    let edge = choose(instance, branches, world)?;
    check_edge(instance, edge, world)?;

    let vote = CountedVote {
        event: command.event.to_owned(),
        in_favour: edge.decision == Some(Decision::Approve),
        voter: world.actor().to_owned(),
        on_behalf_of: task.delegated_by.clone(),
    };
    let tally = match edge.decision {
        Some(Decision::Approve | Decision::Reject) => {
            let tally = tally(rules, instance, Some((task.id, vote.in_favour)));
            let sides_with = if vote.in_favour {
                Verdict::Approved
            } else {
                Verdict::Rejected
            };
            if tally.verdict != sides_with {
                return Ok(VotePlan::Counted { vote, tally });
            }
            Some(tally)
        }
        // Sent back, or no verdict at all: moves at once.
        Some(Decision::Return) | None => None,
    };
    let plan = take(definition, instance, from, edge, world)?;
    Ok(VotePlan::Decides { vote, tally, plan })
}

/// Lets a refusal pass that only says that the instance has ended.
fn unless_closed(rejection: Rejection) -> Result<(), Rejection> {
    match rejection {
        Rejection::Refused(refusal) if refusal.reason == Reason::Closed => Ok(()),
        other => Err(other),
    }
}

fn task_over(instance: &Instance, ended: &Ended) -> Refusal {
    let message = format!("the task is {}", ended.status);
    let mut refusal = instance.refuse(Reason::TaskNotOpen, message);
    refusal
        .extra
        .insert("task_status".into(), ended.status.clone().into());
    if let Some(revision) = ended.revision {
        refusal
            .extra
            .insert("closed_revision".into(), revision.into());
    }
    if let Some(reason) = &ended.reason {
        refusal
            .extra
            .insert("task_reason".into(), reason.clone().into());
    }
    refusal
}

/// Whether this person may vote on this task now.
fn may_vote(
    instance: &Instance,
    task: &SeatTask,
    rules: &Task,
    world: &impl World,
) -> Result<(), Rejection> {
    let actor = world.actor();
    if let Some(holder) = &task.holder
        && holder != actor
    {
        let message = "another person holds the task";
        return Err(instance.refuse(Reason::NotAuthorized, message).into());
    }
    if !task.open {
        let message = format!("seat {} has a counted vote in this round", task.seat);
        return Err(instance.refuse(Reason::AlreadyVoted, message).into());
    }
    if rules.one_vote_each {
        let people: Vec<&str> = std::iter::once(actor)
            .chain(task.delegated_by.as_deref())
            .collect();
        let voted = instance
            .tasks
            .iter()
            .filter_map(|task| task.vote.as_ref())
            .flat_map(|vote| std::iter::once(&vote.voter).chain(&vote.on_behalf_of))
            .any(|voter| people.contains(&voter.as_str()));
        if voted {
            let message = "this person has a counted vote in this round";
            return Err(instance.refuse(Reason::AlreadyVoted, message).into());
        }
    }
    Ok(())
}

/// Counts the round, with one more vote if given.
pub(super) fn tally(rules: &Task, instance: &Instance, extra: Option<(Uuid, bool)>) -> Tally {
    let ballots: Vec<Ballot> = instance
        .tasks
        .iter()
        .map(|task| {
            let voice = match (&task.vote, extra) {
                (_, Some((id, in_favour))) if id == task.id => voice(in_favour),
                (Some(vote), _) => voice(vote.in_favour),
                (None, _) => Voice::Open,
            };
            Ballot {
                voice,
                veto: task.veto,
            }
        })
        .collect();
    votes::count(rules.rule, rules.reject, &ballots)
}

fn voice(in_favour: bool) -> Voice {
    if in_favour {
        Voice::Approve
    } else {
        Voice::Reject
    }
}

/// Who holds a task, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// The holder; `None` leaves the task to whoever has the role.
    pub holder: Option<String>,
    /// For whom the holder acts.
    pub delegated_by: Option<String>,
    /// Whether it came to them (or to who delegated it) by their own claim.
    pub claimed: bool,
}

/// What becomes of a task's holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handover {
    /// It stays as it is.
    Unchanged,
    /// It is written, and logged.
    To(Holding),
}

/// What `wf_task_claim` does. Who has the task already may claim it anew `for_a_time`.
pub fn claim(
    definition: &Definition,
    instance: &Instance,
    task: Uuid,
    ended: Option<&Ended>,
    for_a_time: bool,
    world: &mut impl World,
) -> Result<Handover, Rejection> {
    with_open(instance, task, ended, world, |task, world| {
        match &task.holder {
            Some(holder) if holder == world.actor() => {
                // What others entrusted to the holder does not run out.
                let own_claim = task.claimed && task.delegated_by.is_none();
                if !(for_a_time && own_claim) {
                    return Ok(Handover::Unchanged);
                }
                let holder = Some(holder.clone());
                return Ok(Handover::To(Holding {
                    holder,
                    delegated_by: None,
                    claimed: true,
                }));
            }
            Some(_) => {
                let message = "another person holds the task";
                return Err(instance.refuse(Reason::AlreadyClaimed, message).into());
            }
            None => {}
        }
        entitled(definition, instance, task, world)?;
        let holder = Some(world.actor().to_owned());
        Ok(Handover::To(Holding {
            holder,
            delegated_by: None,
            claimed: true,
        }))
    })
}

/// What `wf_task_release` does: a delegated task comes back to the delegator.
pub fn release(
    instance: &Instance,
    task: Uuid,
    ended: Option<&Ended>,
    world: &mut impl World,
) -> Result<Handover, Rejection> {
    with_open(instance, task, ended, world, |task, world| {
        match &task.holder {
            None => Ok(Handover::Unchanged),
            Some(holder) if holder == world.actor() => {
                let holder = task.delegated_by.clone();
                Ok(Handover::To(Holding {
                    holder,
                    delegated_by: None,
                    claimed: task.claimed,
                }))
            }
            Some(_) => {
                let message = "another person holds the task";
                Err(instance.refuse(Reason::NotAuthorized, message).into())
            }
        }
    })
}

/// What `wf_task_assign` does, whoever holds the task now.
pub fn assign(
    instance: &Instance,
    task: Uuid,
    ended: Option<&Ended>,
    to: &str,
    world: &mut impl World,
) -> Result<Handover, Rejection> {
    with_open(instance, task, ended, world, |_, _| {
        Ok(Handover::To(Holding {
            holder: Some(to.to_owned()),
            delegated_by: None,
            claimed: false,
        }))
    })
}

/// What `wf_task_delegate` does: `to` acts for whoever had the task.
pub fn delegate(
    definition: &Definition,
    instance: &Instance,
    task: Uuid,
    ended: Option<&Ended>,
    to: &str,
    world: &mut impl World,
) -> Result<Handover, Rejection> {
    with_open(instance, task, ended, world, |task, world| {
        hand_over(definition, instance, task, world)?;
        let claimed = task.claimed || task.holder.is_none();
        let principal = task
            .delegated_by
            .clone()
            .unwrap_or_else(|| world.actor().to_owned());
        if principal == to {
            return Ok(Handover::To(Holding {
                holder: Some(principal),
                delegated_by: None,
                claimed,
            }));
        }
        Ok(Handover::To(Holding {
            holder: Some(to.to_owned()),
            delegated_by: Some(principal),
            claimed,
        }))
    })
}

/// What `wf_task_transfer` does: the task is `to`'s from now on.
pub fn transfer(
    definition: &Definition,
    instance: &Instance,
    task: Uuid,
    ended: Option<&Ended>,
    to: &str,
    world: &mut impl World,
) -> Result<Handover, Rejection> {
    with_open(instance, task, ended, world, |task, world| {
        hand_over(definition, instance, task, world)?;
        Ok(Handover::To(Holding {
            holder: Some(to.to_owned()),
            delegated_by: None,
            claimed: false,
        }))
    })
}

/// Whether the actor may give the task to somebody else: its holder, or anybody of its role while
/// nobody holds it.
fn hand_over<W: World>(
    definition: &Definition,
    instance: &Instance,
    task: &SeatTask,
    world: &mut W,
) -> Result<(), Rejection> {
    match &task.holder {
        Some(holder) if holder == world.actor() => {
            let from = standing_state(definition, instance)?;
            match &definition.states[from].task {
                Some(rules) => check_duties(instance, rules, task.delegated_by.as_deref(), world),
                None => Ok(()),
            }
        }
        Some(_) => {
            let message = "another person holds the task";
            Err(instance.refuse(Reason::NotAuthorized, message).into())
        }
        None => entitled(definition, instance, task, world),
    }
}

/// Whether the actor could decide the task, were it free.
fn entitled<W: World>(
    definition: &Definition,
    instance: &Instance,
    task: &SeatTask,
    world: &mut W,
) -> Result<(), Rejection> {
    check_seat(instance, &task.seat, &task.roles, world)?;
    let from = standing_state(definition, instance)?;
    match &definition.states[from].task {
        Some(rules) => check_duties(instance, rules, None, world),
        None => Ok(()),
    }
}

fn with_open<W: World, T>(
    instance: &Instance,
    id: Uuid,
    ended: Option<&Ended>,
    world: &mut W,
    decide: impl FnOnce(&SeatTask, &mut W) -> Result<T, Rejection>,
) -> Result<T, Rejection> {
    let open = instance
        .tasks
        .iter()
        .find(|task| task.id == id && task.open);
    let result = match (open, ended) {
        (Some(task), _) => decide(task, world),
        (None, Some(ended)) => Err(task_over(instance, ended).into()),
        (None, None) => Err(instance
            .refuse(Reason::TaskNotOpen, "the task is over")
            .into()),
    };
    result.map_err(|rejection| about(rejection, id))
}

/// Names the task a rejection is about.
fn about(rejection: Rejection, task: Uuid) -> Rejection {
    match rejection {
        Rejection::Refused(mut refusal) => {
            refusal.task_id = Some(task);
            Rejection::Refused(refusal)
        }
        other => other,
    }
}
