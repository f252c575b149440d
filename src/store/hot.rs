//! The rows that every command reads and moves, without the executor (see [`crate::pg::direct`]).
//! What is given here is what `READ_INSTANCE` and `MOVE_INSTANCE` give; `None` where they have to.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, TEXTARRAYOID as TEXTS, TEXTOID as TEXT,
    TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};
use uuid::Uuid;
use workflow_core::decide::Instance;

use crate::pg::direct::{Column, Fresh, Purpose, Table};
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::{Time, Value};

use super::{InstanceRow, Memberships, Standing};

static INSTANCES: Table = Table {
    name: c"instances",
    columns: &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"id", UUID),
        Column::new(c"application_id", UUID),
        Column::new(c"definition_id", UUID),
        Column::new(c"started_by", TEXT),
        Column::new(c"state", TEXT),
        Column::new(c"revision", BIGINT),
        Column::new(c"work", BIGINT),
        Column::new(c"round", INT),
        Column::new(c"material_version", INT),
        Column::new(c"entered_revision", BIGINT),
        Column::new(c"closed", BOOL),
    ],
    index: Some((c"instances_pkey", 2)),
};

// Columns of INSTANCES, counted from 0.
const ID: usize = 1;
const APPLICATION: usize = 2;
const DEFINITION: usize = 3;
const STARTED_BY: usize = 4;
const STATE: usize = 5;
const REVISION: usize = 6;
const WORK: usize = 7;
const ROUND: usize = 8;
const MATERIAL_VERSION: usize = 9;
const ENTERED_REVISION: usize = 10;
const CLOSED: usize = 11;

static ROUNDS: Table = Table {
    name: c"tasks",
    columns: &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"instance_id", UUID),
        Column::new(c"round", INT),
    ],
    index: Some((c"tasks_round", 3)),
};

/// What a look-up found.
pub enum Found {
    /// No such instance of this tenant.
    Nothing,
    /// The instance, whose round has no tasks.
    Instance(Box<InstanceRow>),
    /// An instance whose tasks count: SQL reads them.
    WithTasks,
}

/// Looks an instance up.
pub fn find_instance(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<Found>, Report> {
    let Some(instances) = spi.open(&INSTANCES, Purpose::Read) else {
        return Ok(None);
    };
    let Some(tasks) = spi.open(&ROUNDS, Purpose::Read) else {
        return Ok(None);
    };
    let snapshot = Fresh::take();
    let mut found = None;
    let key = [Value::Text(tenant), Value::Uuid(id)];
    instances.look_up(&snapshot, &key, |row, place| {
        found = Some(InstanceRow {
            place: Some(place),
            ..read(row)?
        });
        Ok(())
    })?;
    let Some(row) = found else {
        return Ok(Some(Found::Nothing));
    };
    let round = [
        Value::Text(tenant),
        Value::Uuid(id),
        Value::Int(row.instance.round),
    ];
    let mut has_tasks = false;
    tasks.look_up(&snapshot, &round, |_, _| {
        has_tasks = true;
        Ok(())
    })?;
    Ok(Some(if has_tasks {
        Found::WithTasks
    } else {
        Found::Instance(Box::new(row))
    }))
}

fn read(row: &Row) -> Result<InstanceRow, Report> {
    Ok(InstanceRow {
        instance: Instance {
            id: row.uuid(ID)?,
            application_id: row.uuid(APPLICATION)?,
            state: row.text(STATE)?,
            revision: row.bigint(REVISION)?,
            round: row.int(ROUND)?,
            material_version: row.int(MATERIAL_VERSION)?,
            closed: row.bool(CLOSED)?,
            started_by: row.text(STARTED_BY)?,
            tasks: Vec::new(),
        },
        definition_id: row.uuid(DEFINITION)?,
        work: row.bigint(WORK)?,
        entered_revision: row.bigint(ENTERED_REVISION)?,
        place: None,
    })
}

static MEMBERS: Table = Table {
    name: c"members",
    columns: &[
        Column::new(c"member", TEXT),
        Column::new(c"tenant_id", TEXT),
        Column::new(c"roles", TEXTS),
        Column::new(c"valid_until", TIME),
    ],
    index: Some((c"members_member", 1)),
};

/// Tenants a login belongs to, in their order, with its roles there.
pub fn memberships(spi: &Spi, login: &str) -> Result<Option<Memberships>, Report> {
    let Some(members) = spi.open(&MEMBERS, Purpose::Read) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    members.look_up(&Fresh::take(), &[Value::Text(login)], |row, _| {
        let valid_until = row.opt_time(3)?;
        if valid_until.is_none_or(|until| until > Time::now()) {
            found.push((row.text(1)?, row.texts(2)?));
        }
        Ok(())
    })?;
    found.sort();
    Ok(Some(found))
}

/// The conditional update. False if the row is held by somebody else, or no longer as it was read.
pub fn move_instance(spi: &Spi, before: &InstanceRow, now: &Standing<'_>) -> Option<bool> {
    let place = before.place?;
    let instances = spi.open(&INSTANCES, Purpose::Update)?;
    let is_same = |row: &Row| {
        read(row).is_ok_and(|row| row.instance.id == before.instance.id && row.unchanged(before))
    };
    let changes = [
        (STATE, Value::Text(now.state)),
        (REVISION, Value::Bigint(now.revision)),
        (WORK, Value::Bigint(now.work)),
        (ROUND, Value::Int(now.round)),
        (MATERIAL_VERSION, Value::Int(now.material_version)),
        (ENTERED_REVISION, Value::Bigint(now.entered_revision)),
        (CLOSED, Value::Bool(now.closed)),
    ];
    Some(instances.replace(place, is_same, &changes))
}
