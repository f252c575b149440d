//! The statements of one command for many instances at once: the same as for one, but each takes a
//! column of values for every argument. The columns are unnested side by side in a target list,
//! which streams them; as functions in FROM each would be stored first.

use pgrx::pg_sys::{
    BOOLARRAYOID as BOOLS, BOOLOID as BOOL, BYTEAARRAYOID as BYTEAS, INT4ARRAYOID as INTS,
    INT8ARRAYOID as BIGINTS, JSONBARRAYOID as JSONBS, JSONBOID as JSONB, TEXTARRAYOID as TEXTS,
    TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDARRAYOID as UUIDS,
};

use crate::pg::spi::Statement;

pub static IS_ARRAY: Statement = Statement::new(
    "SELECT pg_catalog.jsonb_typeof($1) OPERATOR(pg_catalog.=) 'array'",
    &[JSONB],
);

/// The commands of a call, in order: what Rust reads, and the payload that it does not look into.
pub static READ_COMMANDS: Statement = Statement::new(
    "SELECT CASE WHEN pg_catalog.jsonb_typeof(c.value) OPERATOR(pg_catalog.=) 'object'
                 THEN c.value OPERATOR(pg_catalog.-) 'payload'::pg_catalog.text
                 ELSE c.value END::pg_catalog.text,
            CASE WHEN pg_catalog.jsonb_typeof(c.value OPERATOR(pg_catalog.->) 'payload'::pg_catalog.text)
                      OPERATOR(pg_catalog.<>) 'null'
                 THEN c.value OPERATOR(pg_catalog.->) 'payload'::pg_catalog.text END
       FROM pg_catalog.jsonb_array_elements($1) WITH ORDINALITY c(value, ordinal)
      ORDER BY c.ordinal",
    &[JSONB],
);

/// `READ_INSTANCE` for many.
pub static READ_INSTANCES: Statement = Statement::new(
    "SELECT i.application_id, i.definition_id, i.state, i.revision, i.work, i.round,
            i.material_version, i.closed, i.entered_revision, i.started_by,
            t.id, t.seat, t.roles, t.veto,
            t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.holder ELSE t.delegated_by END,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.delegated_by END, t.decision, t.in_favour, t.decided_by, t.on_behalf_of, t.closed_at, t.claimed,
            i.id
       FROM workflow.instances i
       LEFT JOIN workflow.tasks t
         ON t.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
        AND t.instance_id OPERATOR(pg_catalog.=) i.id
        AND t.round OPERATOR(pg_catalog.=) i.round
        AND t.material_version OPERATOR(pg_catalog.=) i.material_version
        AND t.status OPERATOR(pg_catalog.=) ANY ('{OPEN,COMPLETED}'::workflow.task_status[])
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) ANY ($2)
      ORDER BY i.id",
    &[TEXT, UUIDS],
);

/// Locks the instances that are not beyond what the commands expect of them; the others cannot be
/// won and are left alone. Where the snapshot is kept ($5), those are locked, too, of which a command
/// knows more than the snapshot shows: then 40001 is raised, where a refusal would be false. Waits for each row in turn, in the order in which everybody takes them;
/// nothing may be read with it.
pub static LOCK_INSTANCES: Statement = Statement::new(
    "SELECT i.id
       FROM (SELECT pg_catalog.unnest($2) AS id, pg_catalog.unnest($3) AS revision,
                    pg_catalog.unnest($4) AS material_version) e
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) e.id
        AND ((i.revision OPERATOR(pg_catalog.<=) e.revision
              AND i.material_version OPERATOR(pg_catalog.<=) e.material_version)
             OR ($5 AND (i.revision OPERATOR(pg_catalog.<) e.revision
                         OR i.material_version OPERATOR(pg_catalog.<) e.material_version)))
      ORDER BY i.id
        FOR NO KEY UPDATE OF i",
    &[TEXT, UUIDS, BIGINTS, INTS, BOOL],
);

