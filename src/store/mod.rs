//! The tables, as rows in and rows out. Which statement runs, and in which order, is decided in
//! `engine`; what it says, in `statements`.

pub mod definitions;
pub mod statements;
pub mod worklist;

use std::collections::HashMap;

use uuid::Uuid;
use workflow_core::decide::{CountedVote, Instance, SeatTask};

use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::Value;

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

/// Reads an instance with the tasks of its round, without locking it.
pub fn read_instance(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<InstanceRow>, Report> {
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
    // Votes in the order in which they were given, then what is open.
    tasks.sort_by_key(|(closed_at, task)| (closed_at.is_none(), *closed_at, task.id));
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
            tasks: tasks.into_iter().map(|(_, task)| task).collect(),
        },
        definition_id: row.uuid(1)?,
        work: row.bigint(4)?,
        entered_revision: row.bigint(8)?,
    })
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
