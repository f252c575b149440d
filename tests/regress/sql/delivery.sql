-- Events reach each consumer of their tenant, in the order of the instance, at least once, and leave the
-- outbox when all consumers have acknowledged them.
CREATE FUNCTION t.got(d workflow.delivery) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', (SELECT a.business_key FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id WHERE i.id::text = d.aggregateid),
                     'r' || d.revision, d.type, CASE WHEN d.attempt > 1 THEN 'attempt ' || d.attempt END)
$$;
-- A claim in one line; what was claimed last stays in a table.
CREATE TABLE t.claimed (n serial, consumer text, claim uuid, id uuid, what text);
CREATE TABLE t.now (n int, claim uuid, id uuid, what text);
CREATE FUNCTION t.claim(who text, limit_rows int DEFAULT 100, lease_ms int DEFAULT 30000) RETURNS text LANGUAGE sql AS $$
    DELETE FROM t.now;
    INSERT INTO t.now SELECT row_number() OVER () AS n, d.claim, d.id, t.got(d) AS what FROM wf_outbox_claim(who, limit_rows, lease_ms) d;
    DELETE FROM t.claimed WHERE consumer = who AND EXISTS (SELECT FROM t.now);
    INSERT INTO t.claimed (consumer, claim, id, what) SELECT who, claim, id, what FROM t.now ORDER BY n;
    SELECT coalesce(string_agg(what, ', ' ORDER BY n), 'nothing') FROM t.now
$$;
-- The answer, with events instead of ids.
CREATE FUNCTION t.settled(o workflow.outcome) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', CASE WHEN o.applied THEN 'done' ELSE concat(o.code, ' ', o.reason) END, o.detail ->> 'events', 'dead ' || nullif(o.detail ->> 'dead', '0'),
        'ignored ' || (SELECT string_agg(coalesce(c.what, '?'), ', ' ORDER BY c.n) FROM jsonb_array_elements_text(o.detail -> 'ignored') x(id) LEFT JOIN t.claimed c ON c.id = x.id::uuid))
$$;
CREATE FUNCTION t.ack(who text, pattern text DEFAULT '.') RETURNS text LANGUAGE sql AS $$
    SELECT t.settled(o) FROM (SELECT claim, array_agg(id) FILTER (WHERE what ~ pattern) AS ids FROM t.claimed WHERE consumer = who GROUP BY 1) c
     CROSS JOIN LATERAL wf_outbox_ack(who, c.claim, coalesce(c.ids, '{}')) o
$$;
CREATE FUNCTION t.nack(who text, pattern text DEFAULT '.', delay_ms int DEFAULT 0, error text DEFAULT 'no') RETURNS text LANGUAGE sql AS $$
    SELECT t.settled(o) FROM (SELECT claim, array_agg(id) FILTER (WHERE what ~ pattern) AS ids FROM t.claimed WHERE consumer = who GROUP BY 1) c
     CROSS JOIN LATERAL wf_outbox_nack(who, c.claim, coalesce(c.ids, '{}'), delay_ms, error) o
$$;
CREATE FUNCTION t.press(key text, times int DEFAULT 1) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    r bigint;
BEGIN
    FOR n IN 1 .. times LOOP
        SELECT o.revision INTO r FROM wf_send(t.i(key, current_setting('workflow.tenant')), 'PRESS') o;
    END LOOP;
    RETURN r;
END
$$;
CREATE FUNCTION t.left() RETURNS text LANGUAGE sql AS $$
    SELECT format('outbox %s queue %s deliveries %s', (SELECT count(*) FROM workflow.outbox WHERE tenant_id = 'deliver'),
        (SELECT count(*) FROM workflow.outbox_queue WHERE tenant_id = 'deliver'), (SELECT count(*) FROM workflow.deliveries WHERE tenant_id = 'deliver'))
$$;
SELECT * FROM wf_define(wf_export('lamp'), tenant => 'deliver');
SET workflow.tenant = 'deliver';
SELECT t.see(o) FROM wf_start('lamp', 'early', '{}') o;

