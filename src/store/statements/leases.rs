//! Leases. All of these see what is committed now, also where the transaction keeps a snapshot: the
//! row itself says who holds the key.

use pgrx::pg_sys::{
    INT4OID as INT, INT8OID as BIGINT, TEXTOID as TEXT, TIMESTAMPTZOID as TIME, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

pub static READ_LEASE: Statement = Statement::queue(
    "SELECT l.fence, l.token, l.held, l.holder, l.request_id, l.granted_at, l.renewed_at,
            l.expires_at, l.ttl_ms, l.renewals, l.longest_us, l.seen_at, l.cluster, l.epoch, l.actor
       FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT],
);

/// The last number; where and on which timeline it was given, if that is known.
pub static FENCES: Statement = Statement::queue(
    "SELECT f.last_value, p.last_value, p.is_called
       FROM workflow.lease_fence f, workflow.lease_place p",
    &[],
);

pub static RAISE_FENCES: Statement = Statement::queue(
    "SELECT pg_catalog.setval('workflow.lease_fence'::pg_catalog.regclass, $1)",
    &[BIGINT],
);

pub static MARK_FENCES: Statement = Statement::queue(
    "SELECT pg_catalog.setval('workflow.lease_place'::pg_catalog.regclass, $1)",
    &[BIGINT],
);

/// For a new tenure, which changes the fence. Never waits.
pub static TRY_LOCK_LEASE: Statement = Statement::queue(
    "SELECT FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
        FOR UPDATE SKIP LOCKED",
    &[TEXT, TEXT],
);

/// The same, waiting.
pub static LOCK_LEASE: Statement = Statement::queue(
    "SELECT FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
        FOR UPDATE",
    &[TEXT, TEXT],
);

/// For the holder, whose writing leaves the fence as it is. Never waits.
pub static TRY_LOCK_TENURE: Statement = Statement::queue(
    "SELECT FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE SKIP LOCKED",
    &[TEXT, TEXT],
);

/// The same, waiting.
pub static LOCK_TENURE: Statement = Statement::queue(
    "SELECT FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
        FOR NO KEY UPDATE",
    &[TEXT, TEXT],
);

/// For a write under the lease: no new tenure before it has committed; renewing goes on. Never
/// waits.
pub static TRY_KEEP_LEASE: Statement = Statement::queue(
    "SELECT FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
        FOR KEY SHARE SKIP LOCKED",
    &[TEXT, TEXT],
);

/// The same, waiting.
pub static KEEP_LEASE: Statement = Statement::queue(
    "SELECT FROM workflow.leases l
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
        FOR KEY SHARE",
    &[TEXT, TEXT],
);

/// The first tenure of a key.
pub static INSERT_LEASE: Statement = Statement::queue(
    "INSERT INTO workflow.leases (tenant_id, key, fence, token, held, holder, request_id, granted_at,
            renewed_at, expires_at, ttl_ms, renewals, longest_us, seen_at, cluster, epoch, actor)
     VALUES ($1, $2, $3 OPERATOR(pg_catalog.+) pg_catalog.nextval('workflow.lease_fence'::pg_catalog.regclass),
            $4, true, $5, $6, $7, $7, $8, $9, 0, 0, $7, $10, $11, $12)
         ON CONFLICT DO NOTHING
     RETURNING fence",
    &[
        TEXT, TEXT, BIGINT, UUID, TEXT, TEXT, TIME, TIME, INT, BIGINT, BIGINT, TEXT,
    ],
);

/// A further tenure of a key whose row is ours; $13 is how much the fence rises at least.
pub static GRANT_LEASE: Statement = Statement::queue(
    "UPDATE workflow.leases l
        SET fence = GREATEST(l.fence OPERATOR(pg_catalog.+) $13,
                $3 OPERATOR(pg_catalog.+) pg_catalog.nextval('workflow.lease_fence'::pg_catalog.regclass)),
            token = $4, held = true, holder = $5, request_id = $6, granted_at = $7, renewed_at = $7,
            expires_at = $8, ttl_ms = $9, renewals = 0, longest_us = 0, seen_at = $7, cluster = $10,
            epoch = $11, actor = $12
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2
     RETURNING l.fence",
    &[
        TEXT, TEXT, BIGINT, UUID, TEXT, TEXT, TIME, TIME, INT, BIGINT, BIGINT, TEXT, BIGINT,
    ],
);

/// $3 now, $4 until when, $5 ttl, $6 longest time without a renewal.
pub static RENEW_LEASE: Statement = Statement::queue(
    "UPDATE workflow.leases l
        SET renewed_at = $3, expires_at = $4, ttl_ms = $5, renewals = l.renewals OPERATOR(pg_catalog.+) 1,
            longest_us = $6, seen_at = $3, cluster = $7, epoch = $8
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT, TIME, TIME, INT, BIGINT, BIGINT, BIGINT],
);

pub static RELEASE_LEASE: Statement = Statement::queue(
    "UPDATE workflow.leases l
        SET held = false, seen_at = $3, longest_us = $4
      WHERE l.tenant_id OPERATOR(pg_catalog.=) $1 AND l.key OPERATOR(pg_catalog.=) $2",
    &[TEXT, TEXT, TIME, BIGINT],
);

pub static LOG_TENURE: Statement = Statement::queue(
    "INSERT INTO workflow.lease_log (tenant_id, key, fence, holder, granted_at, ttl_ms, provisional, actor)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    &[TEXT, TEXT, BIGINT, TEXT, TIME, INT, pgrx::pg_sys::BOOLOID, TEXT],
);

pub static LOG_TENURE_END: Statement = Statement::queue(
    "UPDATE workflow.lease_log g
        SET ended_at = $4, ended = $5::workflow.lease_end, ttl_ms = $6, renewals = $7,
            longest_us = $8, reason = $9
      WHERE g.tenant_id OPERATOR(pg_catalog.=) $1 AND g.key OPERATOR(pg_catalog.=) $2
        AND g.fence OPERATOR(pg_catalog.=) $3",
    &[TEXT, TEXT, BIGINT, TIME, TEXT, INT, INT, BIGINT, TEXT],
);
