-- Locks with an expiry by the clock of the database, and numbers that only grow.
--
-- The row of a key is never deleted: that would start its fences again. The fence is the only column
-- of a unique index that changes, so that a new tenure conflicts with FOR KEY SHARE, which a write
-- under the lease takes, and a renewal does not.

CREATE SEQUENCE workflow.lease_fence AS bigint;
COMMENT ON SEQUENCE workflow.lease_fence IS 'Source of fences. A number that was taken is not given again, also not after a rollback.';
CREATE SEQUENCE workflow.lease_place AS bigint;
COMMENT ON SEQUENCE workflow.lease_place IS 'Where and on which timeline fences were given last. In another place, after a restore, they leap.';

CREATE TABLE workflow.leases (
    tenant_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    token uuid NOT NULL,
    held boolean NOT NULL,
    holder text COLLATE "C" NOT NULL,
    request_id text COLLATE "C",
    granted_at timestamptz NOT NULL,
    renewed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ttl_ms int NOT NULL,
    renewals int NOT NULL,
    longest_us bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    cluster bigint NOT NULL,
    epoch bigint NOT NULL,
    actor text COLLATE "C",
    PRIMARY KEY (tenant_id, key)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX leases_fence ON workflow.leases (tenant_id, key, fence);
COMMENT ON TABLE workflow.leases IS 'The last tenure of each lease key. Rows stay.';
COMMENT ON COLUMN workflow.leases.fence IS 'Number of the tenure; higher than that of any tenure of this key before.';
COMMENT ON COLUMN workflow.leases.token IS 'Secret of the holder, to renew and release with.';
COMMENT ON COLUMN workflow.leases.held IS 'Granted and not released. It may have run out all the same: see expires_at.';
COMMENT ON COLUMN workflow.leases.longest_us IS 'Longest time between the grant, renewals and the release, in microseconds.';
COMMENT ON COLUMN workflow.leases.seen_at IS 'Clock time of the last write; the row believes no earlier clock.';
COMMENT ON COLUMN workflow.leases.cluster IS 'Stands for the cluster, database and table in which the row was written last: elsewhere, after a restore, the lease is void.';
COMMENT ON COLUMN workflow.leases.epoch IS 'Stands for the run and timeline of the server that wrote the row last: after another start, a crash or a promotion the lease counts as held for workflow.lease_grace longer.';
COMMENT ON COLUMN workflow.leases.actor IS 'Who asked for it, whatever they called the holder.';

CREATE TYPE workflow.lease_end AS ENUM ('released', 'expired', 'stolen', 'void');
COMMENT ON TYPE workflow.lease_end IS 'Why a tenure ended: released by its holder, run out, taken by wf_lease_steal, or void because it came with a restored dump.';

CREATE TABLE workflow.lease_log (
    tenant_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    holder text COLLATE "C" NOT NULL,
    granted_at timestamptz NOT NULL,
    ttl_ms int NOT NULL,
    provisional boolean NOT NULL,
    renewals int NOT NULL DEFAULT 0,
    longest_us bigint NOT NULL DEFAULT 0,
    ended_at timestamptz,
    ended workflow.lease_end,
    reason text,
    actor text COLLATE "C",
    PRIMARY KEY (tenant_id, key, fence)
);
COMMENT ON TABLE workflow.lease_log IS 'Every tenure of every lease key.';
COMMENT ON COLUMN workflow.lease_log.provisional IS 'Acquired inside an open transaction: nobody else could see it before that committed.';
COMMENT ON COLUMN workflow.lease_log.ended_at IS 'When it was released, stolen or ran out; known for one that ran out once the next tenure begins. NULL: nobody came after it yet.';
COMMENT ON COLUMN workflow.lease_log.longest_us IS 'Longest time between grant, renewals and end, in microseconds; compare with ttl_ms.';
COMMENT ON COLUMN workflow.lease_log.actor IS 'Who asked for it, whatever they called the holder.';
COMMENT ON COLUMN workflow.lease_log.reason IS 'What the operator said who stole it.';

SELECT pg_catalog.pg_extension_config_dump('workflow.lease_fence', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.lease_place', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.leases', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.lease_log', '');

CREATE TYPE workflow.lease AS (
    acquired boolean,
    key text,
    token uuid,
    fence bigint,
    holder text,
    expires_at timestamptz,
    remaining_ms bigint,
    provisional boolean,
    reason text,
    retry_after_ms bigint
);
COMMENT ON TYPE workflow.lease IS 'Answer to who wants a lease. acquired: the tenure, its secret token and its fence. Not acquired: who holds the key and how long still (where that is known); reason held, busy (somebody is at it this moment) or others (another key of the same call is not free); retry_after_ms when to try again. provisional: nobody else sees the lease before the open transaction commits, and its time runs already.';
CREATE TYPE workflow.lease_renewal AS (
    renewed boolean,
    fence bigint,
    expires_at timestamptz,
    remaining_ms bigint,
    reason text
);
COMMENT ON TYPE workflow.lease_renewal IS 'Whether a lease was renewed, until when, and if not why: expired, released, void, not_holder (another token), unknown (no such key), busy.';
CREATE TYPE workflow.lease_release AS (
    released boolean,
    reason text
);
COMMENT ON TYPE workflow.lease_release IS 'Whether a lease was released, and if not why: expired, released, void, not_holder (another token), unknown (no such key), busy.';
CREATE TYPE workflow.lease_state AS (
    held boolean,
    holder text,
    fence bigint,
    remaining_ms bigint,
    renewals int,
    granted_at timestamptz
);
COMMENT ON TYPE workflow.lease_state IS 'A lease as it stands; holder, fence and the rest are of the present or last tenure, NULL if there never was one.';

CREATE FUNCTION wf_lease_acquire(
    key text,
    ttl_ms int,
    holder text DEFAULT NULL,
    wait_ms int DEFAULT 0,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.lease ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_lease_acquire';
COMMENT ON FUNCTION wf_lease_acquire IS 'Takes a lease for ttl_ms milliseconds (1 to workflow.lease_max_ttl) by the clock of the database. Call it in autocommit. A key that is not free is an answer (acquired = false) and writes nothing. wait_ms: how long to try; a transaction that has written already does not wait. holder: for people, default the actor. The same actor and holder with the same request_id get the same tenure again. Renew at a third of ttl_ms; present key and fence to wf_transition. Errors: 22004, 22023.';
REVOKE ALL ON FUNCTION wf_lease_acquire FROM PUBLIC;

CREATE FUNCTION wf_lease_acquire_many(
    keys text[],
    ttl_ms int,
    holder text DEFAULT NULL,
    wait_ms int DEFAULT 0,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.lease ROWS 10
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_lease_acquire_many';
COMMENT ON FUNCTION wf_lease_acquire_many IS 'Takes all of the keys or none, one row each in the order of their bytes. 1 to 1000 keys, each once. Otherwise like wf_lease_acquire.';
REVOKE ALL ON FUNCTION wf_lease_acquire_many FROM PUBLIC;

CREATE FUNCTION wf_lease_steal(
    key text,
    ttl_ms int,
    reason text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.lease ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_lease_steal';
COMMENT ON FUNCTION wf_lease_steal IS 'Takes a lease from whoever holds it, for operators; the fence rises, so that the former holder is refused. reason is kept in workflow.lease_log. Waits for a write in progress under the lease, no longer than workflow.wait_ms. Errors: 55P03 busy.';
REVOKE ALL ON FUNCTION wf_lease_steal FROM PUBLIC;

CREATE FUNCTION wf_lease_renew(
    key text,
    token uuid,
    ttl_ms int,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.lease_renewal ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_lease_renew';
COMMENT ON FUNCTION wf_lease_renew IS 'Prolongs a lease to ttl_ms milliseconds from now; the fence stays. One that has run out cannot be renewed, though nobody took it. A write in progress under the lease does not stand in the way. Errors: 22004, 22023, 55P03 busy.';
REVOKE ALL ON FUNCTION wf_lease_renew FROM PUBLIC;

CREATE FUNCTION wf_lease_release(
    key text,
    token uuid,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.lease_release ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_lease_release';
COMMENT ON FUNCTION wf_lease_release IS 'Gives a lease back. Nothing changes if the token is not that of the present tenure. Errors: 22004, 55P03 busy.';
REVOKE ALL ON FUNCTION wf_lease_release FROM PUBLIC;

CREATE FUNCTION wf_lease_inspect(
    key text,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.lease_state ROWS 1
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_lease_inspect';
COMMENT ON FUNCTION wf_lease_inspect IS 'Who holds a lease, and for how long still by the clock of the database. On a standby: as far as it has replayed.';
REVOKE ALL ON FUNCTION wf_lease_inspect FROM PUBLIC;

CREATE FUNCTION workflow.lease_ends_at(expires_at timestamptz, cluster bigint, epoch bigint) RETURNS timestamptz
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_lease_ends_at';
COMMENT ON FUNCTION workflow.lease_ends_at IS 'When a tenure ends: expires_at, with workflow.lease_grace if the server was started, has crashed or was promoted since; -infinity if it came with a restored dump.';
REVOKE ALL ON FUNCTION workflow.lease_ends_at FROM PUBLIC;

CREATE VIEW workflow.held_leases WITH (security_barrier) AS
SELECT l.key, l.holder, l.fence, l.granted_at, l.renewed_at, e.ends_at AS expires_at,
       pg_catalog.ceil(EXTRACT(epoch FROM e.ends_at OPERATOR(pg_catalog.-) e.now)
           OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8 AS remaining_ms,
       l.ttl_ms, l.renewals
  FROM workflow.leases l
 CROSS JOIN LATERAL (
    SELECT workflow.lease_ends_at(l.expires_at, l.cluster, l.epoch),
           GREATEST(pg_catalog.clock_timestamp(), l.seen_at)) e(ends_at, now)
 WHERE l.held
   AND e.ends_at OPERATOR(pg_catalog.>) e.now
   AND l.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.held_leases IS 'Leases of the caller''s tenant that somebody holds now.';

CREATE VIEW workflow.lease_usage WITH (security_barrier) AS
SELECT u.key, pg_catalog.count(*) AS tenures,
       pg_catalog.count(*) FILTER (WHERE u.ended OPERATOR(pg_catalog.=) 'expired'::workflow.lease_end) AS expired,
       pg_catalog.count(*) FILTER (WHERE u.ended OPERATOR(pg_catalog.=) 'stolen'::workflow.lease_end) AS stolen,
       pg_catalog.percentile_disc(0.95) WITHIN GROUP (ORDER BY u.usage) AS usage_p95,
       pg_catalog.percentile_disc(0.95) WITHIN GROUP (ORDER BY u.usage) OPERATOR(pg_catalog.>=) 0.8 AS too_tight
  FROM (SELECT CASE WHEN pg_catalog.starts_with(g.key, 'workflow.work/') THEN 'workflow.work' ELSE g.key END AS key,
               g.ended, pg_catalog.round(g.longest_us OPERATOR(pg_catalog./) (g.ttl_ms::pg_catalog.numeric OPERATOR(pg_catalog.*) 1000), 3) AS usage
          FROM workflow.lease_log g
         WHERE g.ended IS NOT NULL
           AND g.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant())) u
 GROUP BY u.key;
COMMENT ON VIEW workflow.lease_usage IS 'How close the tenures of each key came to their end: usage is the longest time between grant, renewals and end, over ttl_ms; 1 and more for those that ran out. Machine work is one line, workflow.work.';
COMMENT ON COLUMN workflow.lease_usage.usage_p95 IS '95 of 100 tenures used at most this share.';
COMMENT ON COLUMN workflow.lease_usage.too_tight IS 'usage_p95 is 0.8 or more: take a longer ttl_ms or renew more often.';

CREATE VIEW workflow.lease_overlaps WITH (security_barrier) AS
SELECT o.key, o.fence, o.holder, o.ended_at, o.next_fence, o.next_holder, o.next_granted_at
  FROM (SELECT g.key, g.fence, g.holder, g.ended_at,
               pg_catalog.lead(g.fence) OVER w AS next_fence,
               pg_catalog.lead(g.holder) OVER w AS next_holder,
               pg_catalog.lead(g.granted_at) OVER w AS next_granted_at
          FROM workflow.lease_log g
         WHERE g.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant())
        WINDOW w AS (PARTITION BY g.key ORDER BY g.fence)) o
 WHERE o.next_fence IS NOT NULL
   AND (o.ended_at IS NULL OR o.ended_at OPERATOR(pg_catalog.>) o.next_granted_at);
COMMENT ON VIEW workflow.lease_overlaps IS 'Two tenures of one key at once. There must be no row.';