-- who is subscribed
SELECT t.refusal($$SELECT wf_outbox_claim('mail')$$);
SELECT o.applied, o.replayed, o.detail FROM wf_outbox_subscribe('mail') o;
SELECT o.applied, o.replayed, o.detail FROM wf_outbox_subscribe('mail', from_start => true) o;
SELECT o.applied, o.replayed, o.detail FROM wf_outbox_subscribe('index', from_start => true) o;
SELECT t.left();

-- in order, whole instances at a time, each consumer for itself
SELECT t.see(o) FROM wf_start('lamp', 'b', '{}') o;
SELECT t.press('b', 3), t.press('early', 2);
SELECT t.left();
SELECT t.claim('mail');
SELECT t.left();
SELECT t.claim('mail');
SELECT t.claim('index', 3), t.claim('index', 3) AS second;
-- what the columns hold
SELECT o.id = c.id AS id, o.aggregatetype, o.payload ->> 'revision' AS revision, o.occurred_at IS NOT NULL AS at
  FROM workflow.outbox o JOIN t.claimed c USING (id) WHERE c.consumer = 'mail' AND c.what = 'b r3 PRESS';

-- acknowledged is what has nothing before it: an event behind one that is not goes out again
SELECT t.ack('mail', 'b r[2-4]') AS gap;
SELECT t.ack('mail', 'b r1') AS first, t.ack('mail', 'b r1') AS again;
SELECT t.ack('mail', 'b r[43]') AS gap, t.ack('mail', 'b r[42]') AS half;
SELECT t.ack('mail', 'b r3|early') AS middle;
SELECT t.ack('mail', 'b r4') AS "rest";
SELECT t.claim('mail');
SELECT t.left();
-- another claim, another consumer, an event that never was
SELECT t.settled(o) FROM t.claimed c CROSS JOIN LATERAL wf_outbox_ack('index', gen_random_uuid(), ARRAY[c.id]) o WHERE c.consumer = 'index' ORDER BY c.n LIMIT 1;
SELECT t.settled(o) FROM t.claimed c CROSS JOIN LATERAL wf_outbox_ack('mail', c.claim, ARRAY[c.id]) o WHERE c.consumer = 'index' ORDER BY c.n LIMIT 1;
SELECT t.settled(o) FROM t.claimed c CROSS JOIN LATERAL wf_outbox_ack('index', c.claim, ARRAY[gen_random_uuid()]) o WHERE c.consumer = 'index' ORDER BY c.n LIMIT 1;
SELECT t.settled(o) FROM wf_outbox_ack('index', gen_random_uuid(), '{}') o;
-- the other consumer is done: so is the outbox
SELECT wf_outbox_unsubscribe('mail') IS NOT NULL AS gone, t.left();
SELECT count(*) FROM wf_verify();
UPDATE workflow.deliveries SET available_at = clock_timestamp() WHERE tenant_id = 'deliver' AND claim IS NOT NULL;
SELECT t.claim('index'), t.ack('index'), t.left();
SELECT count(*) FROM wf_verify();

-- what is given back goes out again, with what is behind it; that was not tried
SELECT t.press('b', 3);
SELECT t.claim('index');
SELECT t.nack('index', 'r6', error => 'mail server is away');
SELECT t.ack('index', 'r7') AS behind, t.ack('index', 'r5') AS before;
SELECT t.claim('index');
SELECT t.nack('index', 'r6', delay_ms => 86400000, error => repeat('é', 9000));
SELECT max(length(error)) AS kept FROM workflow.deliveries WHERE tenant_id = 'deliver';
SELECT t.claim('index') AS delayed;
UPDATE workflow.deliveries SET available_at = clock_timestamp() WHERE tenant_id = 'deliver' AND available_at > clock_timestamp();
SELECT t.claim('index') AS later, t.ack('index');

-- a claim that is over
SELECT t.press('b', 2);
SELECT t.claim('index', lease_ms => 1);
SELECT pg_sleep(0.01);
SELECT t.ack('index') AS late, t.nack('index') AS too;
SELECT t.claim('index'), t.ack('index');

