//! The pages of the worklist: one statement for each order, with and without a role.
//!
//! None of them may sort, or walk through, all open tasks of a tenant. Without a role an index on the
//! order gives the page. With one, the distinct lists of roles are few: they are found by skipping
//! from one to the next, and each that has the role gives at most a page.

use pgrx::pg_sys::{INT4OID as INT, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID};

use crate::pg::spi::Statement;

macro_rules! columns {
    () => {
        "SELECT t.id, t.seat, t.roles, t.veto,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.holder END,
            t.delegated_by, t.opened_at, t.due_at,
            COALESCE(t.due_at OPERATOR(pg_catalog.<) pg_catalog.clock_timestamp(), false),
            t.instance_id, i.application_id, a.business_key, i.definition, t.state, t.round,
            i.revision, t.material_version "
    };
}

macro_rules! joined {
    () => {
        " JOIN workflow.instances i
            ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
           AND i.id OPERATOR(pg_catalog.=) t.instance_id
          JOIN workflow.applications a
            ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
           AND a.id OPERATOR(pg_catalog.=) i.application_id "
    };
}

/// Open tasks of the tenant $1 that $3 holds. What is delegated has no end, so the holder's own claim
/// is the only one that can have run out.
macro_rules! open {
    () => {
        " t.tenant_id OPERATOR(pg_catalog.=) $1
          AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
          AND ($3 IS NULL
               OR (t.holder OPERATOR(pg_catalog.=) $3
                   AND (t.held_until IS NULL
                        OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()))) "
    };
}

macro_rules! of_all_roles {
    ($after:literal, $order:literal) => {
        concat!(
            columns!(),
            "FROM workflow.tasks t",
            joined!(),
            "WHERE $2 IS NULL AND ",
            open!(),
            "AND ($4 IS NULL OR ",
            $after,
            ") ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

macro_rules! of_role {
    ($after:literal, $order:literal) => {
        concat!(
            "WITH RECURSIVE lists AS (
                (SELECT t.roles
                   FROM workflow.tasks t
                  WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
                    AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
                  ORDER BY t.roles
                  LIMIT 1)
                UNION ALL
                SELECT (SELECT t.roles
                          FROM workflow.tasks t
                         WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
                           AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
                           AND t.roles OPERATOR(pg_catalog.>) l.roles
                         ORDER BY t.roles
                         LIMIT 1)
                  FROM lists l
                 WHERE l.roles IS NOT NULL)
             ",
            columns!(),
            "FROM lists l
             CROSS JOIN LATERAL (
                SELECT * FROM workflow.tasks t
                 WHERE t.roles OPERATOR(pg_catalog.=) l.roles AND ",
            open!(),
            "AND ($4 IS NULL OR ",
            $after,
            ") ORDER BY ",
            $order,
            " LIMIT $5) t",
            joined!(),
            "WHERE l.roles OPERATOR(pg_catalog.=) '{}'
                OR $2 OPERATOR(pg_catalog.=) ANY (l.roles)
             ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

/// Oldest first: ids are in order of time.
pub static BY_AGE: Statement = Statement::survey(
    of_all_roles!("t.id OPERATOR(pg_catalog.>) $4", "t.id"),
    &[TEXT, TEXT, TEXT, UUID, INT],
);

/// The same for a role.
pub static OF_ROLE_BY_AGE: Statement = Statement::survey(
    of_role!("t.id OPERATOR(pg_catalog.>) $4", "t.id"),
    &[TEXT, TEXT, TEXT, UUID, INT],
);

/// The most urgent first.
pub static BY_DUE: Statement = Statement::survey(
    of_all_roles!(
        "ROW(COALESCE(t.due_at, 'infinity'), t.id) OPERATOR(pg_catalog.>) ROW($6, $4)",
        "COALESCE(t.due_at, 'infinity'), t.id"
    ),
    &[TEXT, TEXT, TEXT, UUID, INT, TIME],
);

/// The same for a role.
pub static OF_ROLE_BY_DUE: Statement = Statement::survey(
    of_role!(
        "ROW(COALESCE(t.due_at, 'infinity'), t.id) OPERATOR(pg_catalog.>) ROW($6, $4)",
        "COALESCE(t.due_at, 'infinity'), t.id"
    ),
    &[TEXT, TEXT, TEXT, UUID, INT, TIME],
);
