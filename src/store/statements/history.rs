//! Steps that were taken, and the events that leave with them.

use pgrx::pg_sys::{
    INT4OID as INT, INT8OID as BIGINT, JSONBOID as JSONB, OIDOID as OID, TEXTOID as TEXT,
    TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

pub static INSERT_HISTORY: Statement = Statement::new(
    "INSERT INTO workflow.history (tenant_id, instance_id, revision, step, from_state, to_state,
            event, decision, round, material_version, definition_version, task_id, actor, proof,
            comment, payload, request_id, at, on_behalf_of, lease_key, fence)
     VALUES ($1, $2, $3, $4::workflow.step, $5, $6, $7, $8::workflow.decision, $9, $10, $11, $12,
            $13, $14::workflow.proof, $15, $16, $17, $18, $19, $20, $21)",
    &[
        TEXT, UUID, BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, INT, INT, INT, UUID, TEXT, TEXT, TEXT,
        JSONB, TEXT, TIME, TEXT, TEXT, BIGINT,
    ],
);

/// The event, and that it waits to be handed to the consumers.
pub static INSERT_OUTBOX: Statement = Statement::new(
    "WITH event AS (
     INSERT INTO workflow.outbox (tenant_id, id, aggregatetype, aggregateid, type, payload,
            revision, occurred_at, tracingspancontext)
     VALUES ($1, $2, $3, $4::pg_catalog.text, $5, $6, $7, $8,
            COALESCE($6 OPERATOR(pg_catalog.#>>) '{payload,traceparent}', $9))
     RETURNING tenant_id, revision, id, occurred_at)
     INSERT INTO workflow.outbox_queue (tenant_id, instance_id, revision, id, occurred_at)
     SELECT e.tenant_id, $4, e.revision, e.id, e.occurred_at FROM event e",
    &[TEXT, UUID, TEXT, UUID, TEXT, JSONB, BIGINT, TIME, TEXT],
);

/// The step that came after the revision a caller knew; its actor only for those who may read the
/// timeline.
pub static WINNER: Statement = Statement::new(
    "SELECT h.revision, h.event, h.to_state,
            pg_catalog.to_char(pg_catalog.timezone('UTC', h.at), 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),
            h.actor, h.material_version,
            pg_catalog.has_table_privilege($4, 'workflow.timeline', 'SELECT'),
            (EXTRACT(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) h.at)
                OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8
       FROM workflow.history h
      WHERE h.tenant_id OPERATOR(pg_catalog.=) $1 AND h.instance_id OPERATOR(pg_catalog.=) $2
        AND h.revision OPERATOR(pg_catalog.=) $3",
    &[TEXT, UUID, BIGINT, OID],
);
