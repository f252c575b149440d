//! From the outbox to the consumers and out of it again: who is subscribed, who is to receive what
//! has been committed, and what nobody waits for any more.
//!
//! Each step locks in one statement, without waiting, and reads in the next. What it cannot lock,
//! somebody else is at. `OFFSET 0` keeps the planner from turning a look-up by key into anything else.

use pgrx::pg_sys::{
    BOOLARRAYOID as BOOLS, INT4OID as INT, INT8ARRAYOID as BIGINTS, TEXTOID as TEXT,
    TIMESTAMPTZOID as TIME, UUIDARRAYOID as UUIDS, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

pub static NOTIFY: Statement =
    Statement::new("SELECT pg_catalog.pg_notify('workflow_outbox', '')", &[]);

pub static IS_CONSUMER: Statement = Statement::queue(
    "SELECT FROM workflow.consumers c
      WHERE c.tenant_id OPERATOR(pg_catalog.=) $1 AND c.consumer OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

pub static INSERT_CONSUMER: Statement = Statement::queue(
    "INSERT INTO workflow.consumers (tenant_id, consumer, subscribed_at) VALUES ($1, $2, $3)",
    &[TEXT, TEXT, TIME],
);

pub static REMOVE_CONSUMER: Statement = Statement::queue(
    "DELETE FROM workflow.consumers c
      WHERE c.tenant_id OPERATOR(pg_catalog.=) $1 AND c.consumer OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

/// Everything that the outbox holds goes to one consumer, but what the distribution will bring.
pub static DELIVER_FROM_START: Statement = Statement::queue(
    "INSERT INTO workflow.deliveries (tenant_id, consumer, instance_id, revision, id, occurred_at,
            available_at, attempt, dead)
     SELECT $1, $2, o.aggregateid::pg_catalog.uuid, o.revision, o.id, o.occurred_at, '-infinity', 0,
            false
       FROM workflow.outbox o
      WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
        AND NOT EXISTS (SELECT FROM workflow.outbox_queue q
                         WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
                           AND q.instance_id OPERATOR(pg_catalog.=) o.aggregateid::pg_catalog.uuid
                           AND q.revision OPERATOR(pg_catalog.=) o.revision)",
    &[TEXT, TEXT],
);

/// What a consumer has not acknowledged is forgotten. Where other consumers are left, a note under $3
/// says to look whether they wait for it; otherwise it stays for its time.
pub static FORGET_DELIVERIES: Statement = Statement::queue(
    "WITH forgotten AS (
        DELETE FROM workflow.deliveries d
         WHERE d.tenant_id OPERATOR(pg_catalog.=) $1 AND d.consumer OPERATOR(pg_catalog.=) $2
         RETURNING d.instance_id, d.revision),
     noted AS (
        INSERT INTO workflow.outbox_unremoved (tenant_id, instance_id, revision, claim)
        SELECT $1, f.instance_id, f.revision, $3
          FROM forgotten f
         WHERE EXISTS (SELECT FROM workflow.consumers c
                        WHERE c.tenant_id OPERATOR(pg_catalog.=) $1
                          AND c.consumer OPERATOR(pg_catalog.<>) $2))
     SELECT pg_catalog.count(*) FROM forgotten",
    &[TEXT, TEXT, UUID],
);

/// The lowest event of each instance that waits in the queue, unless somebody is moving it. Nobody
/// else moves what follows it. For a consumer $3: only of instances of which it has nothing yet, since
/// what is moved behind that is of no use to it now.
pub static LOCK_QUEUE_HEADS: Statement = Statement::queue(
    "WITH RECURSIVE i (instance_id) AS (
        (SELECT q.instance_id
           FROM workflow.outbox_queue q
          WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
          ORDER BY q.instance_id
          LIMIT 1)
        UNION ALL
        SELECT (SELECT q.instance_id
                  FROM workflow.outbox_queue q
                 WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
                   AND q.instance_id OPERATOR(pg_catalog.>) i.instance_id
                 ORDER BY q.instance_id
                 LIMIT 1)
          FROM i
         WHERE i.instance_id IS NOT NULL)
     SELECT q.instance_id
       FROM (SELECT i.instance_id
               FROM i
              WHERE $3 IS NULL
                 OR NOT EXISTS (SELECT FROM workflow.deliveries d
                                 WHERE d.tenant_id OPERATOR(pg_catalog.=) $1
                                   AND d.consumer OPERATOR(pg_catalog.=) $3
                                   AND d.instance_id OPERATOR(pg_catalog.=) i.instance_id)) i
      CROSS JOIN LATERAL (SELECT l.revision
                            FROM workflow.outbox_queue l
                           WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                             AND l.instance_id OPERATOR(pg_catalog.=) i.instance_id
                           ORDER BY l.revision
                           LIMIT 1) lowest
      CROSS JOIN LATERAL (SELECT l.instance_id
                            FROM workflow.outbox_queue l
                           WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                             AND l.instance_id OPERATOR(pg_catalog.=) i.instance_id
                             AND l.revision OPERATOR(pg_catalog.=) lowest.revision
                             FOR UPDATE SKIP LOCKED) q
      LIMIT $2",
    &[TEXT, INT, TEXT],
);

