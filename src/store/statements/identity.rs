//! Who is calling, and what they may.

use pgrx::pg_sys::{OIDOID as OID, TEXTARRAYOID as TEXTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME};

use crate::pg::spi::Statement;

/// Memberships of a login in all tenants.
pub static MEMBERSHIPS: Statement = Statement::new(
    "SELECT m.tenant_id, m.roles
       FROM workflow.members m
      WHERE m.member OPERATOR(pg_catalog.=) $1
        AND (m.valid_until IS NULL
             OR m.valid_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp())
      ORDER BY m.tenant_id",
    &[TEXT],
);

pub static MEMBER_ROLES: Statement = Statement::new(
    "SELECT m.roles
       FROM workflow.members m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1 AND m.member OPERATOR(pg_catalog.=) $2
        AND (m.valid_until IS NULL
             OR m.valid_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp())",
    &[TEXT, TEXT],
);

pub static PUT_MEMBER: Statement = Statement::new(
    "INSERT INTO workflow.members (tenant_id, member, roles, valid_until)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT (tenant_id, member)
     DO UPDATE SET roles = EXCLUDED.roles, valid_until = EXCLUDED.valid_until",
    &[TEXT, TEXT, TEXTS, TIME],
);

pub static IS_MEMBER: Statement = Statement::new(
    "SELECT FROM workflow.members m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1 AND m.member OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

pub static REMOVE_MEMBER: Statement = Statement::new(
    "DELETE FROM workflow.members m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1 AND m.member OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

/// Capability backend is the right to execute wf_as, so that it lives, is dumped and is revoked as
/// any other right.
pub static IS_BACKEND: Statement = Statement::new(
    "SELECT pg_catalog.has_function_privilege($1, p.oid, 'EXECUTE')
       FROM pg_catalog.pg_extension e
       JOIN pg_catalog.pg_depend d
         ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
        AND d.refobjid OPERATOR(pg_catalog.=) e.oid
        AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
       JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) d.objid
      WHERE e.extname OPERATOR(pg_catalog.=) 'workflow' AND p.proname OPERATOR(pg_catalog.=) 'wf_as'",
    &[OID],
);

/// For the rest of the transaction.
pub static SET_IDENTITY: Statement = Statement::new(
    "SELECT pg_catalog.set_config('workflow.tenant', $1, true),
            pg_catalog.set_config('workflow.actor', $2, true),
            pg_catalog.set_config('workflow.roles', $3, true)",
    &[TEXT, TEXT, TEXT],
);
