//! What one consumer has in hand: events are claimed from the head of an instance, and given back or
//! acknowledged by the claim that still holds them.

use pgrx::pg_sys::{
    INT4OID as INT, INT8ARRAYOID as BIGINTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME,
    UUIDARRAYOID as UUIDS, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

/// Heads that may be handed out: the lowest events of their instances that this consumer has not
/// acknowledged, available between $3 and $4. Nobody else claims what follows a head that is locked.
pub static LOCK_HEADS: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.attempt, d.claim IS NOT NULL
       FROM workflow.deliveries d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.available_at OPERATOR(pg_catalog.>=) $3
        AND d.available_at OPERATOR(pg_catalog.<=) $4
        AND NOT d.dead
        AND d.revision OPERATOR(pg_catalog.=) (
                SELECT e.revision
                  FROM workflow.deliveries e
                 WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                   AND e.consumer OPERATOR(pg_catalog.=) $2
                   AND e.instance_id OPERATOR(pg_catalog.=) d.instance_id
                 ORDER BY e.revision
                 LIMIT 1)
      ORDER BY d.available_at, d.occurred_at
      LIMIT $5
        FOR UPDATE OF d SKIP LOCKED",
    &[TEXT, TEXT, TIME, TIME, INT],
);

/// What follows heads that are ours, each with the one before it.
pub static LOCK_SUCCESSORS: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.attempt, d.claim IS NOT NULL,
            NOT d.dead AND d.available_at OPERATOR(pg_catalog.<=) $5,
            (SELECT e.revision
               FROM workflow.deliveries e
              WHERE e.tenant_id OPERATOR(pg_catalog.=) $1
                AND e.consumer OPERATOR(pg_catalog.=) $2
                AND e.instance_id OPERATOR(pg_catalog.=) d.instance_id
                AND e.revision OPERATOR(pg_catalog.<) d.revision
              ORDER BY e.revision DESC
              LIMIT 1)
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS h (instance_id, revision)
       JOIN workflow.deliveries d
         ON d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.instance_id OPERATOR(pg_catalog.=) h.instance_id
        AND d.revision OPERATOR(pg_catalog.>) h.revision
      LIMIT $6
        FOR UPDATE OF d SKIP LOCKED",
    &[TEXT, TEXT, UUIDS, BIGINTS, TIME, INT],
);

/// Hands out events that are ours, until $4.
pub static CLAIM: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET claim = $3, available_at = $4, attempt = d.attempt OPERATOR(pg_catalog.+) 1
       FROM ROWS FROM (pg_catalog.unnest($5), pg_catalog.unnest($6)) AS k (instance_id, revision)
       JOIN workflow.outbox o
         ON o.tenant_id OPERATOR(pg_catalog.=) $1
        AND o.aggregateid OPERATOR(pg_catalog.=) k.instance_id::pg_catalog.text
        AND o.revision OPERATOR(pg_catalog.=) k.revision
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.instance_id OPERATOR(pg_catalog.=) k.instance_id
        AND d.revision OPERATOR(pg_catalog.=) k.revision
     RETURNING k.instance_id, o.id, o.aggregatetype, o.aggregateid, o.type, o.payload, o.revision,
            o.occurred_at, d.attempt",
    &[TEXT, TEXT, UUID, TIME, UUIDS, BIGINTS],
);

/// How many of these events there are.
pub static COUNT_EVENTS: Statement = Statement::queue(
    "SELECT FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS k (instance_id, revision)
       JOIN workflow.outbox o
         ON o.tenant_id OPERATOR(pg_catalog.=) $1
        AND o.aggregateid OPERATOR(pg_catalog.=) k.instance_id::pg_catalog.text
        AND o.revision OPERATOR(pg_catalog.=) k.revision",
    &[TEXT, UUIDS, BIGINTS],
);

/// Those of a claim's events that nobody else is at.
pub static LOCK_CLAIMED: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.id, d.available_at, d.attempt
       FROM workflow.deliveries d
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.claim OPERATOR(pg_catalog.=) $3
        AND d.consumer OPERATOR(pg_catalog.=) $2
        FOR UPDATE OF d SKIP LOCKED",
    &[TEXT, TEXT, UUID],
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
      USING ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS k (instance_id, revision)
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.instance_id OPERATOR(pg_catalog.=) k.instance_id
        AND d.revision OPERATOR(pg_catalog.=) k.revision",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);

/// Events that are ours and failed: available again at $5, infinity for dead letters.
pub static FAIL_DELIVERIES: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET claim = NULL, available_at = $5, failed_at = $6, error = $7,
            dead = $5 OPERATOR(pg_catalog.=) 'infinity'
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS k (instance_id, revision)
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.instance_id OPERATOR(pg_catalog.=) k.instance_id
        AND d.revision OPERATOR(pg_catalog.=) k.revision",
    &[TEXT, TEXT, UUIDS, BIGINTS, TIME, TIME, TEXT],
);

/// Events that are ours and were not tried, because one before them failed.
pub static RELEASE_DELIVERIES: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET claim = NULL, available_at = '-infinity', attempt = d.attempt OPERATOR(pg_catalog.-) 1
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS k (instance_id, revision)
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.instance_id OPERATOR(pg_catalog.=) k.instance_id
        AND d.revision OPERATOR(pg_catalog.=) k.revision",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);

/// Dead letters among these events.
pub static LOCK_DEAD: Statement = Statement::queue(
    "SELECT d.instance_id, d.revision, d.id
       FROM pg_catalog.unnest($3) k (id)
       JOIN workflow.deliveries d
         ON d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.id OPERATOR(pg_catalog.=) k.id
      WHERE d.dead
        FOR UPDATE OF d SKIP LOCKED",
    &[TEXT, TEXT, UUIDS],
);

pub static REQUEUE: Statement = Statement::queue(
    "UPDATE workflow.deliveries d
        SET dead = false, available_at = '-infinity', attempt = 0
       FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS k (instance_id, revision)
      WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
        AND d.consumer OPERATOR(pg_catalog.=) $2
        AND d.instance_id OPERATOR(pg_catalog.=) k.instance_id
        AND d.revision OPERATOR(pg_catalog.=) k.revision",
    &[TEXT, TEXT, UUIDS, BIGINTS],
);
