//! Human work.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, TEXTARRAYOID as TEXTS, TEXTOID as TEXT,
    TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};
use uuid::Uuid;
use workflow_core::decide::{CountedVote, Instance, SeatTask};

use crate::pg::direct::{Column, Fresh, Open, Purpose, Table};
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::{Time, Value};

use super::super::{Completion, TaskPlace, in_order};

static ROUNDS: Table = Table {
    name: c"tasks",
    columns: &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"instance_id", UUID),
        Column::new(c"round", INT),
        Column::new(c"material_version", INT),
        Column::of_enum(c"status", "task_status"),
        Column::new(c"id", UUID),
        Column::new(c"seat", TEXT),
        Column::new(c"roles", TEXTS),
        Column::new(c"veto", BOOL),
        Column::new(c"holder", TEXT),
        Column::new(c"held_until", TIME),
        Column::new(c"delegated_by", TEXT),
        Column::new(c"claimed", BOOL),
        Column::new(c"decision", TEXT),
        Column::new(c"in_favour", BOOL),
        Column::new(c"decided_by", TEXT),
        Column::new(c"on_behalf_of", TEXT),
        Column::new(c"closed_at", TIME),
    ],
    index: Some((c"tasks_round", 3)),
};

/// The tasks, by the rounds that they are of.
pub fn open_rounds(spi: &Spi) -> Option<Open> {
    spi.open(&ROUNDS, Purpose::Read)
}

/// The tasks of an instance's round and material that are open or completed.
pub fn of_round(
    tasks: &Open,
    snapshot: &Fresh,
    tenant: &str,
    instance: &Instance,
) -> Result<Vec<SeatTask>, Report> {
    let key = [
        Value::Text(tenant),
        Value::Uuid(instance.id),
        Value::Int(instance.round),
    ];
    let mut found = Vec::new();
    tasks.look_up(snapshot, &key, |row, _| {
        let open = match row.text(4)?.as_str() {
            "OPEN" => true,
            "COMPLETED" => false,
            _ => return Ok(()),
        };
        if row.int(3)? == instance.material_version {
            found.push((row.opt_time(17)?, read(row, open)?));
        }
        Ok(())
    })?;
    Ok(in_order(found))
}

fn read(row: &Row, open: bool) -> Result<SeatTask, Report> {
    let delegated_by = row.opt_text(11)?;
    // A claim that has run out leaves the task to who delegated it.
    let held = row.opt_time(10)?.is_none_or(|until| until > Time::now());
    let (holder, delegated_by) = if held {
        (row.opt_text(9)?, delegated_by)
    } else {
        (delegated_by, None)
    };
    let vote = match (open, row.opt_bool(14)?) {
        (false, Some(in_favour)) => Some(CountedVote {
            event: row.text(13)?,
            in_favour,
            voter: row.text(15)?,
            on_behalf_of: row.opt_text(16)?,
        }),
        _ => None,
    };
    Ok(SeatTask {
        id: row.uuid(5)?,
        seat: row.text(6)?,
        roles: row.texts(7)?,
        veto: row.bool(8)?,
        open,
        delegated_by: delegated_by.filter(|_| holder.is_some()),
        holder,
        claimed: row.bool(12)?,
        vote,
    })
}

static TASKS: Table = Table {
    name: c"tasks",
    columns: &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"id", UUID),
        Column::new(c"instance_id", UUID),
        Column::of_enum(c"status", "task_status"),
        Column::new(c"closed_revision", BIGINT),
        Column::new(c"reason", TEXT),
        Column::new(c"closed_at", TIME),
        Column::new(c"decision", TEXT),
        Column::new(c"in_favour", BOOL),
        Column::new(c"decided_by", TEXT),
        Column::new(c"on_behalf_of", TEXT),
    ],
    index: Some((c"tasks_pkey", 2)),
};

// Columns of TASKS, counted from 0.
const STATUS: usize = 3;
const CLOSED_REVISION: usize = 4;
const CLOSED_AT: usize = 6;
const DECISION: usize = 7;
const IN_FAVOUR: usize = 8;
const DECIDED_BY: usize = 9;
const ON_BEHALF_OF: usize = 10;

/// What `FIND_TASK` gives.
pub fn find(spi: &Spi, tenant: &str, id: Uuid) -> Result<Option<Option<TaskPlace>>, Report> {
    let Some(tasks) = spi.open(&TASKS, Purpose::Read) else {
        return Ok(None);
    };
    let mut found = None;
    let key = [Value::Text(tenant), Value::Uuid(id)];
    tasks.look_up(&Fresh::take(), &key, |row, _| {
        found = Some(TaskPlace {
            instance: row.uuid(2)?,
            status: row.text(STATUS)?,
            closed_revision: row.opt_bigint(CLOSED_REVISION)?,
            reason: row.opt_text(5)?,
        });
        Ok(())
    })?;
    Ok(Some(found))
}

/// What `COMPLETE_TASK` does to a task that is open and free.
pub fn complete(
    spi: &Spi,
    tenant: &str,
    id: Uuid,
    completion: &Completion<'_>,
) -> Result<bool, Report> {
    let Some(tasks) = spi.open(&TASKS, Purpose::Update) else {
        return Ok(false);
    };
    let mut found = None;
    let key = [Value::Text(tenant), Value::Uuid(id)];
    tasks.look_up(&Fresh::take(), &key, |_, place| {
        found = Some(place);
        Ok(())
    })?;
    let Some(place) = found else {
        return Ok(false);
    };
    let is_open = |row: &Row| {
        row.uuid(1).is_ok_and(|now| now == id) && row.text(STATUS).is_ok_and(|now| now == "OPEN")
    };
    let changes = [
        (STATUS, Value::Text("COMPLETED")),
        (CLOSED_REVISION, Value::Bigint(completion.revision)),
        (CLOSED_AT, Value::Time(completion.at)),
        (DECISION, Value::Text(completion.event)),
        (
            IN_FAVOUR,
            Value::optional(completion.in_favour, Value::Bool),
        ),
        (DECIDED_BY, Value::Text(completion.actor)),
        (
            ON_BEHALF_OF,
            Value::optional(completion.on_behalf_of, Value::Text),
        ),
    ];
    Ok(tasks.replace(place, is_open, &changes))
}
