//! Machine work: instances handed out one by one, under a lease and a fence.
//!
//! Whoever moves an instance into a state whose work machines do makes its item. Taking passes over
//! what it cannot have at once. Settling locks the lease, then the item, then the instance.

pub mod pace;
pub mod queue;
pub mod rescue;
pub mod settle;
pub mod take;

use uuid::Uuid;
use workflow_core::decide::Taken;

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::lease::Key;
use crate::engine::lease::check::Presented;
use crate::pg::report::Report;
use crate::pg::spi::{Row, Statement};
use crate::pg::value::{Jsonb, Time, Value};
use crate::store::statements;

/// Lease keys of work; the instance's id follows.
const KEYS: &str = "workflow.work/";

/// The lease of an instance's work.
pub fn lease_key(instance: Uuid) -> String {
    format!("{KEYS}{instance}")
}

/// An item in work, or one whose lease has run out.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its instance.
    pub instance: Uuid,
    /// Its lease.
    pub lease: Presented,
    /// The instance as it was taken.
    pub taken: Taken,
    /// How often it was tried, this time included.
    pub attempt: i32,
    /// Where it was in the queue.
    pub waiting_since: Time,
    /// When its lease ends, as the queue knows it.
    pub available_at: Time,
    /// How it failed before.
    pub error: Option<String>,
}

impl Item {
    /// The item that is in work under this fence.
    pub fn read(command: &Command<'_>, instance: Uuid, fence: i64) -> Result<Option<Item>, Report> {
        let key = [
            command.tenant(),
            Value::Uuid(instance),
            Value::Bigint(fence),
        ];
        let row = command.spi.one(&statements::READ_WORK, &key);
        row.map(|row| Item::of(instance, fence, &row)).transpose()
    }

    fn of(instance: Uuid, fence: i64, row: &Row) -> Result<Item, Report> {
        Ok(Item {
            instance,
            lease: Presented {
                key: lease_key(instance),
                fence,
            },
            taken: Taken {
                state: row.text(1)?,
                entered_revision: row.bigint(0)?,
                revision: row.bigint(3)?,
                material_version: row.int(4)?,
            },
            attempt: row.int(2)?,
            waiting_since: row.time(5)?,
            available_at: row.time(6)?,
            error: row.opt_text(7)?,
        })
    }

    /// Whether the lock was had.
    fn lock(&self, command: &Command<'_>, statement: &Statement) -> bool {
        let key = [
            command.tenant(),
            Value::Uuid(self.instance),
            Value::Bigint(self.lease.fence),
        ];
        command.spi.run(statement, &key).count() > 0
    }

    fn key<'a>(&self, command: &'a Command<'_>) -> [Value<'a>; 3] {
        [
            command.tenant(),
            Value::Uuid(self.instance),
            Value::Bigint(self.taken.entered_revision),
        ]
    }

    fn lease_of<'a>(&'a self, command: &'a Command<'_>) -> Key<'a> {
        self.lease.key(&command.caller.tenant)
    }

    /// Puts it back into the queue, or among the exhausted. Gives when it is available, as JSON.
    pub fn settle(&self, command: &Command<'_>, fate: &Fate<'_>) -> Result<Jsonb, Failure> {
        let [tenant, instance, entered] = self.key(command);
        let settled = command.spi.one(
            &statements::SETTLE_WORK,
            &[
                tenant,
                instance,
                entered,
                Value::Int(fate.attempts),
                Value::Time(fate.available_at),
                Value::optional(fate.error, Value::Text),
                Value::optional(fate.exhausted_at, Value::Time),
                Value::optional(fate.exhausted_revision, Value::Bigint),
            ],
        );
        let settled = settled.ok_or_else(|| trigger_interfered("a trigger kept work as it was"))?;
        Ok(settled.jsonb(0)?)
    }

    /// Leaves it alone until then. Gives when that is, as JSON.
    pub fn postpone(&self, command: &Command<'_>, until: Time) -> Result<Jsonb, Failure> {
        let [tenant, instance, entered] = self.key(command);
        let item = [tenant, instance, entered, Value::Time(until)];
        let postponed = command.spi.one(&statements::POSTPONE_WORK, &item);
        let postponed =
            postponed.ok_or_else(|| trigger_interfered("a trigger kept work as it was"))?;
        Ok(postponed.jsonb(0)?)
    }

    /// Removes it.
    pub fn remove(&self, command: &Command<'_>) -> Result<(), Failure> {
        remove(command, self.instance, self.taken.entered_revision)
    }
}

/// Removes the item of a visit, which is ours.
fn remove(command: &Command<'_>, instance: Uuid, entered_revision: i64) -> Result<(), Failure> {
    let key = [
        command.tenant(),
        Value::Uuid(instance),
        Value::Bigint(entered_revision),
    ];
    let removed = command.spi.run(&statements::REMOVE_WORK, &key);
    for row in removed.rows() {
        if row.bool(0)? {
            return Ok(());
        }
    }
    Err(trigger_interfered("a trigger kept work from being removed"))
}

/// What becomes of an item that nobody has in work any more.
pub struct Fate<'a> {
    /// Attempts that count.
    pub attempts: i32,
    /// When it can be taken.
    pub available_at: Time,
    /// How it failed.
    pub error: Option<&'a str>,
    /// When its attempts were used up, if they are.
    pub exhausted_at: Option<Time>,
    /// Revision of the entry into the state for exhausted work, if there is one.
    pub exhausted_revision: Option<i64>,
}
