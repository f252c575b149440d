//! The tables, as rows in and rows out. Which statement runs, and in which order, is decided in
//! `engine`; what it says, in `statements`.

pub mod definitions;
mod hot;
pub mod statements;
pub mod worklist;

use std::collections::HashMap;

use uuid::Uuid;
use workflow_core::decide::{CountedVote, Instance, SeatTask};

use crate::pg::backend;
use crate::pg::direct::Place;
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::{Time, Value};

/// An instance as it was read, with what only the engine needs.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRow {
    /// What decisions rest on.
    pub instance: Instance,
    /// The definition version it is pinned to.
    pub definition_id: Uuid,
    /// Count of changes that do not bump the revision.
    pub work: i64,
    /// Revision at which the present state was entered.
    pub entered_revision: i64,
    /// Where the row lies, if it was found without the executor.
    pub place: Option<Place>,
}

impl InstanceRow {
    /// Whether nothing that a decision rests on differs.
    pub fn unchanged(&self, other: &InstanceRow) -> bool {
        self.instance.revision == other.instance.revision
            && self.work == other.work
            && self.instance.state == other.instance.state
            && self.instance.material_version == other.instance.material_version
    }
}

/// What of an instance's row a command may change.
pub struct Standing<'a> {
    /// The state.
    pub state: &'a str,
    /// The revision.
    pub revision: i64,
    /// The round.
    pub round: i32,
    /// The material in force.
    pub material_version: i32,
    /// Whether it has ended.
    pub closed: bool,
    /// Revision at which the state was entered.
    pub entered_revision: i64,
    /// Count of changes that do not bump the revision.
    pub work: i64,
}

