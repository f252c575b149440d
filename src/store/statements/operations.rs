//! What operators do to many instances: carry them over to another version, remove them.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, INTERVALOID as INTERVAL,
    TEXTARRAYOID as TEXTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDARRAYOID as UUIDS,
    UUIDOID as UUID,
};

use crate::pg::spi::Statement;

/// Open instances of a version in lock order.
pub static INSTANCES_OF_VERSION: Statement = Statement::new(
    "SELECT i.id
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.definition_id OPERATOR(pg_catalog.=) $2
        AND NOT i.closed
      ORDER BY i.id
      LIMIT $3",
    &[TEXT, UUID, BIGINT],
);

/// How many open instances of a version stand where.
pub static STATES_OF_VERSION: Statement = Statement::new(
    "SELECT i.state, pg_catalog.count(*)
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.definition_id OPERATOR(pg_catalog.=) $2
        AND NOT i.closed
      GROUP BY i.state
      ORDER BY i.state",
    &[TEXT, UUID],
);

/// Open instances of a version that stand in one of these states.
pub static INSTANCES_IN_STATES: Statement = Statement::new(
    "SELECT i.id, i.state, i.revision
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.definition_id OPERATOR(pg_catalog.=) $2
        AND NOT i.closed AND i.state OPERATOR(pg_catalog.=) ANY ($3)
      ORDER BY i.id
      LIMIT $4",
    &[TEXT, UUID, TEXTS, BIGINT],
);

/// Moves an instance whose row is ours to another version of its definition.
pub static MIGRATE_INSTANCE: Statement = Statement::new(
    "UPDATE workflow.instances i
        SET definition_id = $6, state = $7, revision = $8, round = $9, closed = $10,
            entered_revision = $11
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2
        AND i.revision OPERATOR(pg_catalog.=) $3 AND i.work OPERATOR(pg_catalog.=) $4
        AND i.definition_id OPERATOR(pg_catalog.=) $5",
    &[
        TEXT, UUID, BIGINT, BIGINT, UUID, UUID, TEXT, BIGINT, INT, BOOL, BIGINT,
    ],
);

/// The moment so long ago, and whether it lies ahead.
pub static LONG_AGO: Statement = Statement::new(
    "SELECT pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) $1,
            $1 OPERATOR(pg_catalog.<) '0'::pg_catalog.interval",
    &[INTERVAL],
);

/// Closed instances whose last step was before $3 and whose events have all left the outbox. Ids
/// are in order of time, so one that was made after $2 cannot have closed before.
pub static PURGEABLE_INSTANCES: Statement = Statement::new(
    "SELECT i.id, i.application_id
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.closed
        AND i.id OPERATOR(pg_catalog.<=) $2
        AND EXISTS (SELECT FROM workflow.history h
                     WHERE h.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                       AND h.instance_id OPERATOR(pg_catalog.=) i.id
                       AND h.revision OPERATOR(pg_catalog.=) i.revision
                       AND h.at OPERATOR(pg_catalog.<) $3)
        AND NOT EXISTS (SELECT FROM workflow.outbox o
                         WHERE o.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                           AND o.aggregateid OPERATOR(pg_catalog.=) i.id::pg_catalog.text)
      ORDER BY i.id
      LIMIT $4",
    &[TEXT, UUID, TIME, BIGINT],
);

/// Never waits: an instance that somebody holds is left alone.
pub static LOCK_CLOSED_INSTANCES: Statement = Statement::new(
    "SELECT i.id
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) ANY ($2)
        AND i.closed
      ORDER BY i.id
        FOR UPDATE SKIP LOCKED",
    &[TEXT, UUIDS],
);

