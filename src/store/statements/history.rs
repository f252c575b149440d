//! Steps that were taken, and the events that leave with them.

use pgrx::pg_sys::{
    INETOID as INET, INT4OID as INT, INT8OID as BIGINT, JSONBOID as JSONB, OIDOID as OID,
    TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::direct::Column;
use crate::pg::spi::{Insert, Statement};

pub static INSERT_HISTORY: Insert = Insert::new(
    c"history",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"instance_id", UUID),
        Column::new(c"revision", BIGINT),
        Column::of_enum(c"step", "step"),
        Column::new(c"from_state", TEXT),
        Column::new(c"to_state", TEXT),
        Column::new(c"event", TEXT),
        Column::of_enum(c"decision", "decision"),
        Column::new(c"round", INT),
        Column::new(c"material_version", INT),
        Column::new(c"definition_version", INT),
        Column::new(c"task_id", UUID),
        Column::new(c"actor", TEXT),
        Column::of_enum(c"proof", "proof"),
        Column::new(c"comment", TEXT),
        Column::new(c"payload", JSONB),
        Column::new(c"request_id", TEXT),
        Column::new(c"at", TIME),
        Column::new(c"on_behalf_of", TEXT),
        Column::new(c"lease_key", TEXT),
        Column::new(c"fence", BIGINT),
        Column::new(c"session_role", TEXT),
        Column::new(c"outer_role", TEXT),
        Column::new(c"application_name", TEXT),
        Column::new(c"client_addr", INET),
    ],
);

pub static INSERT_OUTBOX: Insert = Insert::new(
    c"outbox",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"id", UUID),
        Column::new(c"aggregatetype", TEXT),
        Column::new(c"aggregateid", TEXT),
        Column::new(c"type", TEXT),
        Column::new(c"payload", JSONB),
        Column::new(c"revision", BIGINT),
        Column::new(c"occurred_at", TIME),
        Column::new(c"tracingspancontext", TEXT),
    ],
);

/// That an event waits to be handed to the consumers.
pub static INSERT_OUTBOX_QUEUE: Insert = Insert::new(
    c"outbox_queue",
    &[
        Column::new(c"tenant_id", TEXT),
        Column::new(c"instance_id", UUID),
        Column::new(c"revision", BIGINT),
        Column::new(c"id", UUID),
        Column::new(c"occurred_at", TIME),
    ],
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
