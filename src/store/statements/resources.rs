//! Guarded quantities and their ledger.

use pgrx::pg_sys::{INT8OID as BIGINT, TEXTOID as TEXT, UUIDOID as UUID};

use crate::pg::spi::Statement;

pub static READ_RESOURCE: Statement = Statement::new(
    "SELECT r.balance::pg_catalog.int8
       FROM workflow.resources r
      WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.key OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

/// The balance, who locked or replaced this version of the row last (0: nobody), and the oldest
/// transaction that was running when it was read.
pub static WATCH_RESOURCE: Statement = Statement::new(
    "SELECT r.balance::pg_catalog.int8, r.xmax::pg_catalog.text::pg_catalog.int8,
            pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::pg_catalog.text::pg_catalog.int8
       FROM workflow.resources r
      WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.key OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

/// Waits; nothing may be read with it.
pub static LOCK_RESOURCE: Statement = Statement::new(
    "SELECT FROM workflow.resources r
      WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.key OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE",
    &[TEXT, TEXT],
);

/// Never waits: no row if somebody else holds it.
pub static TRY_LOCK_RESOURCE: Statement = Statement::new(
    "SELECT FROM workflow.resources r
      WHERE r.tenant_id OPERATOR(pg_catalog.=) $1 AND r.key OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE SKIP LOCKED",
    &[TEXT, TEXT],
);

/// The conditional update that decides every race for a resource, with its row of the ledger. $3 is
/// added if the balance is from $4 to $5. Never waits: a row that somebody else holds is passed
/// over, like one with another balance. Gives the new balance and how many rows of the ledger were
/// written.
pub static MOVE_RESOURCE: Statement = Statement::new(
    "WITH moved AS (
        UPDATE workflow.resources r
           SET balance = r.balance OPERATOR(pg_catalog.+) $3,
               moves = r.moves OPERATOR(pg_catalog.+) 1
          FROM (SELECT f.key
                  FROM workflow.resources f
                 WHERE f.tenant_id OPERATOR(pg_catalog.=) $1 AND f.key OPERATOR(pg_catalog.=) $2
                   FOR NO KEY UPDATE SKIP LOCKED) free
         WHERE r.tenant_id OPERATOR(pg_catalog.=) $1
           AND r.key OPERATOR(pg_catalog.=) free.key
           AND r.balance OPERATOR(pg_catalog.>=) $4
           AND r.balance OPERATOR(pg_catalog.<=) $5
        RETURNING r.moves, r.balance
     ), written AS (
        INSERT INTO workflow.resource_moves (tenant_id, key, move, step, quantity, balance,
               instance_id, revision, actor, proof, request_id, at)
        SELECT $1, $2, m.moves, $6::workflow.resource_step, $3, m.balance, $7, $8, $9,
               $10::workflow.proof, $11, pg_catalog.clock_timestamp()
          FROM moved m
        RETURNING move
     )
     SELECT m.balance::pg_catalog.int8, (SELECT pg_catalog.count(*) FROM written w)
       FROM moved m",
    &[
        TEXT, TEXT, BIGINT, BIGINT, BIGINT, TEXT, UUID, BIGINT, TEXT, TEXT, TEXT,
    ],
);

/// The key's lock is held, so a conflict can only be with a row that this transaction's snapshot
/// does not show; PostgreSQL then raises 40001.
pub static INSERT_RESOURCE: Statement = Statement::new(
    "WITH made AS (
        INSERT INTO workflow.resources (tenant_id, key, balance, moves)
        VALUES ($1, $2, $3, 1)
        ON CONFLICT DO NOTHING
        RETURNING balance
     )
     INSERT INTO workflow.resource_moves (tenant_id, key, move, step, quantity, balance, actor,
            proof, request_id, at)
     SELECT $1, $2, 1, 'set'::workflow.resource_step, $3, m.balance, $4, $5::workflow.proof, $6,
            pg_catalog.clock_timestamp()
       FROM made m",
    &[TEXT, TEXT, BIGINT, TEXT, TEXT, TEXT],
);
