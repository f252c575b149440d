//! What one consumer has in hand: events are claimed from the head of an instance, and given back or
//! acknowledged by the claim that still holds them.
//!
//! Rows that are ours are looked up one by one, key by key, and written where they were found
//! (`ctid`): a planner that knows nothing of a young table would go through all of it instead. For
//! the same reason functions (`texteq`, `timestamptz_ge`) stand where an operator would invite it to the
//! wrong index.

use pgrx::pg_sys::{
    INT4OID as INT, INT8ARRAYOID as BIGINTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME,
    UUIDARRAYOID as UUIDS, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

/// Behind how much of what is available between $3 and $4 the heads are not looked for in the order of
/// time: no row if there is not so much.
pub static WINDOW_END: Statement = Statement::queue(
    "SELECT d.available_at, d.occurred_at
       FROM workflow.deliveries d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.available_at OPERATOR(pg_catalog.>=) $3
        AND d.available_at OPERATOR(pg_catalog.<=) $4
        AND NOT d.dead
      ORDER BY d.available_at, d.occurred_at
     OFFSET $5
      LIMIT 1",
    &[TEXT, TEXT, TIME, TIME, INT],
);

/// Heads that may be handed out, the oldest first, among the first $8 events that are available from
/// $3 to $4, and no later than $6 and $7: the lowest events of their instances that this consumer has
/// not acknowledged. Nobody else claims what follows a head that is locked.
pub static LOCK_HEADS: Statement = Statement::queue(
    "SELECT l.instance_id, l.revision, l.attempt, l.claimed
       FROM (SELECT d.instance_id, d.revision
               FROM workflow.deliveries d
              WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
                AND d.consumer OPERATOR(pg_catalog.=) $2
                AND d.available_at OPERATOR(pg_catalog.>=) $3
                AND d.available_at OPERATOR(pg_catalog.<=) $4
                AND NOT d.dead
              ORDER BY d.available_at, d.occurred_at
              LIMIT $8) w
      CROSS JOIN LATERAL (
            SELECT d.instance_id, d.revision, d.attempt, d.claim IS NOT NULL AS claimed
              FROM workflow.deliveries d
             WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
               AND d.consumer OPERATOR(pg_catalog.=) $2
               AND d.instance_id OPERATOR(pg_catalog.=) w.instance_id
               AND d.revision OPERATOR(pg_catalog.=) w.revision
               AND pg_catalog.timestamptz_ge(d.available_at, $3)
               AND pg_catalog.timestamptz_le(d.available_at, $4)
               AND (pg_catalog.timestamptz_lt(d.available_at, $6)
                    OR pg_catalog.timestamptz_eq(d.available_at, $6)
                       AND pg_catalog.timestamptz_le(d.occurred_at, $7))
               AND pg_catalog.booleq(d.dead, false)
               FOR UPDATE SKIP LOCKED) l
      WHERE w.revision OPERATOR(pg_catalog.=) (
                SELECT e.revision
                  FROM workflow.deliveries e
                 WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                   AND e.consumer OPERATOR(pg_catalog.=) $2
                   AND e.instance_id OPERATOR(pg_catalog.=) w.instance_id
                 ORDER BY e.revision
                 LIMIT 1)
      LIMIT $5",
    &[TEXT, TEXT, TIME, TIME, INT, TIME, TIME, INT],
);

/// The same of what is available later than $6 and $7, instance by instance, from behind $8 to $9:
/// where many events wait behind few heads, looking at each event would take too long.
pub static LOCK_HEADS_BY_INSTANCE: Statement = Statement::queue(
    "WITH RECURSIVE h (instance_id, revision) AS (
        (SELECT d.instance_id, d.revision
           FROM workflow.deliveries d
          WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
            AND d.consumer OPERATOR(pg_catalog.=) $2
            AND d.instance_id OPERATOR(pg_catalog.>) $8
            AND d.instance_id OPERATOR(pg_catalog.<=) $9
          ORDER BY d.instance_id, d.revision
          LIMIT 1)
        UNION ALL
        SELECT n.instance_id, n.revision
          FROM h
         CROSS JOIN LATERAL (
               SELECT d.instance_id, d.revision
                 FROM workflow.deliveries d
                WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
                  AND d.consumer OPERATOR(pg_catalog.=) $2
                  AND d.instance_id OPERATOR(pg_catalog.>) h.instance_id
                  AND d.instance_id OPERATOR(pg_catalog.<=) $9
                ORDER BY d.instance_id, d.revision
                LIMIT 1) n)
     SELECT l.instance_id, l.revision, l.attempt, l.claimed
       FROM h
      CROSS JOIN LATERAL (
            SELECT d.instance_id, d.revision, d.attempt, d.claim IS NOT NULL AS claimed
              FROM workflow.deliveries d
             WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
               AND d.consumer OPERATOR(pg_catalog.=) $2
               AND d.instance_id OPERATOR(pg_catalog.=) h.instance_id
               AND d.revision OPERATOR(pg_catalog.=) h.revision
               AND pg_catalog.timestamptz_ge(d.available_at, $3)
               AND pg_catalog.timestamptz_le(d.available_at, $4)
               AND (pg_catalog.timestamptz_gt(d.available_at, $6)
                    OR pg_catalog.timestamptz_eq(d.available_at, $6)
                       AND pg_catalog.timestamptz_gt(d.occurred_at, $7))
               AND pg_catalog.booleq(d.dead, false)
               FOR UPDATE SKIP LOCKED) l
      LIMIT $5",
    &[TEXT, TEXT, TIME, TIME, INT, TIME, TIME, UUID, UUID],
);