/// Moves the first $3 events of each of these instances to every consumer; gives how many, and
/// whether each arrived.
pub static DISTRIBUTE: Statement = Statement::queue(
    "WITH moved AS (
        DELETE FROM workflow.outbox_queue q
         USING (SELECT f.ctid
                  FROM pg_catalog.unnest($2) k (instance_id)
                 CROSS JOIN LATERAL (SELECT l.ctid
                                       FROM workflow.outbox_queue l
                                      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                        AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                      ORDER BY l.revision
                                      LIMIT $3) f) first
         WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
           AND q.ctid OPERATOR(pg_catalog.=) first.ctid
         RETURNING q.instance_id, q.revision, q.id, q.occurred_at),
     delivered AS (
        INSERT INTO workflow.deliveries (tenant_id, consumer, instance_id, revision, id,
               occurred_at, available_at, attempt, dead)
        SELECT $1, c.consumer, m.instance_id, m.revision, m.id, m.occurred_at, '-infinity', 0, false
          FROM moved m
          JOIN workflow.consumers c ON c.tenant_id OPERATOR(pg_catalog.=) $1
        RETURNING 1)
     SELECT m.events,
            m.events OPERATOR(pg_catalog.*) (SELECT pg_catalog.count(*)
                                               FROM workflow.consumers c
                                              WHERE c.tenant_id OPERATOR(pg_catalog.=) $1)
                OPERATOR(pg_catalog.=) (SELECT pg_catalog.count(*) FROM delivered)
       FROM (SELECT pg_catalog.count(*) FROM moved) m (events)",
    &[TEXT, UUIDS, INT],
);

/// Events that may have to be removed, unless somebody is at them.
pub static LOCK_EVENTS: Statement = Statement::queue(
    "SELECT k.instance_id, k.revision
       FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS k (instance_id, revision)
      CROSS JOIN LATERAL (SELECT FROM workflow.outbox o
                           WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
                             AND o.aggregateid OPERATOR(pg_catalog.=) k.instance_id::pg_catalog.text
                             AND o.revision OPERATOR(pg_catalog.=) k.revision
                             FOR UPDATE SKIP LOCKED) o",
    &[TEXT, UUIDS, BIGINTS],
);

/// Removes those of them that nobody waits for, and keeps in mind how far that went.
pub static REMOVE_EVENTS: Statement = Statement::queue(
    "WITH gone AS (
        DELETE FROM workflow.outbox o
         USING (SELECT e.ctid, k.instance_id, k.revision
                  FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3))
                       AS k (instance_id, revision)
                 CROSS JOIN LATERAL (SELECT l.ctid
                                       FROM workflow.outbox l
                                      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                        AND l.aggregateid OPERATOR(pg_catalog.=)
                                            k.instance_id::pg_catalog.text
                                        AND l.revision OPERATOR(pg_catalog.=) k.revision
                                     OFFSET 0) e
                 WHERE NOT EXISTS (SELECT FROM workflow.outbox_queue q
                                    WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
                                      AND q.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                      AND q.revision OPERATOR(pg_catalog.=) k.revision
                                   OFFSET 0)
                   AND NOT EXISTS (SELECT FROM workflow.consumers c
                                    CROSS JOIN LATERAL (
                                          SELECT FROM workflow.deliveries l
                                           WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                             AND l.consumer OPERATOR(pg_catalog.=) c.consumer
                                             AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                             AND l.revision OPERATOR(pg_catalog.=) k.revision
                                          OFFSET 0) d
                                    WHERE c.tenant_id OPERATOR(pg_catalog.=) $1
                                   OFFSET 0)) x
         WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
           AND o.ctid OPERATOR(pg_catalog.=) x.ctid
         RETURNING x.instance_id, x.revision)
     INSERT INTO workflow.outbox_removed (tenant_id, instance_id, revision)
     SELECT $1, g.instance_id, pg_catalog.max(g.revision) FROM gone g GROUP BY g.instance_id",
    &[TEXT, UUIDS, BIGINTS],
);

/// Of how far the removal went only the furthest counts.
pub static FORGET_REMOVED: Statement = Statement::queue(
    "DELETE FROM workflow.outbox_removed r
      USING (SELECT f.ctid
               FROM pg_catalog.unnest($2) k (instance_id)
              CROSS JOIN LATERAL (SELECT h.revision
                                    FROM workflow.outbox_removed h
                                   WHERE h.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND h.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                   ORDER BY h.revision DESC
                                   LIMIT 1) furthest
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.outbox_removed l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.<) furthest.revision
                                     FOR UPDATE SKIP LOCKED) f) x
      WHERE r.tenant_id OPERATOR(pg_catalog.=) $1
        AND r.ctid OPERATOR(pg_catalog.=) x.ctid",
    &[TEXT, UUIDS],
);

