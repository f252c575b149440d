//! Machine work. What is handed out is locked together with its instance, and passed over if either
//! is not to be had; who settles work locks its lease first, then the item, then the instance.

use pgrx::pg_sys::{
    INT4ARRAYOID as INTS, INT4OID as INT, INT8ARRAYOID as BIGINTS, INT8OID as BIGINT,
    TEXTARRAYOID as TEXTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDARRAYOID as UUIDS,
    UUIDOID as UUID,
};

use crate::pg::spi::Statement;

/// Instances have entered a state whose work machines do.
pub static INSERT_WORK: Statement = Statement::new(
    "INSERT INTO workflow.work_items (tenant_id, instance_id, entered_revision, definition, state,
            available_at, waiting_since, attempt)
     SELECT $1, k.instance_id, k.entered_revision, k.definition, k.state, $2, $2, 0
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5),
                       pg_catalog.unnest($6))
            AS k (instance_id, entered_revision, definition, state)",
    &[TEXT, TIME, UUIDS, BIGINTS, TEXTS, TEXTS],
);

/// Instances have left such a state. What is in work, or locked, is left to who has it.
pub static DELETE_WORK: Statement = Statement::queue(
    "DELETE FROM workflow.work_items w
      USING (SELECT f.ctid
               FROM pg_catalog.unnest($2) k (instance_id)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.work_items l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.worker IS NULL
                                     FOR UPDATE SKIP LOCKED) f) x
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.ctid OPERATOR(pg_catalog.=) x.ctid",
    &[TEXT, UUIDS],
);

/// What an instance rests on has changed: its attempts count anew, and none of them is put off.
pub static REFRESH_WORK: Statement = Statement::queue(
    "UPDATE workflow.work_items w
        SET attempt = 0, error = NULL, exhausted_at = NULL, fence = NULL,
            available_at = LEAST(w.available_at, $4), waiting_since = LEAST(w.available_at, $4)
       FROM (SELECT l.ctid
               FROM workflow.work_items l
              WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                AND l.instance_id OPERATOR(pg_catalog.=) $2
                AND l.entered_revision OPERATOR(pg_catalog.=) $3
                AND l.worker IS NULL
                FOR UPDATE SKIP LOCKED) x
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.ctid OPERATOR(pg_catalog.=) x.ctid",
    &[TEXT, UUID, BIGINT, TIME],
);

/// What is available in a state, the longest waiting first, behind the place given; locked together
/// with its instance.
pub static LOCK_AVAILABLE_WORK: Statement = Statement::queue(
    "SELECT w.instance_id, w.entered_revision, w.available_at, w.attempt, w.worker,
            w.material_version, i.definition_id, i.entered_revision, i.material_version,
            i.closed, i.revision
       FROM workflow.work_items w
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) w.instance_id
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1
        AND w.definition OPERATOR(pg_catalog.=) $2
        AND w.state OPERATOR(pg_catalog.=) $3
        AND w.available_at OPERATOR(pg_catalog.<=) $4
        AND (w.available_at, w.instance_id) OPERATOR(pg_catalog.>) ($5, $6)
      ORDER BY w.available_at, w.instance_id
      LIMIT $7
        FOR UPDATE OF w SKIP LOCKED
        FOR NO KEY UPDATE OF i SKIP LOCKED",
    &[TEXT, TEXT, TEXT, TIME, TIME, UUID, INT],
);

/// Open instances in a state that are not in its queue, unless somebody else has them.
pub static LOCK_UNQUEUED_WORK: Statement = Statement::queue(
    "SELECT i.id
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.definition OPERATOR(pg_catalog.=) $2
        AND i.state OPERATOR(pg_catalog.=) $3
        AND NOT i.closed
        AND NOT EXISTS (SELECT FROM workflow.work_items w
                         WHERE w.tenant_id OPERATOR(pg_catalog.=) $1
                           AND w.instance_id OPERATOR(pg_catalog.=) i.id
                           AND w.entered_revision OPERATOR(pg_catalog.=) i.entered_revision)
      ORDER BY i.id
      LIMIT $4
        FOR NO KEY UPDATE SKIP LOCKED",
    &[TEXT, TEXT, TEXT, INT],
);