/// The same, but never waits: leaves out those that somebody else holds.
pub static TRY_LOCK_INSTANCES: Statement = Statement::new(
    "SELECT i.id
       FROM (SELECT pg_catalog.unnest($2) AS id, pg_catalog.unnest($3) AS revision,
                    pg_catalog.unnest($4) AS material_version) e
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) e.id
        AND ((i.revision OPERATOR(pg_catalog.<=) e.revision
              AND i.material_version OPERATOR(pg_catalog.<=) e.material_version)
             OR ($5 AND (i.revision OPERATOR(pg_catalog.<) e.revision
                         OR i.material_version OPERATOR(pg_catalog.<) e.material_version)))
      ORDER BY i.id
        FOR NO KEY UPDATE OF i SKIP LOCKED",
    &[TEXT, UUIDS, BIGINTS, INTS, BOOL],
);

/// The conditional update, of rows that are ours.
pub static MOVE_INSTANCES: Statement = Statement::new(
    "UPDATE workflow.instances i
        SET state = m.to_state, revision = m.to_revision, round = m.to_round, closed = m.closed,
            entered_revision = m.entered_revision
       FROM (SELECT pg_catalog.unnest($2) AS id, pg_catalog.unnest($3) AS state,
                    pg_catalog.unnest($4) AS revision, pg_catalog.unnest($5) AS material_version,
                    pg_catalog.unnest($6) AS work, pg_catalog.unnest($7) AS to_state,
                    pg_catalog.unnest($8) AS to_revision, pg_catalog.unnest($9) AS to_round,
                    pg_catalog.unnest($10) AS closed,
                    pg_catalog.unnest($11) AS entered_revision) m
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) m.id
        AND i.state OPERATOR(pg_catalog.=) m.state
        AND i.revision OPERATOR(pg_catalog.=) m.revision
        AND i.material_version OPERATOR(pg_catalog.=) m.material_version
        AND i.work OPERATOR(pg_catalog.=) m.work",
    &[
        TEXT, UUIDS, TEXTS, BIGINTS, INTS, BIGINTS, TEXTS, BIGINTS, INTS, BOOLS, BIGINTS,
    ],
);

/// `COMPLETE_TASK` for many: the verdict of the one seat there is.
pub static COMPLETE_TASKS: Statement = Statement::new(
    "UPDATE workflow.tasks t
        SET status = 'COMPLETED'::workflow.task_status, closed_revision = c.revision,
            closed_at = $2, decision = c.event, decided_by = $3, on_behalf_of = c.on_behalf_of
       FROM (SELECT pg_catalog.unnest($4) AS id, pg_catalog.unnest($5) AS revision,
                    pg_catalog.unnest($6) AS event, pg_catalog.unnest($7) AS on_behalf_of) c
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
        AND t.id OPERATOR(pg_catalog.=) c.id
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status",
    &[TEXT, TIME, TEXT, UUIDS, BIGINTS, TEXTS, TEXTS],
);

/// `CLOSE_TASKS` for many, which are superseded because their state was left.
pub static SUPERSEDE_TASKS: Statement = Statement::new(
    "UPDATE workflow.tasks t
        SET status = 'SUPERSEDED'::workflow.task_status, closed_revision = c.revision,
            closed_at = $2, reason = c.reason
       FROM (SELECT pg_catalog.unnest($3) AS instance_id, pg_catalog.unnest($4) AS revision,
                    pg_catalog.unnest($5) AS reason) c
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
        AND t.instance_id OPERATOR(pg_catalog.=) c.instance_id
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status",
    &[TEXT, TIME, UUIDS, BIGINTS, TEXTS],
);

/// `INSERT_HISTORY` for many steps along edges.
pub static INSERT_HISTORIES: Statement = Statement::new(
    "INSERT INTO workflow.history (tenant_id, at, actor, proof, instance_id, revision, step,
            from_state, to_state, event, decision, round, material_version, definition_version,
            task_id, on_behalf_of, comment, payload, request_id, lease_key, fence)
     SELECT $1, $2, $3, $4::workflow.proof, h.instance_id, h.revision, 'edge'::workflow.step,
            h.from_state, h.to_state, h.event, h.decision::workflow.decision, h.round,
            h.material_version, h.definition_version, h.task_id, h.on_behalf_of, h.comment,
            h.payload, h.request_id, h.lease_key, h.fence
       FROM (SELECT pg_catalog.unnest($5) AS instance_id, pg_catalog.unnest($6) AS revision,
                    pg_catalog.unnest($7) AS from_state, pg_catalog.unnest($8) AS to_state,
                    pg_catalog.unnest($9) AS event, pg_catalog.unnest($10) AS decision,
                    pg_catalog.unnest($11) AS round, pg_catalog.unnest($12) AS material_version,
                    pg_catalog.unnest($13) AS definition_version,
                    pg_catalog.unnest($14) AS task_id, pg_catalog.unnest($15) AS on_behalf_of,
                    pg_catalog.unnest($16) AS comment, pg_catalog.unnest($17) AS payload,
                    pg_catalog.unnest($18) AS request_id,
                    pg_catalog.unnest($19) AS lease_key, pg_catalog.unnest($20) AS fence) h",
    &[
        TEXT, TIME, TEXT, TEXT, UUIDS, BIGINTS, TEXTS, TEXTS, TEXTS, TEXTS, INTS, INTS, INTS,
        UUIDS, TEXTS, TEXTS, JSONBS, TEXTS, TEXTS, BIGINTS,
    ],
);

