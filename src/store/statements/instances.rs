//! Runs of a definition.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, TEXTOID as TEXT, UUIDOID as UUID,
};

use crate::pg::direct::Column;
use crate::pg::spi::{Insert, Statement};

/// With the tasks of its present round and material, one row each. A claim that has run out leaves
/// the task to the one who delegated it, or to everybody of the role.
pub static READ_INSTANCE: Statement = Statement::new(
    "SELECT i.application_id, i.definition_id, i.state, i.revision, i.work, i.round,
            i.material_version, i.closed, i.entered_revision, i.started_by,
            t.id, t.seat, t.roles, t.veto,
            t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.holder ELSE t.delegated_by END,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.delegated_by END, t.decision, t.in_favour, t.decided_by, t.on_behalf_of, t.closed_at, t.claimed
       FROM workflow.instances i
       LEFT JOIN workflow.tasks t
         ON t.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
        AND t.instance_id OPERATOR(pg_catalog.=) i.id
        AND t.round OPERATOR(pg_catalog.=) i.round
        AND t.material_version OPERATOR(pg_catalog.=) i.material_version
        AND t.status OPERATOR(pg_catalog.=) ANY ('{OPEN,COMPLETED}'::workflow.task_status[])
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// Waits; nothing may be read with it.
pub static LOCK_INSTANCE: Statement = Statement::new(
    "SELECT FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE",
    &[TEXT, UUID],
);

/// Never waits: no row if somebody else holds it.
pub static TRY_LOCK_INSTANCE: Statement = Statement::new(
    "SELECT FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE SKIP LOCKED",
    &[TEXT, UUID],
);

/// The conditional update that decides every race. Never waits: a row that somebody else holds is
/// passed over, like one that is no longer as it was when it was read.
pub static MOVE_INSTANCE: Statement = Statement::new(
    "UPDATE workflow.instances i
        SET state = $7, revision = $8, round = $9, material_version = $10, closed = $11,
            entered_revision = $12, work = $13
       FROM (SELECT f.id
               FROM workflow.instances f
              WHERE f.tenant_id OPERATOR(pg_catalog.=) $1 AND f.id OPERATOR(pg_catalog.=) $2
                FOR NO KEY UPDATE SKIP LOCKED) free
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) $2
        AND i.id OPERATOR(pg_catalog.=) free.id
        AND i.state OPERATOR(pg_catalog.=) $3
        AND i.revision OPERATOR(pg_catalog.=) $4
        AND i.material_version OPERATOR(pg_catalog.=) $5
        AND i.work OPERATOR(pg_catalog.=) $6",
    &[
        TEXT, UUID, TEXT, BIGINT, INT, BIGINT, TEXT, BIGINT, INT, INT, BOOL, BIGINT, BIGINT,
    ],
);

pub static INSERT_INSTANCE: Insert = Insert::new(
    c"instances",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"id", UUID),
        Column::new(c"application_id", UUID),
        Column::new(c"definition_id", UUID),
        Column::new(c"definition", TEXT),
        Column::new(c"state", TEXT),
        Column::new(c"revision", BIGINT),
        Column::new(c"work", BIGINT),
        Column::new(c"round", INT),
        Column::new(c"material_version", INT),
        Column::new(c"entered_revision", BIGINT),
        Column::new(c"concurrent", BOOL),
        Column::new(c"closed", BOOL),
        Column::new(c"started_by", TEXT),
    ],
);

/// Open instances of an application in lock order.
pub static OPEN_INSTANCES: Statement = Statement::new(
    "SELECT i.id
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.application_id OPERATOR(pg_catalog.=) $2
        AND NOT i.closed
      ORDER BY i.id",
    &[TEXT, UUID],
);

/// The open instance of this definition name that keeps another one out.
pub static RUNNING_INSTANCE: Statement = Statement::new(
    "SELECT i.id, i.state, i.revision, i.material_version
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.application_id OPERATOR(pg_catalog.=) $2
        AND i.definition OPERATOR(pg_catalog.=) $3 AND NOT i.closed AND NOT i.concurrent",
    &[TEXT, UUID, TEXT],
);

/// The open instance, else the latest one: ids are in order of time.
pub static FIND_INSTANCE: Statement = Statement::new(
    "SELECT i.id
       FROM workflow.applications a
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) a.tenant_id
        AND i.application_id OPERATOR(pg_catalog.=) a.id
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1
        AND a.business_key OPERATOR(pg_catalog.=) $2
        AND i.definition OPERATOR(pg_catalog.=) $3
      ORDER BY i.closed, i.id DESC
      LIMIT 1",
    &[TEXT, TEXT, TEXT],
);
