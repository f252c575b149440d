//! Runs of a definition.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, TEXTOID as TEXT, UUIDOID as UUID,
};
use uuid::Uuid;
use workflow_core::decide::Instance;

use crate::pg::direct::{Column, Fresh, Purpose, Table};
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::Value;

use super::super::{InstanceRow, Standing};
use super::tasks;

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

/// Looks an instance up, with the tasks of its round: what `READ_INSTANCE` gives.
pub fn find(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<Option<InstanceRow>>, Report> {
    let Some(instances) = spi.open(&INSTANCES, Purpose::Read) else {
        return Ok(None);
    };
    let Some(tasks) = tasks::open_rounds(spi) else {
        return Ok(None);
    };
    let snapshot = Fresh::take();
    let mut found = None;
    let key = [Value::Text(tenant), Value::Uuid(id)];
    instances.look_up(&snapshot, &key, |row, place| {
        let instance = read(row)?;
        found = Some(InstanceRow {
            place: Some(place),
            ..instance
        });
        Ok(())
    })?;
    if let Some(row) = &mut found {
        row.instance.tasks = tasks::of_round(&tasks, &snapshot, tenant, &row.instance)?;
    }
    Ok(Some(found))
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

/// What `MOVE_INSTANCE` does: false if the row is held by somebody else, or no longer as it was read.
pub fn change(spi: &Spi, before: &InstanceRow, now: &Standing<'_>) -> Option<bool> {
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