/// Those of them, locked, that still are not.
pub static QUEUE_WORK: Statement = Statement::queue(
    "INSERT INTO workflow.work_items (tenant_id, instance_id, entered_revision, definition, state,
            available_at, waiting_since, attempt)
     SELECT $1, i.id, i.entered_revision, i.definition, i.state, h.at, h.at, 0
       FROM pg_catalog.unnest($3) k (id)
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) k.id
       JOIN workflow.history h
         ON h.tenant_id OPERATOR(pg_catalog.=) $1
        AND h.instance_id OPERATOR(pg_catalog.=) i.id
        AND h.revision OPERATOR(pg_catalog.=) i.entered_revision
      WHERE i.state OPERATOR(pg_catalog.=) $2
        AND NOT i.closed
        AND NOT EXISTS (SELECT FROM workflow.work_items w
                         WHERE w.tenant_id OPERATOR(pg_catalog.=) $1
                           AND w.instance_id OPERATOR(pg_catalog.=) i.id
                           AND w.entered_revision OPERATOR(pg_catalog.=) i.entered_revision)",
    &[TEXT, TEXT, UUIDS],
);

/// New tenures for one holder. $2 what the sequence is added to, $4 now, $5 until when, $6 for how
/// long, $9 how much a fence rises at least, $10 whether the transaction may still be undone.
pub static GRANT_WORK: Statement = Statement::queue(
    "WITH granted AS (
        INSERT INTO workflow.leases (tenant_id, key, fence, token, held, holder, request_id,
               granted_at, renewed_at, expires_at, ttl_ms, renewals, longest_us, seen_at, cluster, epoch, actor)
        SELECT $1, k.key, $2 OPERATOR(pg_catalog.+) pg_catalog.nextval('workflow.lease_fence'::pg_catalog.regclass),
               k.token, true, $3, NULL, $4, $4, $5, $6, 0, 0, $4, $7, $8, $13
          FROM ROWS FROM (pg_catalog.unnest($11), pg_catalog.unnest($12)) AS k (key, token)
            ON CONFLICT ON CONSTRAINT leases_pkey DO UPDATE
           SET fence = GREATEST(leases.fence OPERATOR(pg_catalog.+) $9, EXCLUDED.fence),
               token = EXCLUDED.token, held = true, holder = EXCLUDED.holder, request_id = NULL,
               granted_at = $4, renewed_at = $4, expires_at = $5, ttl_ms = $6, renewals = 0,
               longest_us = 0, seen_at = $4, cluster = $7, epoch = $8, actor = $13
        RETURNING leases.key, leases.fence)
     INSERT INTO workflow.lease_log (tenant_id, key, fence, holder, granted_at, ttl_ms, provisional, actor)
     SELECT $1, g.key, g.fence, $3, $4, $6, $10, $13
       FROM granted g
     RETURNING key, fence",
    &[
        TEXT,
        BIGINT,
        TEXT,
        TIME,
        TIME,
        INT,
        BIGINT,
        BIGINT,
        BIGINT,
        pgrx::pg_sys::BOOLOID,
        TEXTS,
        UUIDS,
        TEXT,
    ],
);

/// Hands out what is locked: to $2 until $3.
pub static TAKE_WORK: Statement = Statement::queue(
    "UPDATE workflow.work_items w
        SET worker = $2, available_at = $3, waiting_since = w.available_at, attempt = k.attempt,
            fence = k.fence, revision = i.revision, material_version = i.material_version,
            error = CASE WHEN k.attempt OPERATOR(pg_catalog.>) 1 THEN w.error END
       FROM ROWS FROM (pg_catalog.unnest($4), pg_catalog.unnest($5), pg_catalog.unnest($6),
                       pg_catalog.unnest($7)) AS k (instance_id, entered_revision, attempt, fence)
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) $1
        AND i.id OPERATOR(pg_catalog.=) k.instance_id
       JOIN workflow.applications a
         ON a.tenant_id OPERATOR(pg_catalog.=) $1
        AND a.id OPERATOR(pg_catalog.=) i.application_id
       JOIN workflow.materials m
         ON m.tenant_id OPERATOR(pg_catalog.=) $1
        AND m.application_id OPERATOR(pg_catalog.=) i.application_id
        AND m.version OPERATOR(pg_catalog.=) i.material_version
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1
        AND w.instance_id OPERATOR(pg_catalog.=) k.instance_id
        AND w.entered_revision OPERATOR(pg_catalog.=) k.entered_revision
     RETURNING w.instance_id, a.business_key, i.revision, i.material_version, m.content,
               NULL::pg_catalog.jsonb, w.attempt, w.fence",
    &[TEXT, TEXT, TIME, UUIDS, BIGINTS, INTS, BIGINTS],
);

/// What is in work under a fence, or was when its lease ran out.
pub static READ_WORK: Statement = Statement::queue(
    "SELECT w.entered_revision, w.state, w.attempt, w.revision, w.material_version, w.waiting_since,
            w.available_at, w.error
       FROM workflow.work_items w
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.instance_id OPERATOR(pg_catalog.=) $2
        AND w.fence OPERATOR(pg_catalog.=) $3
        AND w.worker IS NOT NULL",
    &[TEXT, UUID, BIGINT],
);

