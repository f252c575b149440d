//! The gate of an instance that many want: a queue in front of its row.
//!
//! Sessions that wait for a row are all woken by each commit, find the row held again, and wait anew;
//! of those that wait at a gate one is woken at a time. So the gate is taken before the row is touched, and what is read after it is read with a fresh snapshot. It is never
//! waited for by a transaction that holds locks already: that one could stand in the way of those
//! that are inside, so it tries, and else goes on without. Whether through the gate or past it,
//! everybody ends in the same conditional update.

use uuid::Uuid;
use workflow_core::definition::{Definition, LockMode};

use crate::engine::command::Command;
use crate::engine::contention::{Heat, Key};
use crate::engine::failure::{Failure, busy};
use crate::pg::backend;
use crate::pg::turnstile::Turnstile;
use crate::settings;

/// How one command goes about one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Read, decide, move.
    Optimistic,
    /// The gate, then the same.
    Gated,
    /// The gate, the row's lock, then the same.
    Pessimistic,
}

/// The lock mode: the call's wins over the definition's, and that over the default.
pub fn mode(forced: Option<LockMode>, machine: &Definition) -> LockMode {
    forced.or(machine.lock_mode).unwrap_or(LockMode::Adaptive)
}

/// The way and the counts of an instance. `forced` wins over the definition, the definition over
/// what is measured.
pub fn way<'a>(
    command: &'a Command<'_>,
    id: Uuid,
    forced: Option<LockMode>,
    machine: &Definition,
) -> (Way, Heat<'a>) {
    let mode = mode(forced, machine);
    let key = Key::instance(&command.caller.tenant, id);
    let heat = Heat::of(key, mode == LockMode::Adaptive);
    let way = match mode {
        LockMode::Optimistic => Way::Optimistic,
        LockMode::Pessimistic => Way::Pessimistic,
        LockMode::Adaptive if heat.is_gated() => Way::Gated,
        LockMode::Adaptive => Way::Optimistic,
    };
    (way, heat)
}

/// Whether the gate is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// To the end of the transaction.
    Inside,
    /// It was taken, and the transaction may not wait for it.
    Around,
}

/// Passes the gate of an instance, within the budget.
pub fn enter(command: &Command<'_>, id: Uuid, heat: &mut Heat<'_>) -> Result<Passage, Failure> {
    pass(command, &gate_of(command, id), heat)
}

/// Passes the gates of several instances, in the order of the gates.
pub fn enter_all<'a>(
    command: &'a Command<'_>,
    instances: impl Iterator<Item = (Uuid, Heat<'a>)>,
) -> Result<(), Failure> {
    let mut gates: Vec<_> = instances
        .map(|(id, heat)| (gate_of(command, id), heat))
        .collect();
    gates.sort_by_key(|(gate, _)| gate.order());
    for (gate, mut heat) in gates {
        pass(command, &gate, &mut heat)?;
    }
    Ok(())
}

fn gate_of(command: &Command<'_>, id: Uuid) -> Turnstile {
    Turnstile::new(&command.caller.tenant, id.as_bytes())
}

fn pass(command: &Command<'_>, gate: &Turnstile, heat: &mut Heat<'_>) -> Result<Passage, Failure> {
    if gate.try_pass() {
        heat.gate_free();
        return Ok(Passage::Inside);
    }
    heat.gate_taken();
    if backend::holds_locks() {
        return Ok(Passage::Around);
    }
    let waiting = gate.waiting();
    if waiting >= settings::gate_waiters() {
        let mut refusal = busy("too many commands wait for the instance", 1);
        refusal.retry_after_ms = Some(heat.gave_up(waiting));
        return Err(refusal.into());
    }
    if gate.pass(&command.budget).is_err() {
        let mut refusal = busy("the gate of the instance was not passed in time", 1);
        refusal.retry_after_ms = Some(heat.gave_up(waiting));
        return Err(refusal.into());
    }
    heat.gate_passed();
    Ok(Passage::Inside)
}
