//! Human work and its log.

use pgrx::pg_sys::{
    BOOLOID as BOOL, INT4OID as INT, INT8OID as BIGINT, JSONBOID as JSONB, TEXTARRAYOID as TEXTS,
    TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::direct::Column;
use crate::pg::spi::{Insert, Statement};

/// For a page: everything about a task that its reader may act on.
pub static OPEN_TASKS: Statement = Statement::new(
    "SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                'task_id', t.id, 'seat', t.seat, 'roles', t.roles,
                'opened_at', t.opened_at, 'opened_revision', t.opened_revision,
                'due_at', t.due_at, 'holder', CASE WHEN t.held_until IS NULL
                             OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                           THEN t.holder ELSE t.delegated_by END,
                'delegated_by', t.delegated_by, 'veto', t.veto)
                ORDER BY t.seat), '[]'::pg_catalog.jsonb)
       FROM workflow.tasks t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status",
    &[TEXT, UUID],
);

pub static INSERT_TASK: Insert = Insert::new(
    c"tasks",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"id", UUID),
        Column::new(c"instance_id", UUID),
        Column::new(c"seat", TEXT),
        Column::of_enum(c"status", "task_status"),
        Column::new(c"state", TEXT),
        Column::new(c"round", INT),
        Column::new(c"material_version", INT),
        Column::new(c"roles", TEXTS),
        Column::new(c"veto", BOOL),
        Column::new(c"one_vote_each", BOOL),
        Column::new(c"opened_revision", BIGINT),
        Column::new(c"opened_at", TIME),
    ],
);

/// The same with a due date. It belongs to the entry into the state: a task that is opened later in
/// the round gets the one of those before it.
pub static INSERT_TASK_DUE: Statement = Statement::new(
    "INSERT INTO workflow.tasks (tenant_id, id, instance_id, seat, status, state, round,
            material_version, roles, veto, one_vote_each, opened_revision, opened_at, due_at)
     VALUES ($1, $2, $3, $4, $5::workflow.task_status, $6, $7, $8, $9, $10, $11, $12, $13,
             COALESCE(
                 (SELECT pg_catalog.min(o.due_at)
                    FROM workflow.tasks o
                   WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
                     AND o.instance_id OPERATOR(pg_catalog.=) $3
                     AND o.round OPERATOR(pg_catalog.=) $7),
                 $15 OPERATOR(pg_catalog.+) $14::pg_catalog.interval))",
    &[
        TEXT, UUID, UUID, TEXT, TEXT, TEXT, INT, INT, TEXTS, BOOL, BOOL, BIGINT, TIME, TEXT, TIME,
    ],
);

/// Which instance a task belongs to, and how it ended if it has.
pub static FIND_TASK: Statement = Statement::new(
    "SELECT t.instance_id, t.status::pg_catalog.text, t.closed_revision, t.reason
       FROM workflow.tasks t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// Completes one task of an instance whose row is ours.
pub static COMPLETE_TASK: Statement = Statement::new(
    "UPDATE workflow.tasks t
        SET status = 'COMPLETED'::workflow.task_status, closed_revision = $3, closed_at = $4,
            decision = $5, in_favour = $6, decided_by = $7, on_behalf_of = $8
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.id OPERATOR(pg_catalog.=) $2
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status",
    &[TEXT, UUID, BIGINT, TIME, TEXT, BOOL, TEXT, TEXT],
);

/// Closes the open tasks of an instance whose row is ours: all of them, or those of one seat.
pub static CLOSE_TASKS: Statement = Statement::new(
    "UPDATE workflow.tasks t
        SET status = $3::workflow.task_status, closed_revision = $4, closed_at = $5, reason = $6
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.instance_id OPERATOR(pg_catalog.=) $2
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
        AND ($7 IS NULL OR t.seat OPERATOR(pg_catalog.=) $7)",
    &[TEXT, UUID, TEXT, BIGINT, TIME, TEXT, TEXT],
);

pub static HOLD_TASK: Statement = Statement::new(
    "UPDATE workflow.tasks t
        SET holder = $3, delegated_by = $4, claimed = $6,
            held_until = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+)
                         pg_catalog.make_interval(secs => $5::pg_catalog.float8
                             OPERATOR(pg_catalog./) 1000::pg_catalog.float8)
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.id OPERATOR(pg_catalog.=) $2
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status",
    &[TEXT, UUID, TEXT, TEXT, INT, BOOL],
);

pub static INSERT_TASK_LOG: Statement = Statement::new(
    "INSERT INTO workflow.task_log (tenant_id, instance_id, work, step, task_id, seat, revision,
            round, material_version, event, in_favour, actor, on_behalf_of, to_actor, proof,
            comment, payload, request_id, at)
     VALUES ($1, $2, $3, $4::workflow.task_step, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
             $15::workflow.proof, $16, $17, $18, $19)",
    &[
        TEXT, UUID, BIGINT, TEXT, UUID, TEXT, BIGINT, INT, INT, TEXT, BOOL, TEXT, TEXT, TEXT, TEXT,
        TEXT, JSONB, TEXT, TIME,
    ],
);