/// `INSERT_OUTBOX` for many steps.
pub static INSERT_OUTBOXES: Statement = Statement::new(
    "WITH event AS (
     INSERT INTO workflow.outbox (tenant_id, id, aggregatetype, aggregateid, type, payload,
            revision, occurred_at, tracingspancontext)
     SELECT $1, o.id, o.definition, o.instance_id::pg_catalog.text, o.type, o.payload, o.revision,
            $2, COALESCE(o.payload OPERATOR(pg_catalog.#>>) '{payload,traceparent}', $3)
       FROM (SELECT pg_catalog.unnest($4) AS id, pg_catalog.unnest($5) AS definition,
                    pg_catalog.unnest($6) AS instance_id, pg_catalog.unnest($7) AS type,
                    pg_catalog.unnest($8) AS payload, pg_catalog.unnest($9) AS revision) o
     RETURNING tenant_id, aggregateid, revision, id, occurred_at)
     INSERT INTO workflow.outbox_queue (tenant_id, instance_id, revision, id, occurred_at)
     SELECT e.tenant_id, e.aggregateid::pg_catalog.uuid, e.revision, e.id, e.occurred_at
       FROM event e",
    &[
        TEXT, TIME, TEXT, UUIDS, TEXTS, UUIDS, TEXTS, JSONBS, BIGINTS,
    ],
);

/// `INSERT_TASK` for many seats of states that have just been entered; roles come as the text of
/// an array, for an array of arrays would have to be rectangular.
pub static INSERT_TASKS: Statement = Statement::new(
    "INSERT INTO workflow.tasks (tenant_id, opened_at, id, instance_id, seat, status, state, round,
            material_version, roles, veto, one_vote_each, opened_revision, due_at)
     SELECT $1, $2, t.id, t.instance_id, t.seat, 'OPEN'::workflow.task_status, t.state, t.round,
            t.material_version, t.roles::pg_catalog.text[], t.veto, t.one_vote_each,
            t.opened_revision, $3 OPERATOR(pg_catalog.+) t.due::pg_catalog.interval
       FROM (SELECT pg_catalog.unnest($4) AS id, pg_catalog.unnest($5) AS instance_id,
                    pg_catalog.unnest($6) AS seat, pg_catalog.unnest($7) AS state,
                    pg_catalog.unnest($8) AS round, pg_catalog.unnest($9) AS material_version,
                    pg_catalog.unnest($10) AS roles, pg_catalog.unnest($11) AS veto,
                    pg_catalog.unnest($12) AS one_vote_each,
                    pg_catalog.unnest($13) AS opened_revision, pg_catalog.unnest($14) AS due) t",
    &[
        TEXT, TIME, TIME, UUIDS, UUIDS, TEXTS, TEXTS, INTS, INTS, TEXTS, BOOLS, BOOLS, BIGINTS,
        TEXTS,
    ],
);

/// `INSERT_REQUEST` for many.
pub static INSERT_REQUESTS: Statement = Statement::new(
    "INSERT INTO workflow.requests (tenant_id, at, command, request_id, fingerprint, outcome)
     SELECT $1, $2, $3, r.request_id, r.fingerprint, r.outcome
       FROM (SELECT pg_catalog.unnest($4) AS request_id, pg_catalog.unnest($5) AS fingerprint,
                    pg_catalog.unnest($6) AS outcome) r",
    &[TEXT, TIME, TEXT, TEXTS, BYTEAS, JSONBS],
);