/// Rows that belong to instances, each with the table whose guard lets the statement through.
pub static PURGE_ROWS: [(&str, Statement); 9] = [
    (
        "refusals",
        Statement::new(
            "DELETE FROM workflow.refusals r
              WHERE r.tenant_id OPERATOR(pg_catalog.=) $1
                AND r.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "task_log",
        Statement::new(
            "DELETE FROM workflow.task_log l
              WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                AND l.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "timers",
        Statement::new(
            "DELETE FROM workflow.timers t
              WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
                AND t.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "work_items",
        Statement::new(
            "DELETE FROM workflow.work_items w
              WHERE w.tenant_id OPERATOR(pg_catalog.=) $1
                AND w.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
    // Ids are not given out again, so nobody asks for the next fence of such a key.
    (
        "leases",
        Statement::new(
            "DELETE FROM workflow.leases l
              WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                AND l.key OPERATOR(pg_catalog.=) ANY (ARRAY(
                    SELECT pg_catalog.concat('workflow.work/', k.id)
                      FROM pg_catalog.unnest($2) k (id)))",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "lease_log",
        Statement::new(
            "DELETE FROM workflow.lease_log g
              WHERE g.tenant_id OPERATOR(pg_catalog.=) $1
                AND g.key OPERATOR(pg_catalog.=) ANY (ARRAY(
                    SELECT pg_catalog.concat('workflow.work/', k.id)
                      FROM pg_catalog.unnest($2) k (id)))",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "outbox_removed",
        Statement::new(
            "DELETE FROM workflow.outbox_removed o
              WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
                AND o.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "tasks",
        Statement::new(
            "DELETE FROM workflow.tasks t
              WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
                AND t.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
    (
        "history",
        Statement::new(
            "DELETE FROM workflow.history h
              WHERE h.tenant_id OPERATOR(pg_catalog.=) $1
                AND h.instance_id OPERATOR(pg_catalog.=) ANY ($2)",
            &[TEXT, UUIDS],
        ),
    ),
];

pub static PURGE_INSTANCES: Statement = Statement::new(
    "DELETE FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) ANY ($2)
        AND i.closed",
    &[TEXT, UUIDS],
);

/// Never waits: an application that somebody is starting an instance of is left alone.
pub static LOCK_APPLICATIONS: Statement = Statement::new(
    "SELECT a.id
       FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) ANY ($2)
      ORDER BY a.id
        FOR UPDATE SKIP LOCKED",
    &[TEXT, UUIDS],
);

/// Of locked applications those that have no instance.
pub static IDLE_APPLICATIONS: Statement = Statement::new(
    "SELECT a.id
       FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) ANY ($2)
        AND NOT EXISTS (SELECT FROM workflow.instances i
                         WHERE i.tenant_id OPERATOR(pg_catalog.=) a.tenant_id
                           AND i.application_id OPERATOR(pg_catalog.=) a.id)",
    &[TEXT, UUIDS],
);

pub static PURGE_MATERIALS: Statement = Statement::new(
    "DELETE FROM workflow.materials m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1
        AND m.application_id OPERATOR(pg_catalog.=) ANY ($2)",
    &[TEXT, UUIDS],
);

pub static PURGE_APPLICATIONS: Statement = Statement::new(
    "DELETE FROM workflow.applications a
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1 AND a.id OPERATOR(pg_catalog.=) ANY ($2)",
    &[TEXT, UUIDS],
);

/// Request keys whose time is over.
pub static PURGE_REQUESTS: Statement = Statement::new(
    "DELETE FROM workflow.requests q
      WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
        AND q.request_id OPERATOR(pg_catalog.=) ANY (ARRAY(
            SELECT r.request_id
              FROM workflow.requests r
             WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.at OPERATOR(pg_catalog.<) $2
             LIMIT $3
               FOR UPDATE SKIP LOCKED))",
    &[TEXT, TIME, BIGINT],
);

/// The next tenant, in their order, that has request keys; of any, because the background worker is
/// for all of them.
pub static NEXT_TENANT_WITH_REQUESTS: Statement = Statement::new(
    "SELECT r.tenant_id
       FROM workflow.requests r
      WHERE r.tenant_id OPERATOR(pg_catalog.>) $1
      ORDER BY r.tenant_id
      LIMIT 1",
    &[TEXT],
);

/// Refusals about no instance; ids are in order of time.
pub static PURGE_REFUSALS: Statement = Statement::new(
    "DELETE FROM workflow.refusals f
      WHERE f.tenant_id OPERATOR(pg_catalog.=) $1
        AND f.id OPERATOR(pg_catalog.=) ANY (ARRAY(
            SELECT r.id
              FROM workflow.refusals r
             WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.id OPERATOR(pg_catalog.<) $2
               AND r.instance_id IS NULL
             ORDER BY r.id
             LIMIT $3
               FOR UPDATE SKIP LOCKED))",
    &[TEXT, UUID, BIGINT],
);
