-- L1, L2, L4 to L6, L16: a lease key has one holder at a time by the clock of the database, its fence only
-- grows, and who does not get it leaves no trace.
CREATE FUNCTION t.lease(l workflow.lease) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', l.key, CASE WHEN l.acquired THEN 'acquired' ELSE 'refused' END, l.holder, 'because ' || l.reason,
        CASE WHEN l.acquired <> (l.token IS NOT NULL) OR l.acquired <> (l.fence IS NOT NULL) THEN 'TOKEN' END,
        CASE WHEN l.remaining_ms NOT BETWEEN 1 AND 60000 THEN 'REMAINING' END,
        CASE WHEN l.expires_at < clock_timestamp() THEN 'EXPIRES' END,
        CASE WHEN l.provisional THEN 'provisional' END, CASE WHEN l.retry_after_ms > 0 THEN 'again later' END)
$$;
CREATE TABLE t.tenure (n serial, key text, token uuid, fence bigint, holder text);
CREATE FUNCTION t.acquire(key text, ttl_ms int, holder text, wait_ms int DEFAULT 0, request_id text DEFAULT NULL, tenant text DEFAULT 'default') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    l workflow.lease;
BEGIN
    SELECT * INTO l FROM wf_lease_acquire(key, ttl_ms, holder, wait_ms, request_id, tenant => tenant);
    IF l.acquired THEN
        INSERT INTO t.tenure (key, token, fence, holder) VALUES (key, l.token, l.fence, holder);
    END IF;
    RETURN t.lease(l);
