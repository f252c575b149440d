//! Business objects and their material.

use pgrx::pg_sys::{
    INT4OID as INT, JSONBOID as JSONB, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::direct::Column;
use crate::pg::spi::{Insert, Statement};

pub static FIND_APPLICATION: Statement = Statement::new(
    "SELECT a.id, a.material_version
       FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.business_key OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

pub static READ_APPLICATION: Statement = Statement::new(
    "SELECT a.material_version, a.business_key
       FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// The business key's lock is held, so a conflict can only be with a row that this transaction's
/// snapshot does not show; PostgreSQL then raises 40001.
pub static INSERT_APPLICATION: Statement = Statement::new(
    "INSERT INTO workflow.applications
            (tenant_id, id, business_key, material_version, starts, created_at, created_by)
     VALUES ($1, $2, $3, $4, 1, $5, $6)
     ON CONFLICT DO NOTHING",
    &[TEXT, UUID, TEXT, INT, TIME, TEXT],
);

pub static TRY_LOCK_APPLICATION: Statement = Statement::new(
    "SELECT FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE SKIP LOCKED",
    &[TEXT, UUID],
);

/// Waits; nothing may be read with it.
pub static LOCK_APPLICATION: Statement = Statement::new(
    "SELECT FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE",
    &[TEXT, UUID],
);

/// Written and not only locked: under REPEATABLE READ a lock alone would not make a supersede fail.
pub static COUNT_START: Statement = Statement::new(
    "UPDATE workflow.applications a
        SET starts = a.starts OPERATOR(pg_catalog.+) 1
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

pub static RAISE_MATERIAL_VERSION: Statement = Statement::new(
    "UPDATE workflow.applications a
        SET material_version = $4
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) $2
        AND a.material_version OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, INT, INT],
);

pub static INSERT_MATERIAL: Insert = Insert::new(
    c"materials",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"application_id", UUID),
        Column::new(c"version", INT),
        Column::new(c"content", JSONB),
        Column::new(c"author", TEXT),
        Column::new(c"created_at", TIME),
    ],
);

pub static READ_MATERIAL: Statement = Statement::new(
    "SELECT m.content, m.author
       FROM workflow.materials m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1 AND m.application_id OPERATOR(pg_catalog.=) $2
        AND m.version OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, INT],
);

pub static SAME_MATERIAL: Statement = Statement::new(
    "SELECT m.content OPERATOR(pg_catalog.=) $4
       FROM workflow.materials m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1 AND m.application_id OPERATOR(pg_catalog.=) $2
        AND m.version OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, INT, JSONB],
);
