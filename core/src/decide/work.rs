//! Machine work: leases that states ask for, and work that has failed too often.

use super::chain::Chain;
use super::{Instance, Lease, Plan, Rejection, StepKind, World};
use crate::definition::{Definition, State, StateId};
use crate::refusal::Reason;

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
