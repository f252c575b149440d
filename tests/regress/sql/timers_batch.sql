-- After a downtime: everything that is due, in bounded batches, the earliest first, each once; stale
-- timers go without using up the batch. A tenant at a time.
DELETE FROM workflow.timers; -- of other tests
SELECT * FROM wf_define('{"id": "batch", "initial": "A", "states": {"A": {"on": {"GO": "B"}, "after": {"PT1H": "B", "PT2H": "C"}}, "B": {"on": {"END": "C"}}, "C": {"type": "final"}}}', tenant => '*');
-- a reminder: fires once for a downtime, however long, and from then on again
SELECT * FROM wf_define('{"id": "tick", "initial": "A", "states": {"A": {"on": {"END": "B"}, "after": {"PT1H": "A"}}, "B": {"type": "final"}}}');
CREATE FUNCTION t.start_batch(prefix text, how_many int, tenant text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    since timestamptz := current_setting('workflow.test_clock');
BEGIN
    FOR n IN 1..how_many LOOP
        -- the later it starts, the smaller its number
        PERFORM set_config('workflow.test_clock', (since - n * interval '1 second')::text, true);
        PERFORM wf_start('batch', prefix || n, '{}', tenant => start_batch.tenant);
    END LOOP;
    RETURN how_many;
END
$$;
SET workflow.test_clock = '2400-01-01 00:00+00';
SELECT t.start_batch('batch-', 25, 'default'), t.start_batch('batch-', 5, 'batch-2');
SELECT o.applied FROM wf_start('tick', 'tick', '{}') o;
SELECT count(*) AS left FROM (SELECT wf_send(t.i('batch-' || n), 'GO') FROM generate_series(1, 5) n) x;
SET workflow.test_clock = '2400-02-01 00:00+00';
SELECT array_agg(substr(a.business_key, 7)::int ORDER BY o.ordinality) AS oldest_first, min(o.event), max(o.event), bool_and(o.applied) AS applied
  FROM wf_run_due(8) WITH ORDINALITY o JOIN workflow.applications a ON a.id = o.application_id;
SELECT count(*) FROM wf_run_due(8);
SELECT count(*) FROM wf_run_due(8);
SELECT count(*) FROM wf_run_due(8);
-- everybody moved once, by the shorter delay; the longer one was over by then
SELECT h.event, h.to_state, count(*) FROM workflow.history h WHERE h.tenant_id = 'default' AND h.instance_id IN (SELECT t.i('batch-' || n) FROM generate_series(1, 25) n) AND h.revision > 1 GROUP BY 1, 2 ORDER BY 1;
SELECT count(*) AS left FROM workflow.timers m WHERE m.instance_id IN (SELECT t.i('batch-' || n) FROM generate_series(1, 25) n);
SELECT t.see(o) FROM wf_send(t.i('tick'), 'END') o;
-- another tenant's are another tenant's
SELECT count(*) AS left FROM workflow.timers m WHERE m.tenant_id = 'batch-2';
SELECT count(*) FROM wf_run_due(tenant => 'batch-3');
SELECT count(*) FROM wf_run_due(tenant => 'batch-2');
SELECT count(*) FROM workflow.history h WHERE h.tenant_id = 'batch-2' AND h.event = 'after.PT1H';
-- a worker may call it, a reader may not, and both see what is pending
CREATE ROLE regress_worker;
CREATE ROLE regress_reader;
SELECT wf_grant('regress_worker', 'worker'), wf_grant('regress_reader', 'reader');
SET SESSION AUTHORIZATION regress_worker;
SELECT count(*) FROM wf_run_due();
SELECT count(*) FROM workflow.pending_timers;
SET SESSION AUTHORIZATION regress_reader;
\set VERBOSITY terse
SELECT count(*) FROM wf_run_due();
SELECT count(*) FROM workflow.timers;
\set VERBOSITY default
SELECT count(*) FROM workflow.pending_timers;
RESET SESSION AUTHORIZATION;
DROP OWNED BY regress_worker, regress_reader;
DROP ROLE regress_worker, regress_reader;
RESET workflow.test_clock;
SELECT * FROM wf_verify();
