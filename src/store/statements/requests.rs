//! Request keys, and refusals that were returned.

use pgrx::pg_sys::{
    BYTEAOID as BYTEA, JSONBOID as JSONB, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::direct::Column;
use crate::pg::spi::{Insert, Statement};

pub static READ_REQUEST: Statement = Statement::new(
    "SELECT r.fingerprint, r.outcome
       FROM workflow.requests r
      WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.request_id OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

/// The key's lock is held, so a conflict can only be with a row that this transaction's snapshot
/// does not show; PostgreSQL then raises 40001.
pub static INSERT_REQUEST: Statement = Statement::new(
    "INSERT INTO workflow.requests (tenant_id, request_id, command, fingerprint, outcome, at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT DO NOTHING",
    &[TEXT, TEXT, TEXT, BYTEA, JSONB, TIME],
);

pub static INSERT_REFUSAL: Insert = Insert::new(
    c"refusals",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"id", UUID),
        Column::new(c"at", TIME),
        Column::new(c"command", TEXT),
        Column::new(c"code", TEXT),
        Column::new(c"reason", TEXT),
        Column::new(c"instance_id", UUID),
        Column::new(c"application_id", UUID),
        Column::new(c"task_id", UUID),
        Column::new(c"actor", TEXT),
        Column::new(c"detail", JSONB),
    ],
);