END
$$;
CREATE FUNCTION t.token(who text) RETURNS uuid LANGUAGE sql AS $$ SELECT token FROM t.tenure WHERE holder = who ORDER BY n DESC LIMIT 1 $$;
CREATE FUNCTION t.fence(who text) RETURNS bigint LANGUAGE sql AS $$ SELECT fence FROM t.tenure WHERE holder = who ORDER BY n DESC LIMIT 1 $$;
SELECT held, holder, fence FROM wf_lease_inspect('nobody took it');
SELECT t.lease(l) FROM wf_lease_acquire('job', 60000) l WHERE l.holder <> session_user;
SELECT held, holder = session_user AS mine, renewals, remaining_ms > 50000 AS long FROM wf_lease_inspect('job');
SELECT t.lease(l) FROM wf_lease_acquire('job', 60000, 'b') l WHERE l.holder <> session_user;
-- a refusal writes no row, no log, and takes no transaction id
SELECT wf_lease_acquire('job', 60000, 'c') IS NOT NULL AS hint_bits_are_set;
CREATE FUNCTION pg_temp.wal(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'WAL Bytes';
END
$$;
BEGIN;
SELECT pg_temp.wal($$SELECT * FROM wf_lease_acquire('job', 60000, 'b')$$) AS wal_bytes, pg_temp.wal($$SELECT * FROM wf_lease_acquire_many('{a,job}', 60000, 'b')$$) AS of_many;
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_transaction_id;
COMMIT;
SELECT pg_temp.wal($$SELECT * FROM wf_lease_acquire('measured', 60000, 'b')$$)::int > 0 AS a_grant_writes;
-- taken after it ran out: a higher fence, and the log says how it ended
SELECT t.acquire('short', 1500, 'a');
SELECT t.acquire('short', 1500, 'b');
SELECT t.acquire('short', 60000, 'b', 5000);
SELECT t.fence('b') > t.fence('a') AS fence_rises;
SELECT holder, ended, ended_at = granted_at + interval '1500 ms' AS at_its_end, longest_us FROM workflow.lease_log WHERE key = 'short' ORDER BY fence;
-- only the token of the present tenure renews and releases
SELECT * FROM wf_lease_release('short', gen_random_uuid());
SELECT * FROM wf_lease_release('short', t.token('a'));
SELECT * FROM wf_lease_renew('short', t.token('a'), 1000);
SELECT renewed, fence = t.fence('b') AS same_fence, remaining_ms, reason FROM wf_lease_renew('short', t.token('b'), 30000);
SELECT held, holder, renewals, remaining_ms BETWEEN 1 AND 30000 AS remaining FROM wf_lease_inspect('short');
SELECT * FROM wf_lease_release('short', t.token('b'));
SELECT * FROM wf_lease_release('short', t.token('b'));
SELECT * FROM wf_lease_renew('short', t.token('b'), 1000);
SELECT * FROM wf_lease_renew('unknown', t.token('b'), 1000);
SELECT held, holder FROM wf_lease_inspect('short');
-- expired and taken by nobody: not renewed, not released, and the next fence is higher
SELECT t.acquire('short', 30, 'c');
SELECT pg_sleep(0.04);
SELECT * FROM wf_lease_renew('short', t.token('c'), 1000);
SELECT * FROM wf_lease_release('short', t.token('c'));
SELECT t.acquire('short', 60000, 'd');
SELECT t.fence('d') > t.fence('c') AND t.fence('c') > t.fence('b') AS fences_rise;
-- the same request of the same holder is the same tenure; nobody else's is, and no other request's
SELECT t.acquire('once', 60000, 'a', request_id => 'r1'), t.acquire('once', 60000, 'a', request_id => 'r1');
SELECT count(DISTINCT token) AS tokens, count(DISTINCT fence) AS fences FROM t.tenure WHERE key = 'once';
SELECT t.acquire('once', 60000, 'a', request_id => 'r2'), t.acquire('once', 60000, 'b', request_id => 'r1'), t.acquire('once', 60000, 'a');
-- inside an open transaction it is provisional, and a rollback gives its number to nobody
BEGIN;
SELECT t.acquire('undone', 60000, 'a');
SELECT fence AS undone FROM t.tenure WHERE key = 'undone' \gset
ROLLBACK;
SELECT held FROM wf_lease_inspect('undone');
SELECT t.acquire('undone', 60000, 'b');
SELECT fence > :undone AS higher FROM t.tenure WHERE key = 'undone';
-- all or nothing, in the order of the keys
SELECT t.lease(l) FROM wf_lease_acquire_many('{z,short,a,B}', 60000, 'm') l;
SELECT t.lease(l) FROM wf_lease_acquire_many('{z,a,B}', 60000, 'm') l;
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many('{a,b,a}', 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many('{}', 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many('{a,NULL}', 1000)$$);
-- an operator takes it from whoever has it
SELECT t.lease(l) || ' ' || (l.fence > t.fence('d')) FROM wf_lease_steal('short', 60000, 'its host is gone', actor => 'op') l;
SELECT * FROM wf_lease_renew('short', t.token('d'), 1000);
SELECT holder, ended, reason FROM workflow.lease_log WHERE key = 'short' AND ended = 'stolen';
-- times that cannot be
SELECT ttl, t.refusal(format($$SELECT * FROM wf_lease_acquire('ttl', %s)$$, coalesce(ttl, 'NULL'))) FROM unnest('{NULL,0,-1}'::text[]) ttl;
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('ttl', 2000000000)$$);
SET workflow.lease_max_ttl = '1s';
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('ttl', 1001)$$), t.refusal($$SELECT * FROM wf_lease_renew('short', gen_random_uuid(), 1001)$$);
RESET workflow.lease_max_ttl;
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('', 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('workflow.mine', 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('ttl', 1000, wait_ms => -1)$$);
-- a key of another tenant is another key
SELECT t.acquire('short', 60000, 'x', tenant => 'elsewhere');
SELECT held, holder FROM wf_lease_inspect('short', tenant => 'elsewhere');
-- a snapshot that is older than the lease does not hide it
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) >= 0 AS snapshot FROM workflow.leases;
SELECT t.acquire('short', 60000, 'y');
COMMIT;
-- granted before the server's last start: held for the grace as well; come with a restored dump: void
SELECT t.acquire('crash', 20, 'a');
UPDATE workflow.leases SET epoch = epoch + 1 WHERE key = 'crash';
SELECT pg_sleep(0.03);
SELECT t.acquire('crash', 60000, 'b');
SELECT renewed, reason FROM wf_lease_renew('crash', t.token('a'), 60000);
UPDATE workflow.leases SET epoch = epoch + 1, expires_at = clock_timestamp() WHERE key = 'crash';
SELECT key, holder FROM workflow.held_leases WHERE key = 'crash';
SET workflow.lease_grace = 0;
SELECT key FROM workflow.held_leases WHERE key = 'crash';
SELECT t.acquire('crash', 60000, 'b');
RESET workflow.lease_grace;
UPDATE workflow.leases SET cluster = cluster + 1 WHERE key = 'crash';
SELECT held FROM wf_lease_inspect('crash');
SELECT reason FROM wf_lease_renew('crash', (SELECT token FROM workflow.leases WHERE key = 'crash'), 1000);
SELECT t.acquire('crash', 60000, 'c');
SELECT holder, ended FROM workflow.lease_log WHERE key = 'crash' ORDER BY fence;
-- a clock that steps back ends nothing sooner and prolongs nothing that was over
SELECT t.acquire('clock', 60000, 'a');
UPDATE workflow.leases SET seen_at = expires_at WHERE key = 'clock';
SELECT held FROM wf_lease_inspect('clock');
SELECT reason FROM wf_lease_renew('clock', t.token('a'), 1000);
-- tokens are no guess
SELECT count(DISTINCT token) = count(*) AS all_different, bool_and(substr(token::text, 15, 1) = '4') AS random FROM t.tenure WHERE key <> 'once';
SELECT * FROM workflow.lease_overlaps;
SELECT key, tenures, expired, stolen, usage_p95 >= 1 AS used_up, too_tight FROM workflow.lease_usage WHERE key IN ('short', 'crash') ORDER BY key COLLATE "C";
SELECT * FROM wf_verify();
