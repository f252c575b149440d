//! What operators do to instances from outside their machine: end one, take one in that stands
//! somewhere already, carry one over to another version of its definition, decide in the place of
//! those who are asked.

use std::collections::BTreeMap;

use super::chain::Chain;
use super::command::{choose, complete, current, standing_state};
use super::seats::revision_only;
use super::work::check_lease;
use super::{Instance, Plan, Rejection, StepKind, World};
use crate::definition::{Decision, Definition, State};
use crate::refusal::{Position, Reason, Refusal};

/// What `wf_cancel` does: the instance ends where it stands.
pub fn cancel(
    definition: &Definition,
    instance: &Instance,
    expected_revision: i64,
) -> Result<Plan, Rejection> {
    let expected = revision_only(expected_revision);
    let decide = || {
        current(instance, &expected)?;
        let here = standing_state(definition, instance)?;
        let mut chain = Chain::new(definition, instance);
        chain.stay(StepKind::Cancel, here);
        Ok(chain.finish())
    };
    decide().map_err(|rejection| complete(rejection, instance, &expected, None))
}

/// What `wf_adopt` does: a new instance, whose row has revision and round 0, in the state that its
/// business object has reached without the engine. It stands there: no `always` edge is tried.
pub fn adopt(definition: &Definition, instance: &Instance) -> Result<Plan, Rejection> {
    let Some(state) = definition.state(&instance.state) else {
        let message = format!("the definition has no state {}", instance.state);
        return Err(Refusal::new(Reason::NoSuchTransition, message).into());
    };
    let mut chain = Chain::new(definition, instance);
    chain.start_in(state);
    Ok(chain.finish())
}

/// Takes an edge in the place of those who are asked.
#[derive(Clone, Debug)]
pub struct Override<'a> {
    /// The event.
    pub event: &'a str,
    /// Revision the operator saw.
    pub expected_revision: i64,
    /// Material the operator saw.
    pub material_version: i32,
}

/// What `wf_override` does: who may take the edge is set aside (roles, seats and their votes,
/// holders, separation of duties), what must be true is not (revision, material, lease, guards,
/// resources).
pub fn overrule(
    definition: &Definition,
    instance: &Instance,
    command: &Override<'_>,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let expected = Position {
        state: None,
        revision: Some(command.expected_revision),
        material_version: Some(command.material_version),
    };
    let mut decide = || {
        if !definition.has_event(command.event) {
            let message = format!("the definition has no event {}", command.event);
            return Err(instance.refuse(Reason::NoSuchTransition, message).into());
        }
        let here = standing_state(definition, instance)?;
        check_lease(instance, &definition.states[here], world)?;
        current(instance, &expected)?;
        let branches = definition.states[here].branches(command.event);
        if branches.len() == 0 {
            let message = format!(
                "the event {} does not belong to state {}",
                command.event, instance.state
            );
            return Err(instance.refuse(Reason::WrongState, message).into());
        }
        let edge = choose(instance, branches, world)?;
        let mut chain = Chain::new(definition, instance);
        chain.overrule(here, edge, world)?;
        chain.settle(world)
    };
    decide().map_err(|rejection| complete(rejection, instance, &expected, None))
}

/// What `wf_migrate` does to one open instance. `state_map` names the new states of old ones; a
/// state that it does not name keeps its name. The steps are those of the new machine.
///
/// Where the state keeps its name and asks the same question, the visit goes on: round, seats,
/// votes, claims and due dates stay. Anywhere else the state is entered anew, in a new round.
pub fn migrate(
    from: &Definition,
    to: &Definition,
    instance: &Instance,
    state_map: &BTreeMap<String, String>,
    world: &mut impl World,
) -> Result<Plan, Rejection> {
    let old = &from.states[standing_state(from, instance)?];
    let name = state_map.get(&instance.state).unwrap_or(&instance.state);
    let Some(target) = to.state(name) else {
        let message = format!("the new version has no state {name}");
        return Err(instance.refuse(Reason::NotMigratable, message).into());
    };
    let new = &to.states[target];
    let mut chain = Chain::new(to, instance);
    chain.migrate(target, !continues(old, new));
    chain.settle(world)
}

/// Whether a visit to one state goes on in the other.
fn continues(old: &State, new: &State) -> bool {
    old.name == new.name
        && old.is_final == new.is_final
        && old.task == new.task
        && (old.task.is_none() || verdicts(old) == verdicts(new))
}

/// The events by which votes were given, with their sides.
fn verdicts(state: &State) -> Vec<(&str, Decision)> {
    let verdicts = state.edges.iter().filter_map(|edge| {
        let decision = edge.decision?;
        Some((edge.event.as_str(), decision))
    });
    let mut verdicts: Vec<_> = verdicts.collect();
    verdicts.dedup();
    verdicts
}