/// Reads an instance with the tasks of its round, without locking it.
pub fn read_instance(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<InstanceRow>, Report> {
    if let Some(found) = hot::instances::find(spi, tenant, id)? {
        return Ok(found);
    }
    let arguments = [Value::Text(tenant), Value::Uuid(id)];
    let rows: Vec<Row> = spi
        .run(&statements::READ_INSTANCE, &arguments)
        .rows()
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    instance_of(&rows, id).map(Some)
}

/// Reads many instances in the same way; those that do not exist for this tenant are left out.
pub fn read_instances(
    spi: &Spi,
    tenant: &str,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, InstanceRow>, Report> {
    let arguments = [Value::Text(tenant), Value::Uuids(ids)];
    let found = spi.run(&statements::READ_INSTANCES, &arguments);
    let mut rows = Vec::with_capacity(found.count() as usize);
    for row in found.rows() {
        rows.push((row.uuid(INSTANCE_ID)?, row));
    }
    let mut instances = HashMap::with_capacity(ids.len());
    for group in rows.chunk_by(|one, other| one.0 == other.0) {
        let id = group[0].0;
        let rows = group.iter().map(|(_, row)| row);
        instances.insert(id, instance_of(rows, id)?);
    }
    Ok(instances)
}

/// Where `READ_INSTANCES` says which instance a row is of.
const INSTANCE_ID: usize = 23;

/// An instance from its rows, one for each task of its round.
fn instance_of<'r>(
    rows: impl IntoIterator<Item = &'r Row> + Clone,
    id: Uuid,
) -> Result<InstanceRow, Report> {
    let mut tasks = Vec::new();
    for row in rows.clone() {
        if let Some(id) = row.opt_uuid(10)? {
            tasks.push((row.opt_time(21)?, read_task(row, id)?));
        }
    }
    let row = rows.into_iter().next().expect("at least one row");
    Ok(InstanceRow {
        instance: Instance {
            id,
            application_id: row.uuid(0)?,
            state: row.text(2)?,
            revision: row.bigint(3)?,
            round: row.int(5)?,
            material_version: row.int(6)?,
            closed: row.bool(7)?,
            started_by: row.text(9)?,
            tasks: in_order(tasks),
        },
        definition_id: row.uuid(1)?,
        work: row.bigint(4)?,
        entered_revision: row.bigint(8)?,
        place: None,
    })
}

/// The conditional update that decides every race. False if the row is held by somebody else, or no
/// longer as it was read. Never waits.
pub fn move_instance(spi: &Spi, tenant: &str, before: &InstanceRow, now: &Standing<'_>) -> bool {
    if let Some(moved) = hot::instances::change(spi, before, now) {
        return moved;
    }
    let instance = &before.instance;
    let arguments = [
        Value::Text(tenant),
        Value::Uuid(instance.id),
        Value::Text(&instance.state),
        Value::Bigint(instance.revision),
        Value::Int(instance.material_version),
        Value::Bigint(before.work),
        Value::Text(now.state),
        Value::Bigint(now.revision),
        Value::Int(now.round),
        Value::Int(now.material_version),
        Value::Bool(now.closed),
        Value::Bigint(now.entered_revision),
        Value::Bigint(now.work),
    ];
    spi.run(&statements::MOVE_INSTANCE, &arguments).count() == 1
}

/// Tenants, in their order, with the roles of a login there.
pub type Memberships = Vec<(String, Vec<String>)>;

/// Tenants a login belongs to.
pub fn memberships(spi: &Spi, login: &str) -> Result<Memberships, Report> {
    if let Some(found) = hot::members::memberships(spi, login)? {
        return Ok(found);
    }
    spi.run(&statements::MEMBERSHIPS, &[Value::Text(login)])
        .rows()
        .map(|row| Ok((row.text(0)?, row.texts(1)?)))
        .collect()
}

/// A limit of a tenant, by its name.
pub fn limit(spi: &Spi, tenant: &str, name: &str) -> Result<Option<i64>, Report> {
    if let Some(found) = hot::limits::find(spi, tenant, name)? {
        return Ok(found);
    }
    let arguments = [Value::Text(tenant), Value::Text(name)];
    let row = spi.one(&statements::READ_LIMIT, &arguments);
    row.map(|row| row.bigint(0)).transpose()
}

/// Balance of a resource, without a lock.
pub fn read_resource(spi: &Spi, tenant: &str, key: &str) -> Result<Option<i64>, Report> {
    let arguments = [Value::Text(tenant), Value::Text(key)];
    spi.one(&statements::READ_RESOURCE, &arguments)
        .map(|row| row.bigint(0))
        .transpose()
}

/// The same, unless somebody may be about to change it: then the balance is not known without the
/// lock. A row that is seen was locked or replaced by nobody who had ended before it was read,
/// because an end that counts would have put another row in its place.
pub fn watch_resource(spi: &Spi, tenant: &str, key: &str) -> Result<Option<i64>, Report> {
    let arguments = [Value::Text(tenant), Value::Text(key)];
    let Some(row) = spi.one(&statements::WATCH_RESOURCE, &arguments) else {
        return Ok(None);
    };
    // The low half is the number that rows carry.
    let (locker, oldest_running) = (row.bigint(1)? as u32, row.bigint(2)? as u32);
    let settled = locker == 0 || backend::is_older(locker, oldest_running);
    Ok(if settled { Some(row.bigint(0)?) } else { None })
}

/// Votes in the order in which they were given, then what is open.
fn in_order(mut tasks: Vec<(Option<Time>, SeatTask)>) -> Vec<SeatTask> {
    tasks.sort_by_key(|(closed_at, task)| (closed_at.is_none(), *closed_at, task.id));
    tasks.into_iter().map(|(_, task)| task).collect()
}

/// Which instance a task belongs to, and how it ended if it has.
pub struct TaskPlace {
    /// The instance.
    pub instance: Uuid,
    /// OPEN, COMPLETED, SUPERSEDED or CANCELLED.
    pub status: String,
    /// The revision by which it was closed.
    pub closed_revision: Option<i64>,
    /// Why, if nobody decided it.
    pub reason: Option<String>,
}

/// Looks a task up, without a lock.
pub fn find_task(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<TaskPlace>, Report> {
    if let Some(found) = hot::tasks::find(spi, tenant, id)? {
        return Ok(found);
    }
    let key = [Value::Text(tenant), Value::Uuid(id)];
    let Some(row) = spi.one(&statements::FIND_TASK, &key) else {
        return Ok(None);
    };
    Ok(Some(TaskPlace {
        instance: row.uuid(0)?,
        status: row.text(1)?,
        closed_revision: row.opt_bigint(2)?,
        reason: row.opt_text(3)?,
    }))
}

/// How a task is completed.
pub struct Completion<'a> {
    /// The event.
    pub event: &'a str,
    /// Its counted vote, where several seats speak.
    pub in_favour: Option<bool>,
    /// Who decided.
    pub actor: &'a str,
    /// For whom, if not for themselves.
    pub on_behalf_of: Option<&'a str>,
    /// The revision by which it is completed.
    pub revision: i64,
    /// Clock time, taken under the instance's lock.
    pub at: Time,
}

/// Completes one open task of an instance whose row is ours. False if a trigger kept it.
pub fn complete_task(
    spi: &Spi,
    tenant: &str,
    id: Uuid,
    completion: &Completion<'_>,
) -> Result<bool, Report> {
    if hot::tasks::complete(spi, tenant, id, completion)? {
        return Ok(true);
    }
    let arguments = [
        Value::Text(tenant),
        Value::Uuid(id),
        Value::Bigint(completion.revision),
        Value::Time(completion.at),
        Value::Text(completion.event),
        Value::optional(completion.in_favour, Value::Bool),
        Value::Text(completion.actor),
        Value::optional(completion.on_behalf_of, Value::Text),
    ];
    Ok(spi.run(&statements::COMPLETE_TASK, &arguments).count() == 1)
}

fn read_task(row: &Row, id: Uuid) -> Result<SeatTask, Report> {
    let open = row.bool(14)?;
    let vote = match (open, row.opt_bool(18)?) {
        (false, Some(in_favour)) => Some(CountedVote {
            event: row.text(17)?,
            in_favour,
            voter: row.text(19)?,
            on_behalf_of: row.opt_text(20)?,
        }),
        _ => None,
    };
    let holder = row.opt_text(15)?;
    let delegated_by = if holder.is_some() {
        row.opt_text(16)?
    } else {
        None
    };
    Ok(SeatTask {
        id,
        seat: row.text(11)?,
        roles: row.texts(12)?,
        veto: row.bool(13)?,
        open,
        holder,
        delegated_by,
        claimed: row.bool(22)?,
        vote,
    })
}
