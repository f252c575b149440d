//! Guarded quantities: what is taken from them and given back, alone or with a step.
//!
//! Whoever changes a resource holds its row to the end of the transaction, so there are three
//! honest answers and no fourth: done; insufficient, which is said of a balance that nobody else is
//! about to change; and busy. A resource that many want has a gate, passed before the row is
//! touched, so that a commit does not wake everybody who waits. It is never waited for by a
//! transaction that holds locks already; that one goes on without and waits for the row. Whichever
//! way, everybody ends in the same conditional update.

use std::collections::HashMap;

use uuid::Uuid;
use workflow_core::decide::{Movement, Plan, not_found, settle};
use workflow_core::refusal::{Reason, Refusal};

use crate::engine::command::Command;
use crate::engine::failure::{Failure, busy, trigger_interfered};
use crate::pg::backend;
use crate::pg::spi::Spi;
use crate::pg::turnstile::Turnstile;
use crate::pg::value::Value;
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::{self, statements};

/// Most gates that one command takes. Each is an entry of the server's lock table.
const MAX_GATES: usize = 64;

/// Why a balance changes, in the words of `workflow.resource_step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was counted.
    Set,
    /// Something was taken or given back, as the sign of the quantity says.
    Moved,
}

/// The step of an instance that moves a resource.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The instance.
    pub instance: Uuid,
    /// The step's revision.
    pub revision: i64,
}

/// Makes one movement by itself; gives what remains.
pub fn make(command: &Command<'_>, movement: &Movement) -> Result<i64, Failure> {
    let key = movement.resource.as_str();
    refuse_settled(command, [movement])?;
    enter_gates(command, &[key])?;
    if let Some(remaining) = write(command, movement, Why::Moved, None)? {
        return Ok(remaining);
    }
    lock(command, key)?;
    let balance = locked_balance(command, key)?;
    settle([movement], |_| Some(balance))?;
    write(command, movement, Why::Moved, None)?.ok_or_else(interfered)
}

/// Makes several movements of different resources, all or none; gives what remains of each. They
/// are in the order of their keys.
pub fn make_all(command: &Command<'_>, movements: &[Movement]) -> Result<Vec<i64>, Failure> {
    refuse_settled(command, movements)?;
    queue(command, movements)?;
    reserve(command, movements)?;
    movements
        .iter()
        .map(|movement| write(command, movement, Why::Moved, None)?.ok_or_else(interfered))
        .collect()
}

/// Refuses what cannot be had without taking a lock, unless somebody may be about to change that.
pub fn refuse_settled<'m>(
    command: &Command<'_>,
    movements: impl IntoIterator<Item = &'m Movement> + Clone,
) -> Result<(), Failure> {
    let (spi, tenant) = (command.spi, &command.caller.tenant);
    let keys = keys(movements.clone());
    let mut balances = Vec::with_capacity(keys.len());
    for key in &keys {
        balances.push(store::read_resource(spi, tenant, key)?.ok_or_else(|| not_found(key))?);
    }
    if settle(movements.clone(), |key| found(&keys, &balances, key)).is_ok() {
        return Ok(());
    }
    for (key, balance) in keys.iter().zip(&mut balances) {
        match store::watch_resource(spi, tenant, key)? {
            Some(settled) => *balance = settled,
            None => return Ok(()),
        }
    }
    settle(movements, |key| found(&keys, &balances, key))?;
    Ok(())
}

fn found(keys: &[&str], balances: &[i64], wanted: &str) -> Option<i64> {
    let place = keys.binary_search(&wanted).ok()?;
    Some(balances[place])
}

/// Sets a balance, and makes the resource if there is none. `expected` is the balance that was
/// counted against.
pub fn set(
    command: &Command<'_>,
    key: &str,
    balance: i64,
    expected: Option<i64>,
) -> Result<(), Failure> {
    let tenant = &command.caller.tenant;
    let mut known = store::read_resource(command.spi, tenant, key)?.is_some();
    if !known {
        if expected.is_some() {
            return Err(not_found(key).into());
        }
        // Nobody else may be making the same one: then it is there once the lock is had.
        KeyLock::new(LockKind::ResourceName, tenant, key)
            .take(&command.budget)
            .map_err(|_| about(key))?;
        known = store::read_resource(command.spi, tenant, key)?.is_some();
    }
    if !known {
        return insert(command, key, balance);
    }
    enter_gates(command, &[key])?;
    lock(command, key)?;
    let actual = locked_balance(command, key)?;
    if let Some(expected) = expected
        && expected != actual
    {
        let message = format!("{key} was expected to have {expected} and has {actual}");
        let refusal = Refusal::new(Reason::StaleRevision, message);
        return Err(refusal
            .with("resource", key)
            .with("expected_balance", expected)
            .with("remaining", actual)
            .into());
    }
    let movement = Movement {
        resource: key.to_owned(),
        quantity: balance - actual,
    };
    write(command, &movement, Why::Set, None)?.ok_or_else(interfered)?;
    Ok(())
}

fn insert(command: &Command<'_>, key: &str, balance: i64) -> Result<(), Failure> {
    let written = command.spi.run(
        &statements::INSERT_RESOURCE,
        &[
            command.tenant(),
            Value::Text(key),
            Value::Bigint(balance),
            Value::Text(&command.caller.actor),
            Value::Text(command.caller.proof),
            command.request_key(),
        ],
    );
    if written.count() != 1 {
        return Err(trigger_interfered("a trigger kept a resource out"));
    }
    Ok(())
}

/// Passes the gates of everything that will be moved, before any row is locked.
pub fn queue<'m>(
    command: &Command<'_>,
    movements: impl IntoIterator<Item = &'m Movement>,
) -> Result<(), Failure> {
    enter_gates(command, &keys(movements))
}

