//! Every SQL statement of the engine (but the pages of the worklist, beside this file), and the order
//! in which a call takes its locks.
//!
//! Lock order within one call: request key, business key or definition name (locks of our own, see
//! `pg::wait`), then application, then instances by id, then tasks, then outbox. Locks are taken in
//! one statement and data is read in the next: a row read in the statement that waited for it may
//! be from before the wait.
//!
//! The statements run as the owner of the tables, under whatever search path the caller has: every
//! name and every operator is qualified, and every one of them names the tenant.

use pgrx::pg_sys::{
    BOOLOID as BOOL, BYTEAOID as BYTEA, INT4OID as INT, INT8OID as BIGINT, JSONBOID as JSONB,
    OIDOID as OID, TEXTARRAYOID as TEXTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

// Instances

/// With the tasks of its present round and material, one row each. A claim that has run out leaves
/// the task to the one who delegated it, or to everybody of the role.
pub static READ_INSTANCE: Statement = Statement::new(
    "SELECT i.application_id, i.definition_id, i.state, i.revision, i.work, i.round,
            i.material_version, i.closed, i.entered_revision, i.started_by,
            t.id, t.seat, t.roles, t.veto,
            t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.holder ELSE t.delegated_by END,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.delegated_by END, t.decision, t.in_favour, t.decided_by, t.on_behalf_of, t.closed_at, t.claimed
       FROM workflow.instances i
       LEFT JOIN workflow.tasks t
         ON t.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
        AND t.instance_id OPERATOR(pg_catalog.=) i.id
        AND t.round OPERATOR(pg_catalog.=) i.round
        AND t.material_version OPERATOR(pg_catalog.=) i.material_version
        AND t.status OPERATOR(pg_catalog.=) ANY ('{OPEN,COMPLETED}'::workflow.task_status[])
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// Waits; nothing may be read with it.
pub static LOCK_INSTANCE: Statement = Statement::new(
    "SELECT FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE",
    &[TEXT, UUID],
);

/// Never waits: no row if somebody else holds it.
pub static TRY_LOCK_INSTANCE: Statement = Statement::new(
    "SELECT FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE SKIP LOCKED",
    &[TEXT, UUID],
);

/// The conditional update that decides every race. Never waits: a row that somebody else holds is
/// passed over, like one that is no longer as it was when it was read.
pub static MOVE_INSTANCE: Statement = Statement::new(
    "UPDATE workflow.instances i
        SET state = $7, revision = $8, round = $9, material_version = $10, closed = $11,
            entered_revision = $12, work = $13
       FROM (SELECT f.id
               FROM workflow.instances f
              WHERE f.tenant_id OPERATOR(pg_catalog.=) $1 AND f.id OPERATOR(pg_catalog.=) $2
                FOR NO KEY UPDATE SKIP LOCKED) free
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) free.id
        AND i.state OPERATOR(pg_catalog.=) $3
        AND i.revision OPERATOR(pg_catalog.=) $4
        AND i.material_version OPERATOR(pg_catalog.=) $5
        AND i.work OPERATOR(pg_catalog.=) $6",
    &[
        TEXT, UUID, TEXT, BIGINT, INT, BIGINT, TEXT, BIGINT, INT, INT, BOOL, BIGINT, BIGINT,
    ],
);

pub static INSERT_INSTANCE: Statement = Statement::new(
    "INSERT INTO workflow.instances (tenant_id, id, application_id, definition_id, definition, state,
            revision, work, round, material_version, entered_revision, concurrent, closed, started_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, $11, $12, $13)",
    &[TEXT, UUID, UUID, UUID, TEXT, TEXT, BIGINT, INT, INT, BIGINT, BOOL, BOOL, TEXT],
);

/// Open instances of an application in lock order.
pub static OPEN_INSTANCES: Statement = Statement::new(
    "SELECT i.id
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.application_id OPERATOR(pg_catalog.=) $2
        AND NOT i.closed
      ORDER BY i.id",
    &[TEXT, UUID],
);

/// The open instance of this definition name that keeps another one out.
pub static RUNNING_INSTANCE: Statement = Statement::new(
    "SELECT i.id, i.state, i.revision, i.material_version
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.application_id OPERATOR(pg_catalog.=) $2
        AND i.definition OPERATOR(pg_catalog.=) $3 AND NOT i.closed AND NOT i.concurrent",
    &[TEXT, UUID, TEXT],
);