/// Never waits.
pub static TRY_LOCK_WORK: Statement = Statement::queue(
    "SELECT FROM workflow.work_items w
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.instance_id OPERATOR(pg_catalog.=) $2
        AND w.fence OPERATOR(pg_catalog.=) $3
        AND w.worker IS NOT NULL
        FOR UPDATE SKIP LOCKED",
    &[TEXT, UUID, BIGINT],
);

/// The same, waiting.
pub static LOCK_WORK: Statement = Statement::queue(
    "SELECT FROM workflow.work_items w
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.instance_id OPERATOR(pg_catalog.=) $2
        AND w.fence OPERATOR(pg_catalog.=) $3
        AND w.worker IS NOT NULL
        FOR UPDATE",
    &[TEXT, UUID, BIGINT],
);

/// Nobody has it in work any more. $4 attempts so far, $5 when it is available again, $6 why.
pub static SETTLE_WORK: Statement = Statement::queue(
    "UPDATE workflow.work_items w
        SET worker = NULL, attempt = $4, available_at = $5, waiting_since = $5, error = $6,
            exhausted_at = $7, exhausted_revision = $8
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.instance_id OPERATOR(pg_catalog.=) $2
        AND w.entered_revision OPERATOR(pg_catalog.=) $3
     RETURNING pg_catalog.to_jsonb(w.available_at)",
    &[TEXT, UUID, BIGINT, INT, TIME, TEXT, TIME, BIGINT],
);

/// It is left alone until $4.
pub static POSTPONE_WORK: Statement = Statement::queue(
    "UPDATE workflow.work_items w
        SET available_at = $4
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.instance_id OPERATOR(pg_catalog.=) $2
        AND w.entered_revision OPERATOR(pg_catalog.=) $3
     RETURNING pg_catalog.to_jsonb(w.available_at)",
    &[TEXT, UUID, BIGINT, TIME],
);

/// It is done, or its visit is over; and with it what is left of earlier visits.
pub static REMOVE_WORK: Statement = Statement::queue(
    "DELETE FROM workflow.work_items w
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1 AND w.instance_id OPERATOR(pg_catalog.=) $2
        AND (w.entered_revision OPERATOR(pg_catalog.=) $3
             OR (w.entered_revision OPERATOR(pg_catalog.<) $3 AND w.exhausted_at IS NOT NULL))
     RETURNING w.entered_revision OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, BIGINT],
);

/// What was in work when its lease ran out, behind the place given. Nothing is locked.
pub static EXPIRED_WORK: Statement = Statement::queue(
    "SELECT w.instance_id, w.fence, w.available_at
       FROM workflow.work_items w
      WHERE w.tenant_id OPERATOR(pg_catalog.=) $1
        AND w.worker IS NOT NULL
        AND w.available_at OPERATOR(pg_catalog.<=) $2
        AND (w.available_at, w.instance_id) OPERATOR(pg_catalog.>) ($3, $4)
      ORDER BY w.available_at, w.instance_id
      LIMIT $5",
    &[TEXT, TIME, TIME, UUID, INT],
);

/// The next tenant, in their order, that has such work; of any, because the background worker is for
/// all of them.
pub static NEXT_TENANT_EXPIRED: Statement = Statement::queue(
    "WITH RECURSIVE t(tenant_id) AS (
        (SELECT w.tenant_id
           FROM workflow.work_items w
          WHERE w.tenant_id OPERATOR(pg_catalog.>) $1 AND w.worker IS NOT NULL
          ORDER BY w.tenant_id
          LIMIT 1)
        UNION ALL
        SELECT (SELECT w.tenant_id
                  FROM workflow.work_items w
                 WHERE w.tenant_id OPERATOR(pg_catalog.>) t.tenant_id AND w.worker IS NOT NULL
                 ORDER BY w.tenant_id
                 LIMIT 1)
          FROM t
         WHERE t.tenant_id IS NOT NULL)
     SELECT t.tenant_id
       FROM t
      WHERE t.tenant_id IS NOT NULL
        AND EXISTS (SELECT FROM workflow.work_items w
                     WHERE w.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
                       AND w.worker IS NOT NULL
                       AND w.available_at OPERATOR(pg_catalog.<=) $2)
      LIMIT 1",
    &[TEXT, TIME],
);

/// The step that was taken under a fence.
pub static FINISHED_WORK: Statement = Statement::queue(
    "SELECT h.revision
       FROM workflow.history h
      WHERE h.tenant_id OPERATOR(pg_catalog.=) $1 AND h.instance_id OPERATOR(pg_catalog.=) $2
        AND h.lease_key OPERATOR(pg_catalog.=) $3 AND h.fence OPERATOR(pg_catalog.=) $4
      LIMIT 1",
    &[TEXT, UUID, TEXT, BIGINT],
);