-- the limit takes heads first, and of many instances no more than asked for
SELECT count(o.applied) FROM generate_series(1, 5) n CROSS JOIN LATERAL wf_start('lamp', 'many-' || n, '{}') o;
SELECT t.press('many-1', 3), t.press('many-2', 1);
SELECT t.claim('index', 4), t.ack('index');
SELECT t.claim('index', 1), t.claim('index', 1) AS while_held, t.claim('index') AS "rest";
SELECT t.left();
SELECT x, t.refusal(format('SELECT wf_outbox_claim(''index'', %s)', x)) FROM unnest('{0,-1,10001,"1, 0","1, -1","1, 86400001"}'::text[]) x;
SELECT t.refusal(format($$SELECT wf_outbox_nack('index', gen_random_uuid(), '{}', %s, NULL)$$, x)) FROM unnest('{-1,86400001}'::text[]) x;
SELECT t.refusal(format('SELECT wf_outbox_subscribe(%L)', x)) FROM unnest(ARRAY['', repeat('x', 201), E'a\nb']) x;

-- the lag, for one's own tenant
SELECT consumer, queued, waiting, claimed, failed, dead, oldest_at < now() AS behind, lag > '0' AS lag FROM workflow.outbox_lag;
SET workflow.tenant = 'default';
SELECT count(*) FROM workflow.outbox_lag;
SET workflow.tenant = 'deliver';

-- gone and come again: nothing is left of what it had
SELECT (wf_outbox_unsubscribe('index')).detail;
SELECT t.left();
SELECT t.refusal($$SELECT wf_outbox_unsubscribe('index')$$);
SELECT o.detail FROM wf_outbox_subscribe('index') o;
SELECT t.claim('index');
SELECT (wf_outbox_unsubscribe('index')).applied;
SELECT o.detail FROM wf_outbox_subscribe('index', true) o;
SELECT t.claim('index', 3), t.ack('index');

-- a refusal that is returned: no event
SELECT count(*) FROM wf_outbox_claim('nobody', on_refusal => 'return');
SELECT t.see(o) FROM wf_outbox_ack('nobody', gen_random_uuid(), '{}', on_refusal => 'return') o;
SELECT command, code FROM workflow.refusals WHERE tenant_id = 'deliver' ORDER BY at;

-- what nobody waits for stays for its time
SELECT (wf_outbox_unsubscribe('index')).applied;
SELECT t.left();
SELECT (wf_outbox_subscribe('index')).applied;
SELECT t.claim('index'), t.left();
SET workflow.outbox_retention = 0;
SELECT t.claim('index'), t.left();
RESET workflow.outbox_retention;
SELECT count(*) FROM wf_verify();
-- also where there is no consumer at all
SELECT (wf_outbox_unsubscribe('index')).applied;
SELECT t.press('b', 2), t.left();
SELECT count(*) FROM wf_run_due();
SELECT t.left();
SET workflow.outbox_retention = 0;
SELECT count(*) FROM wf_run_due();
SELECT t.left();
RESET workflow.outbox_retention;
SELECT count(*) FROM wf_verify();
SELECT (wf_outbox_subscribe('index', true)).detail, t.press('b', 1), t.claim('index'), t.ack('index'), t.left();

-- a message is carried out once
SELECT a.accepted FROM wf_inbox_accept('bank', 'm-1') a;
SELECT a.accepted FROM wf_inbox_accept('bank', 'm-1') a;
SELECT a.accepted FROM wf_inbox_accept('post', 'm-1') a;
SELECT a.accepted FROM wf_inbox_accept('bank', 'm-1', tenant => 'default') a;
BEGIN;
SELECT a.accepted FROM wf_inbox_accept('bank', 'm-2') a;
ROLLBACK;
SELECT a.accepted FROM wf_inbox_accept('bank', 'm-2') a;
SELECT t.refusal(format($$SELECT wf_inbox_accept('bank', %L)$$, x)) FROM unnest(ARRAY['', repeat('x', 201), E'a\tb']) x;
SELECT (wf_outbox_unsubscribe('index')).applied;
RESET workflow.tenant;
SELECT * FROM wf_verify();