/// The open instance, else the latest one: ids are in order of time.
pub static FIND_INSTANCE: Statement = Statement::new(
    "SELECT i.id
       FROM workflow.applications a
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) a.tenant_id
        AND i.application_id OPERATOR(pg_catalog.=) a.id
      WHERE a.tenant_id OPERATOR(pg_catalog.=) $1
        AND a.business_key OPERATOR(pg_catalog.=) $2
        AND i.definition OPERATOR(pg_catalog.=) $3
      ORDER BY i.closed, i.id DESC
      LIMIT 1",
    &[TEXT, TEXT, TEXT],
);

// Applications and materials

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
     VALUES ($1, $2, $3, 1, 1, $4, $5)
     ON CONFLICT DO NOTHING",
    &[TEXT, UUID, TEXT, TIME, TEXT],
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

pub static INSERT_MATERIAL: Statement = Statement::new(
    "INSERT INTO workflow.materials (tenant_id, application_id, version, content, author, created_at)
     VALUES ($1, $2, $3, $4, $5, $6)",
    &[TEXT, UUID, INT, JSONB, TEXT, TIME],
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

// Tasks

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

/// The due date belongs to the entry into the state: a task that is opened later in the round gets
/// the one of those before it.
pub static INSERT_TASK: Statement = Statement::new(
    "INSERT INTO workflow.tasks (tenant_id, id, instance_id, seat, status, state, round,
            material_version, roles, veto, one_vote_each, opened_revision, opened_at, due_at)
     VALUES ($1, $2, $3, $4, 'OPEN'::workflow.task_status, $5, $6, $7, $8, $9, $10, $11, $12,
             CASE WHEN $13 IS NOT NULL THEN COALESCE(
                 (SELECT pg_catalog.min(o.due_at)
                    FROM workflow.tasks o
                   WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
                     AND o.instance_id OPERATOR(pg_catalog.=) $3
                     AND o.round OPERATOR(pg_catalog.=) $6),
                 $12 OPERATOR(pg_catalog.+) $13::pg_catalog.interval) END)",
    &[
        TEXT, UUID, UUID, TEXT, TEXT, INT, INT, TEXTS, BOOL, BOOL, BIGINT, TIME, TEXT,
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

// History and outbox

pub static INSERT_HISTORY: Statement = Statement::new(
    "INSERT INTO workflow.history (tenant_id, instance_id, revision, step, from_state, to_state,
            event, decision, round, material_version, definition_version, task_id, actor, proof,
            comment, payload, request_id, at, on_behalf_of)
     VALUES ($1, $2, $3, $4::workflow.step, $5, $6, $7, $8::workflow.decision, $9, $10, $11, $12,
            $13, $14::workflow.proof, $15, $16, $17, $18, $19)",
    &[
        TEXT, UUID, BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, INT, INT, INT, UUID, TEXT, TEXT, TEXT,
        JSONB, TEXT, TIME, TEXT,
    ],
);

pub static INSERT_OUTBOX: Statement = Statement::new(
    "INSERT INTO workflow.outbox (tenant_id, id, aggregatetype, aggregateid, type, payload,
            revision, occurred_at, tracingspancontext)
     VALUES ($1, $2, $3, $4::pg_catalog.text, $5,
            pg_catalog.jsonb_build_object('instance_id', $4, 'application_id', $6, 'definition', $3,
                'version', $7, 'revision', $8, 'step', $9, 'event', $10, 'from_state', $11,
                'to_state', $12, 'decision', $13, 'round', $14, 'material_version', $15,
                'actor', $16, 'payload', $17),
            $8, $18, COALESCE($17 OPERATOR(pg_catalog.->>) 'traceparent', $19))",
    &[
        TEXT, UUID, TEXT, UUID, TEXT, UUID, INT, BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, INT, INT,
        TEXT, JSONB, TIME, TEXT,
    ],
);

/// The step that came after the revision a caller knew; its actor only for those who may read the
/// timeline.
pub static WINNER: Statement = Statement::new(
    "SELECT h.revision, h.event, h.to_state,
            pg_catalog.to_char(pg_catalog.timezone('UTC', h.at), 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
            h.actor, h.material_version,
            pg_catalog.has_table_privilege($4, 'workflow.timeline', 'SELECT')
       FROM workflow.history h
      WHERE h.tenant_id OPERATOR(pg_catalog.=) $1 AND h.instance_id OPERATOR(pg_catalog.=) $2
        AND h.revision OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, BIGINT, OID],
);

