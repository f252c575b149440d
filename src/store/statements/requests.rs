//! Request keys, and refusals that were returned.

use pgrx::pg_sys::{
    BYTEAOID as BYTEA, JSONBOID as JSONB, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

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

pub static INSERT_REFUSAL: Statement = Statement::new(
    "INSERT INTO workflow.refusals (tenant_id, id, at, command, code, reason, instance_id,
            application_id, task_id, actor, detail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    &[
        TEXT, UUID, TIME, TEXT, TEXT, TEXT, UUID, UUID, UUID, TEXT, JSONB,
    ],
);
