//! Published state machines.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, JSONBOID as JSONB, TEXTOID as TEXT,
    TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

pub static READ_DEFINITION: Statement = Statement::new(
    "SELECT d.id, d.name, d.version, d.spec
       FROM workflow.definitions d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])
        AND d.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// By name: the active version or the one asked for, the tenant's own before the shared one.
pub static FIND_DEFINITION: Statement = Statement::new(
    "SELECT d.id, d.name, d.version, d.spec
       FROM workflow.definitions d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])
        AND d.name OPERATOR(pg_catalog.=) $2
        AND CASE WHEN $3 IS NULL THEN d.active ELSE d.version OPERATOR(pg_catalog.=) $3 END
      ORDER BY d.tenant_id OPERATOR(pg_catalog.=) '*'
      LIMIT 1",
    &[TEXT, TEXT, INT],
);

/// The version that has this very spec; jsonb compares without key order and white space.
pub static SAME_DEFINITION: Statement = Statement::new(
    "SELECT d.version
       FROM workflow.definitions d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.name OPERATOR(pg_catalog.=) $2
        AND d.spec OPERATOR(pg_catalog.=) $3
      ORDER BY d.version DESC
      LIMIT 1",
    &[TEXT, TEXT, JSONB],
);

pub static COUNT_ACTIVE: Statement = Statement::new(
    "SELECT pg_catalog.count(*)
       FROM workflow.definitions d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.name OPERATOR(pg_catalog.=) $2 AND d.active",
    &[TEXT, TEXT],
);

pub static DEACTIVATE_DEFINITION: Statement = Statement::new(
    "UPDATE workflow.definitions d
        SET active = false
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.name OPERATOR(pg_catalog.=) $2 AND d.active",
    &[TEXT, TEXT],
);

/// A version of the tenant's own; whether it is active.
pub static OWN_DEFINITION: Statement = Statement::new(
    "SELECT d.active
       FROM workflow.definitions d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.name OPERATOR(pg_catalog.=) $2
        AND d.version OPERATOR(pg_catalog.=) $3",
    &[TEXT, TEXT, INT],
);

pub static ACTIVATE_DEFINITION: Statement = Statement::new(
    "UPDATE workflow.definitions d
        SET active = true
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.name OPERATOR(pg_catalog.=) $2
        AND d.version OPERATOR(pg_catalog.=) $3",
    &[TEXT, TEXT, INT],
);

/// Two versions of one name: both the tenant's own, or else both shared.
pub static TWO_DEFINITIONS: Statement = Statement::new(
    "SELECT d.id, e.id
       FROM workflow.definitions d
       JOIN workflow.definitions e
         ON e.tenant_id OPERATOR(pg_catalog.=) d.tenant_id
        AND e.name OPERATOR(pg_catalog.=) d.name AND e.version OPERATOR(pg_catalog.=) $4
      WHERE d.tenant_id OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*'])
        AND d.name OPERATOR(pg_catalog.=) $2 AND d.version OPERATOR(pg_catalog.=) $3
      ORDER BY d.tenant_id OPERATOR(pg_catalog.=) '*'
      LIMIT 1",
    &[TEXT, TEXT, INT, INT],
);

pub static INSERT_DEFINITION: Statement = Statement::new(
    "INSERT INTO workflow.definitions
            (tenant_id, id, name, version, spec, active, created_at, created_by)
     SELECT $1, $2, $3, COALESCE(pg_catalog.max(d.version), 0) OPERATOR(pg_catalog.+) 1, $4, $5, $6, $7
       FROM workflow.definitions d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.name OPERATOR(pg_catalog.=) $3
     ON CONFLICT DO NOTHING
     RETURNING version",
    &[TEXT, UUID, TEXT, JSONB, BOOL, TIME, TEXT],
);

/// What guards look at. A null says as little as a missing key.
pub static GUARD_DOCUMENT: Statement = Statement::new(
    "SELECT pg_catalog.jsonb_strip_nulls(
                pg_catalog.jsonb_build_object('material', $1, 'payload', $2,
                    'instance', pg_catalog.jsonb_build_object('state', $3, 'revision', $4,
                        'round', $5, 'material_version', $6)))",
    &[JSONB, JSONB, TEXT, BIGINT, INT, INT],
);