// Reading

/// Due date of the last task of a page.
pub static TASK_DUE: Statement = Statement::new(
    "SELECT COALESCE(t.due_at, 'infinity')
       FROM workflow.tasks t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// Seats and votes of the present round, the last step, recent refusals, and who has the row. Two
/// kinds of locks say who waits: that of the transaction which changed the row last, and that of
/// the row's version.
pub static EXPLAIN: Statement = Statement::survey(
    "SELECT pg_catalog.jsonb_build_object(
        'seats', (SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                            'task_id', t.id, 'seat', t.seat, 'roles', t.roles, 'veto', t.veto,
                            'status', t.status, 'holder', CASE WHEN t.held_until IS NULL
                             OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                           THEN t.holder ELSE t.delegated_by END,
                            'delegated_by', t.delegated_by, 'decision', t.decision,
                            'decided_by', t.decided_by, 'on_behalf_of', t.on_behalf_of,
                            'due_at', t.due_at, 'reason', t.reason) ORDER BY t.seat),
                         '[]'::pg_catalog.jsonb)
                    FROM workflow.tasks t
                   WHERE t.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                     AND t.instance_id OPERATOR(pg_catalog.=) i.id
                     AND t.round OPERATOR(pg_catalog.=) i.round
                     AND t.material_version OPERATOR(pg_catalog.=) i.material_version),
        'last_step', (SELECT pg_catalog.jsonb_build_object(
                            'revision', h.revision, 'step', h.step, 'event', h.event,
                            'from_state', h.from_state, 'to_state', h.to_state,
                            'actor', h.actor, 'on_behalf_of', h.on_behalf_of, 'at', h.at)
                        FROM workflow.history h
                       WHERE h.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                         AND h.instance_id OPERATOR(pg_catalog.=) i.id
                         AND h.revision OPERATOR(pg_catalog.=) i.revision),
        'refusals', (SELECT COALESCE(pg_catalog.jsonb_agg(r.refusal), '[]'::pg_catalog.jsonb)
                       FROM (SELECT pg_catalog.jsonb_build_object('at', f.at, 'actor', f.actor,
                                        'command', f.command, 'code', f.code,
                                        'reason', f.reason) AS refusal
                               FROM workflow.refusals f
                              WHERE f.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                                AND f.instance_id OPERATOR(pg_catalog.=) i.id
                                AND (f.actor OPERATOR(pg_catalog.=) $3
                                     OR pg_catalog.has_table_privilege($4, 'workflow.refusals',
                                                                       'SELECT'))
                              ORDER BY f.id DESC
                              LIMIT 10) r),
        'lock_held_by', (SELECT COALESCE(pg_catalog.jsonb_agg(DISTINCT l.pid), '[]'::pg_catalog.jsonb)
                           FROM pg_catalog.pg_locks l
                          WHERE l.locktype OPERATOR(pg_catalog.=) 'transactionid' AND l.granted
                            AND l.transactionid OPERATOR(pg_catalog.=) i.xmax),
        'lock_awaited_by', (SELECT COALESCE(pg_catalog.jsonb_agg(DISTINCT l.pid), '[]'::pg_catalog.jsonb)
                              FROM pg_catalog.pg_locks l
                             WHERE NOT l.granted
                               AND (l.transactionid OPERATOR(pg_catalog.=) i.xmax
                                    OR (l.locktype OPERATOR(pg_catalog.=) 'tuple'
                                        AND l.relation OPERATOR(pg_catalog.=) i.tableoid
                                        AND pg_catalog.format('(%s,%s)', l.page, l.tuple)
                                            OPERATOR(pg_catalog.=) i.ctid::pg_catalog.text))))
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID, TEXT, OID],
);

/// Whether somebody has approved or rejected this material.
pub static VERDICT: Statement = Statement::new(
    "SELECT FROM workflow.history h
      WHERE h.tenant_id OPERATOR(pg_catalog.=) $1 AND h.instance_id OPERATOR(pg_catalog.=) $2
        AND h.material_version OPERATOR(pg_catalog.=) $3
        AND h.decision OPERATOR(pg_catalog.=) ANY ('{approve,reject}'::workflow.decision[])
      LIMIT 1",
    &[TEXT, UUID, INT],
);

// Definitions

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

// Requests and refusals

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

// Identity

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

/// See `verify.sql`.
pub static VERIFY: Statement = Statement::survey(include_str!("verify.sql"), &[TEXT, UUID]);
