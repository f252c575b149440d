//! Timers of `after`. They are locked after their instance, and only by who has locked that.

use pgrx::pg_sys::{
    INT4OID as INT, INT8OID as BIGINT, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

pub static INSERT_TIMER: Statement = Statement::new(
    "INSERT INTO workflow.timers
            (tenant_id, instance_id, entered_revision, event, due_at, next_at, attempts)
     SELECT $1, $2, $3, $4, d.due_at, d.due_at, 0
       FROM (SELECT $5 OPERATOR(pg_catalog.+) $6::pg_catalog.interval) d(due_at)",
    &[TEXT, UUID, BIGINT, TEXT, TIME, TEXT],
);

/// All timers of one visit.
pub static CLEAR_TIMERS: Statement = Statement::new(
    "DELETE FROM workflow.timers t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.entered_revision OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, BIGINT],
);

/// Timers of one visit that have failed are tried again at once.
pub static REVIVE_TIMERS: Statement = Statement::new(
    "UPDATE workflow.timers t
        SET next_at = t.due_at, attempts = 0, error = NULL
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.entered_revision OPERATOR(pg_catalog.=) $3
        AND t.attempts OPERATOR(pg_catalog.>) 0",
    &[TEXT, UUID, BIGINT],
);

/// The due date of the open tasks of an instance begins anew.
pub static RESTART_DUE: Statement = Statement::new(
    "UPDATE workflow.tasks t
        SET due_at = $3 OPERATOR(pg_catalog.+) $4::pg_catalog.interval
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status",
    &[TEXT, UUID, TIME, TEXT],
);

/// Timers that are due and whose visit lasts, earliest first, behind the one given.
pub static DUE_TIMERS: Statement = Statement::new(
    "SELECT t.instance_id, t.entered_revision, t.event, t.next_at
       FROM workflow.timers t
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
        AND i.id OPERATOR(pg_catalog.=) t.instance_id
        AND i.entered_revision OPERATOR(pg_catalog.=) t.entered_revision
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
        AND t.next_at OPERATOR(pg_catalog.<=) $2
        AND t.next_at OPERATOR(pg_catalog.>=) $4
        AND (t.next_at, t.instance_id, t.entered_revision, t.event)
            OPERATOR(pg_catalog.>) ($4, $5, $6, $7)
        AND NOT i.closed
      ORDER BY t.next_at, t.instance_id, t.entered_revision, t.event
      LIMIT $3",
    &[TEXT, TIME, INT, TIME, UUID, BIGINT, TEXT],
);

/// Removes timers that are due and whose visit is over: it never comes back, so no lock on the
/// instance is needed to know.
pub static SWEEP_TIMERS: Statement = Statement::new(
    "DELETE FROM workflow.timers d
      USING (SELECT t.instance_id, t.entered_revision, t.event
               FROM workflow.timers t
               LEFT JOIN workflow.instances i
                 ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
                AND i.id OPERATOR(pg_catalog.=) t.instance_id
              WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
                AND t.next_at OPERATOR(pg_catalog.<=) $2
                AND (i.id IS NULL OR i.closed
                     OR i.entered_revision OPERATOR(pg_catalog.<>) t.entered_revision)
              ORDER BY t.next_at
              LIMIT $3
                FOR UPDATE OF t SKIP LOCKED) o
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.instance_id OPERATOR(pg_catalog.=) o.instance_id
        AND d.entered_revision OPERATOR(pg_catalog.=) o.entered_revision
        AND d.event OPERATOR(pg_catalog.=) o.event",
    &[TEXT, TIME, INT],
);

/// No row if somebody else has it, or it is gone, or no longer due.
pub static LOCK_TIMER: Statement = Statement::new(
    "SELECT t.attempts
       FROM workflow.timers t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.entered_revision OPERATOR(pg_catalog.=) $3 AND t.event OPERATOR(pg_catalog.=) $4
        AND t.next_at OPERATOR(pg_catalog.<=) $5
        FOR UPDATE SKIP LOCKED",
    &[TEXT, UUID, BIGINT, TEXT, TIME],
);

pub static DELETE_TIMER: Statement = Statement::new(
    "DELETE FROM workflow.timers t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.entered_revision OPERATOR(pg_catalog.=) $3 AND t.event OPERATOR(pg_catalog.=) $4",
    &[TEXT, UUID, BIGINT, TEXT],
);

pub static FAIL_TIMER: Statement = Statement::new(
    "UPDATE workflow.timers t
        SET attempts = $5, next_at = $6, error = $7
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.entered_revision OPERATOR(pg_catalog.=) $3 AND t.event OPERATOR(pg_catalog.=) $4",
    &[TEXT, UUID, BIGINT, TEXT, INT, TIME, TEXT],
);

/// For a page: what time will do to an instance as it stands.
pub static PENDING_TIMERS: Statement = Statement::new(
    "SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                'event', t.event, 'due_at', t.due_at, 'next_at', t.next_at,
                'attempts', t.attempts) ORDER BY t.due_at, t.event), '[]'::pg_catalog.jsonb)
       FROM workflow.timers t
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
        AND i.id OPERATOR(pg_catalog.=) t.instance_id
        AND i.entered_revision OPERATOR(pg_catalog.=) t.entered_revision
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND NOT i.closed",
    &[TEXT, UUID],
);

/// The next tenant, in their order, that has something due; of any, because the background worker
/// is for all of them. The index is entered once for each tenant that has timers.
pub static NEXT_TENANT_DUE: Statement = Statement::new(
    "WITH RECURSIVE w(tenant_id) AS (
        (SELECT t.tenant_id
           FROM workflow.timers t
          WHERE t.tenant_id OPERATOR(pg_catalog.>) $1
          ORDER BY t.tenant_id
          LIMIT 1)
        UNION ALL
        SELECT (SELECT t.tenant_id
                  FROM workflow.timers t
                 WHERE t.tenant_id OPERATOR(pg_catalog.>) w.tenant_id
                 ORDER BY t.tenant_id
                 LIMIT 1)
          FROM w
         WHERE w.tenant_id IS NOT NULL)
     SELECT w.tenant_id
       FROM w
      WHERE w.tenant_id IS NOT NULL
        AND EXISTS (SELECT FROM workflow.timers t
                     WHERE t.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
                       AND t.next_at OPERATOR(pg_catalog.<=) $2)
      LIMIT 1",
    &[TEXT, TIME],
);
