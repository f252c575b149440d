//! What a tenant may have at most.

use pgrx::pg_sys::{INT8OID as BIGINT, TEXTOID as TEXT};

use crate::pg::spi::Statement;

/// The tenant's own, else that of every tenant.
pub static READ_LIMIT: Statement = Statement::new(
    "SELECT l.value
       FROM workflow.limits l
      WHERE (l.tenant_id OPERATOR(pg_catalog.=) $1 OR l.tenant_id OPERATOR(pg_catalog.=) '*')
        AND l.name OPERATOR(pg_catalog.=) $2::workflow.limit_name
      ORDER BY l.tenant_id OPERATOR(pg_catalog.=) '*'
      LIMIT 1",
    &[TEXT, TEXT],
);

pub static PUT_LIMIT: Statement = Statement::new(
    "INSERT INTO workflow.limits (tenant_id, name, value)
     VALUES ($1, $2::workflow.limit_name, $3)
     ON CONFLICT (tenant_id, name) DO UPDATE SET value = EXCLUDED.value",
    &[TEXT, TEXT, BIGINT],
);

pub static REMOVE_LIMIT: Statement = Statement::new(
    "DELETE FROM workflow.limits l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
        AND l.name OPERATOR(pg_catalog.=) $2::workflow.limit_name",
    &[TEXT, TEXT],
);

/// Open instances of a tenant as they are now, counted no further than to the limit.
pub static COUNT_OPEN: Statement = Statement::queue(
    "SELECT pg_catalog.count(*)
       FROM (SELECT FROM workflow.instances i
              WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND NOT i.closed
              LIMIT $2) o",
    &[TEXT, BIGINT],
);