pub static NOTE_UNREMOVED: Statement = Statement::queue(
    "INSERT INTO workflow.outbox_unremoved (tenant_id, instance_id, revision, claim)
     SELECT $1, k.instance_id, k.revision, $4
       FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS k (instance_id, revision)",
    &[TEXT, UUIDS, BIGINTS, UUID],
);

pub static LOCK_UNREMOVED: Statement = Statement::queue(
    "SELECT n.instance_id, n.revision, n.claim
       FROM workflow.outbox_unremoved n
      WHERE n.tenant_id OPERATOR(pg_catalog.=) $1
      LIMIT $2
        FOR UPDATE OF n SKIP LOCKED",
    &[TEXT, INT],
);

/// Notes are settled once the event could be looked at ($5), or is gone.
pub static SETTLE_UNREMOVED: Statement = Statement::queue(
    "DELETE FROM workflow.outbox_unremoved n
      USING (SELECT f.ctid
               FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),
                               pg_catalog.unnest($5)) AS k (instance_id, revision, claim, seen)
              CROSS JOIN LATERAL (SELECT l.ctid
                                    FROM workflow.outbox_unremoved l
                                   WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                     AND l.instance_id OPERATOR(pg_catalog.=) k.instance_id
                                     AND l.revision OPERATOR(pg_catalog.=) k.revision
                                     AND l.claim OPERATOR(pg_catalog.=) k.claim
                                  OFFSET 0) f
              WHERE k.seen
                 OR NOT EXISTS (SELECT FROM workflow.outbox o
                                 WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
                                   AND o.aggregateid OPERATOR(pg_catalog.=)
                                       k.instance_id::pg_catalog.text
                                   AND o.revision OPERATOR(pg_catalog.=) k.revision)) x
      WHERE n.tenant_id OPERATOR(pg_catalog.=) $1
        AND n.ctid OPERATOR(pg_catalog.=) x.ctid",
    &[TEXT, UUIDS, BIGINTS, UUIDS, BOOLS],
);

/// Events older than $2 for which nobody waits.
pub static LOCK_EXPIRED: Statement = Statement::survey(
    "SELECT o.aggregateid::pg_catalog.uuid, o.revision
       FROM workflow.outbox o
      WHERE o.tenant_id OPERATOR(pg_catalog.=) $1
        AND o.occurred_at OPERATOR(pg_catalog.<) $2
        AND NOT EXISTS (SELECT FROM workflow.outbox_queue q
                         WHERE q.tenant_id OPERATOR(pg_catalog.=) $1
                           AND q.instance_id OPERATOR(pg_catalog.=) o.aggregateid::pg_catalog.uuid
                           AND q.revision OPERATOR(pg_catalog.=) o.revision)
        AND NOT EXISTS (SELECT FROM workflow.consumers c
                         CROSS JOIN LATERAL (
                               SELECT FROM workflow.deliveries l
                                WHERE l.tenant_id OPERATOR(pg_catalog.=) $1
                                  AND l.consumer OPERATOR(pg_catalog.=) c.consumer
                                  AND l.instance_id OPERATOR(pg_catalog.=)
                                      o.aggregateid::pg_catalog.uuid
                                  AND l.revision OPERATOR(pg_catalog.=) o.revision
                               OFFSET 0) d
                         WHERE c.tenant_id OPERATOR(pg_catalog.=) $1
                        OFFSET 0)
      LIMIT $3
        FOR UPDATE OF o SKIP LOCKED",
    &[TEXT, TIME, INT],
);

/// True for who is first with a message.
pub static ACCEPT_MESSAGE: Statement = Statement::new(
    "INSERT INTO workflow.inbox (tenant_id, source, message_id, accepted_at)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT DO NOTHING",
    &[TEXT, TEXT, TEXT, TIME],
);

pub static IS_ACCEPTED: Statement = Statement::queue(
    "SELECT FROM workflow.inbox m
      WHERE m.tenant_id OPERATOR(pg_catalog.=) $1 AND m.source OPERATOR(pg_catalog.=) $2
        AND m.message_id OPERATOR(pg_catalog.=) $3",
    &[TEXT, TEXT, TEXT],
);

/// The next tenant, in their order, that has events; of any, because the background worker is for all
/// of them.
pub static NEXT_TENANT_WITH_EVENTS: Statement = Statement::new(
    "SELECT o.tenant_id
       FROM workflow.outbox o
      WHERE o.tenant_id OPERATOR(pg_catalog.>) $1
      ORDER BY o.tenant_id
      LIMIT 1",
    &[TEXT],
);