/// What follows heads that are ours, each with the one before it.
pub static LOCK_SUCCESSORS: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.attempt, d.claimed, d.free, d.previous
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS h (instance_id, revision)
      CROSS JOIN LATERAL (
            SELECT l.instance_id, l.revision, l.attempt, l.claim IS NOT NULL AS claimed,
                   NOT l.dead AND l.available_at OPERATOR(pg_catalog.<=) $5 AS free,
                   (SELECT e.revision
                      FROM workflow.deliveries e
                     WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                       AND e.consumer OPERATOR(pg_catalog.=) $2
                       AND e.instance_id OPERATOR(pg_catalog.=) l.instance_id
                       AND e.revision OPERATOR(pg_catalog.<) l.revision
                     ORDER BY e.revision DESC
                     LIMIT 1) AS previous
              FROM workflow.deliveries l
             WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
               AND l.consumer OPERATOR(pg_catalog.=) $2
               AND l.instance_id OPERATOR(pg_catalog.=) h.instance_id
               AND l.revision OPERATOR(pg_catalog.>) h.revision
             ORDER BY l.revision
             LIMIT $6
               FOR UPDATE SKIP LOCKED) d
      LIMIT $6",
    &[TEXT, TEXT, UUIDS, BIGINTS, TIME, INT],
);

/// Hands out events that are ours, until $4.
pub static CLAIM: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET claim = $3, available_at = $4, attempt = d.attempt OPERATOR(pg_catalog.+) 1
       FROM (SELECT r.ctid, k.instance_id, o.id, o.aggregatetype, o.aggregateid, o.type, o.payload,
                    o.revision, o.occurred_at
               FROM ROWS FROM (pg_catalog.unnest($5), pg_catalog.unnest($6))
                    AS k (instance_id, revision)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.deliveries l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.consumer OPERATOR(pg_catalog.=) $2
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.=) k.revision
                                  OFFSET 0) r
              CROSS JOIN LATERAL (SELECT *
                                    FROM workflow.outbox e
                                   WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND e.aggregateid OPERATOR(pg_catalog.=) k.instance_id::pg_catalog.text
                                     AND e.revision OPERATOR(pg_catalog.=) k.revision
                                  OFFSET 0) o) ours
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.ctid OPERATOR(pg_catalog.=) ours.ctid
     RETURNING ours.instance_id, ours.id, ours.aggregatetype, ours.aggregateid, ours.type,
            ours.payload, ours.revision, ours.occurred_at, d.attempt",
    &[TEXT, TEXT, UUID, TIME, UUIDS, BIGINTS],
);