/// Locks everything that will be moved, in the order of keys, and asks whether there is enough.
/// The instances and tasks it goes with are locked; nothing has been written yet. Of what does not
/// exist there is nothing to lock, and the refusal comes when it is read.
pub fn reserve<'m>(
    command: &Command<'_>,
    movements: impl IntoIterator<Item = &'m Movement> + Clone,
) -> Result<(), Failure> {
    let keys = keys(movements.clone());
    let mut balances = Vec::with_capacity(keys.len());
    for key in &keys {
        lock(command, key)?;
    }
    for key in &keys {
        balances.push(locked_balance(command, key)?);
    }
    settle(movements, |key| found(&keys, &balances, key))?;
    Ok(())
}

/// Locks everything that many steps will move and gives what there is of each; what does not exist
/// is left out. For a command that decides several steps on it before it writes.
pub fn hold<'m>(
    command: &Command<'_>,
    movements: impl IntoIterator<Item = &'m Movement>,
) -> Result<HashMap<String, i64>, Failure> {
    let keys = keys(movements);
    enter_gates(command, &keys)?;
    for key in &keys {
        lock(command, key)?;
    }
    let mut balances = HashMap::with_capacity(keys.len());
    for key in keys {
        let balance = store::read_resource(command.spi, &command.caller.tenant, key)?;
        balances.extend(balance.map(|balance| (key.to_owned(), balance)));
    }
    Ok(balances)
}

/// Writes what a step moves; [`reserve`] or [`hold`] has locked it and found enough.
pub fn record(
    command: &Command<'_>,
    movements: &[Movement],
    origin: Origin,
) -> Result<(), Failure> {
    for movement in movements {
        write(command, movement, Why::Moved, Some(origin))?.ok_or_else(interfered)?;
    }
    Ok(())
}

/// Whether what a plan moves could be moved now, as far as it shows without a lock.
pub fn foresee(spi: &Spi, tenant: &str, plan: &Plan) -> Result<(), Failure> {
    let mut error = None;
    let result = settle(plan.movements(), |key| {
        match store::read_resource(spi, tenant, key) {
            Ok(balance) => balance,
            Err(report) => {
                error = Some(report);
                None
            }
        }
    });
    match error {
        Some(report) => Err(report.into()),
        None => Ok(result?),
    }
}

/// The keys of movements, once each, in order.
fn keys<'m>(movements: impl IntoIterator<Item = &'m Movement>) -> Vec<&'m str> {
    let mut keys: Vec<&str> = movements
        .into_iter()
        .map(|movement| movement.resource.as_str())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn enter_gates(command: &Command<'_>, keys: &[&str]) -> Result<(), Failure> {
    let tenant = &command.caller.tenant;
    let mut gates: Vec<(Turnstile, &str)> = keys
        .iter()
        .take(MAX_GATES)
        .map(|key| (gate_of(tenant, key), *key))
        .collect();
    gates.sort_by_key(|(gate, _)| gate.order());
    for (gate, key) in gates {
        if !gate.try_pass() && !backend::holds_locks() {
            gate.pass(&command.budget).map_err(|_| about(key))?;
        }
    }
    Ok(())
}

/// Instances have gates, too: these have names of their own.
fn gate_of(tenant: &str, key: &str) -> Turnstile {
    Turnstile::new(tenant, format!("resource {key}").as_bytes())
}

/// Locks a resource's row to the end of the transaction, within the budget.
fn lock(command: &Command<'_>, key: &str) -> Result<(), Failure> {
    let row = [command.tenant(), Value::Text(key)];
    if command
        .spi
        .run(&statements::TRY_LOCK_RESOURCE, &row)
        .count()
        > 0
    {
        return Ok(());
    }
    command
        .budget
        .wait(|| command.spi.run(&statements::LOCK_RESOURCE, &row).count())
        .map_err(|_| about(key))?;
    Ok(())
}

fn locked_balance(command: &Command<'_>, key: &str) -> Result<i64, Failure> {
    let row = store::read_resource(command.spi, &command.caller.tenant, key)?;
    Ok(row.ok_or_else(|| not_found(key))?)
}

/// Makes a movement if the row is free and the balance allows it; gives what remains.
fn write(
    command: &Command<'_>,
    movement: &Movement,
    why: Why,
    origin: Option<Origin>,
) -> Result<Option<i64>, Failure> {
    let quantity = movement.quantity;
    let step = match why {
        Why::Set => "set",
        Why::Moved if quantity < 0 => "consume",
        Why::Moved => "restock",
    };
    // i64::MIN is not a quantity: it is no negative of one.
    let least = quantity.min(0).saturating_neg();
    let most = i64::MAX - quantity.max(0);
    let row = command.spi.one(
        &statements::MOVE_RESOURCE,
        &[
            command.tenant(),
            Value::Text(&movement.resource),
            Value::Bigint(quantity),
            Value::Bigint(least),
            Value::Bigint(most),
            Value::Text(step),
            Value::optional(origin, |origin| Value::Uuid(origin.instance)),
            Value::optional(origin, |origin| Value::Bigint(origin.revision)),
            Value::Text(&command.caller.actor),
            Value::Text(command.caller.proof),
            command.request_key(),
        ],
    );
    let Some(row) = row else { return Ok(None) };
    if row.bigint(1)? != 1 {
        return Err(trigger_interfered("a trigger kept a row of the ledger out"));
    }
    Ok(Some(row.bigint(0)?))
}

fn about(key: &str) -> Failure {
    busy("the resource was not had in time", 1)
        .with("resource", key)
        .into()
}

fn interfered() -> Failure {
    trigger_interfered("a trigger kept a resource from moving")
}