/// How many of these events there are.
pub static COUNT_EVENTS: Statement = Statement::queue(
    "SELECT FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS k (instance_id, revision)
      CROSS JOIN LATERAL (SELECT FROM workflow.outbox e
                           WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                             AND e.aggregateid OPERATOR(pg_catalog.=) k.instance_id::pg_catalog.text
                             AND e.revision OPERATOR(pg_catalog.=) k.revision
                          OFFSET 0) o",
    &[TEXT, UUIDS, BIGINTS],
);

/// Those of a claim's events that nobody else is at; none of a claim that was over at $4.
pub static LOCK_CLAIMED: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.id, d.available_at, d.attempt
       FROM workflow.deliveries d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.claim OPERATOR(pg_catalog.=) $3
        AND pg_catalog.texteq(d.consumer, $2)
        AND d.available_at OPERATOR(pg_catalog.>) $4
        FOR UPDATE OF d SKIP LOCKED",
    &[TEXT, TEXT, UUID, TIME],
);

/// The event before each of these that is not acknowledged either.
pub static BEFORE: Statement = Statement::queue(
    "SELECT k.instance_id, k.revision,
            (SELECT e.revision
               FROM workflow.deliveries e
              WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                AND e.consumer OPERATOR(pg_catalog.=) $2
                AND e.instance_id OPERATOR(pg_catalog.=) k.instance_id
                AND e.revision OPERATOR(pg_catalog.<) k.revision
              ORDER BY e.revision DESC
              LIMIT 1)
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS k (instance_id, revision)",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);

/// Events that are ours and need not be handed out any more.
pub static REMOVE_DELIVERIES: Statement = Statement::queue(
    "DELETE FROM workflow.deliveries d
      USING (SELECT r.ctid
               FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4))
                    AS k (instance_id, revision)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.deliveries l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.consumer OPERATOR(pg_catalog.=) $2
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.=) k.revision
                                  OFFSET 0) r) ours
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.ctid OPERATOR(pg_catalog.=) ours.ctid",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);

/// Events that are ours and failed: available again at $5, infinity for dead letters.
pub static FAIL_DELIVERIES: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET claim = NULL, available_at = $5, failed_at = $6, error = $7,
            dead = $5 OPERATOR(pg_catalog.=) 'infinity'
       FROM (SELECT r.ctid
               FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4))
                    AS k (instance_id, revision)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.deliveries l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.consumer OPERATOR(pg_catalog.=) $2
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.=) k.revision
                                  OFFSET 0) r) ours
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.ctid OPERATOR(pg_catalog.=) ours.ctid",
    &[TEXT, TEXT, UUIDS, BIGINTS, TIME, TIME, TEXT],
);

/// Events that are ours and were not tried, because one before them failed.
pub static RELEASE_DELIVERIES: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET claim = NULL, available_at = '-infinity', attempt = d.attempt OPERATOR(pg_catalog.-) 1
       FROM (SELECT r.ctid
               FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4))
                    AS k (instance_id, revision)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.deliveries l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.consumer OPERATOR(pg_catalog.=) $2
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.=) k.revision
                                  OFFSET 0) r) ours
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.ctid OPERATOR(pg_catalog.=) ours.ctid",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);

/// Dead letters among these events.
pub static LOCK_DEAD: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.id
       FROM pg_catalog.unnest($3) k (id)
      CROSS JOIN LATERAL (SELECT l.instance_id, l.revision, l.id
                            FROM workflow.deliveries l
                           WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                             AND pg_catalog.texteq(l.consumer, $2)
                             AND l.id OPERATOR(pg_catalog.=) k.id
                             AND l.dead
                             FOR UPDATE SKIP LOCKED) d",
    &[TEXT, TEXT, UUIDS],
);

pub static REQUEUE: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET dead = false, available_at = '-infinity', attempt = 0
       FROM (SELECT r.ctid
               FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4))
                    AS k (instance_id, revision)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.deliveries l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.consumer OPERATOR(pg_catalog.=) $2
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.=) k.revision
                                  OFFSET 0) r) ours
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.ctid OPERATOR(pg_catalog.=) ours.ctid",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);
