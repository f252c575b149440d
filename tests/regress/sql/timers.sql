-- Timers: set on the entry into a state, fired once by wf_run_due, over with the visit. What time does
-- is said by the test clock here, which a superuser sets.
DELETE FROM workflow.timers; -- of other tests
SELECT * FROM wf_define('{
  "id": "wait", "initial": "WAIT",
  "states": {
    "WAIT": {"on": {"GO": "NEXT", "AGAIN": "WAIT"}, "after": {"PT1H": "LATE"}},
    "LATE": {"after": {"1500": {"target": "NEXT", "meta": {"publish": false}}}, "on": {"GO": "NEXT"}},
    "NEXT": {"always": {"target": "DONE", "guard": "$.material.through == true"}, "on": {"BACK": "WAIT", "END": "DONE"}},
    "DONE": {"type": "final"}}}');
CREATE FUNCTION t.timers(key text)
    RETURNS TABLE (entered bigint, event text, due interval, later interval, attempts int, error text)
    LANGUAGE sql AS $$
    SELECT m.entered_revision, m.event, date_trunc('second', m.due_at - '2100-01-01 00:00+00'), nullif(m.next_at - m.due_at, '0'), m.attempts, m.error
      FROM workflow.timers m WHERE m.instance_id = t.i(key) ORDER BY m.entered_revision, m.due_at, m.event
$$;
-- from the server's clock, unless there is another one
SELECT t.see(o) FROM wf_start('wait', 'timers-clock', '{"through": false}') o;
SELECT m.event, m.due_at - h.at AS due, m.next_at = m.due_at AS first FROM workflow.timers m JOIN workflow.history h ON h.instance_id = m.instance_id AND h.revision = m.entered_revision WHERE m.instance_id = t.i('timers-clock');
SELECT count(*) AS fired FROM wf_run_due();
SELECT o.applied FROM wf_send(t.i('timers-clock'), 'GO') o;
SET workflow.test_clock = '2100-01-01 00:00+00';
SELECT t.see(o) FROM wf_start('wait', 'timers', '{"through": false}') o;
SELECT * FROM t.timers('timers');
SELECT count(*) AS fired FROM wf_run_due();
-- due, and not a moment earlier
SET workflow.test_clock = '2100-01-01 00:59:59.999999+00';
SELECT count(*) AS fired FROM wf_run_due();
SET workflow.test_clock = '2100-01-01 01:00+00';
SELECT t.see(o), o.replayed, o.attempts, o.code, o.detail FROM wf_run_due() o;
SELECT * FROM t.timers('timers');
-- once
SELECT count(*) AS fired FROM wf_run_due();
-- a step like any other: history, event, the next timer
SET workflow.test_clock = '2100-01-01 01:00:01.5+00';
SELECT t.see(o) FROM wf_run_due() o;
SELECT * FROM t.timers('timers');
SELECT h.revision, h.step, h.from_state, h.to_state, h.event, h.round, h.actor, h.proof, h.at < '2100-01-01' AS real_time FROM workflow.history h WHERE h.instance_id = t.i('timers') ORDER BY 1;
SELECT x.revision, x.type, x.payload ->> 'actor' AS actor FROM workflow.outbox x WHERE x.aggregateid = t.i('timers')::text ORDER BY 1;
SELECT l.kind, l.actor, l.what FROM workflow.timeline l WHERE l.instance_id = t.i('timers') ORDER BY l.revision;
-- the visit is over: a quiet no-op, and the row goes when it is due
SELECT t.see(o) FROM wf_send(t.i('timers'), 'BACK') o;
SELECT t.see(o) FROM wf_send(t.i('timers'), 'AGAIN') o;
SELECT t.see(o) FROM wf_send(t.i('timers'), 'GO') o;
SELECT entered, event FROM t.timers('timers');
SELECT count(*) AS pending FROM workflow.pending_timers p WHERE p.instance_id = t.i('timers');
SET workflow.test_clock = '2100-01-02 00:00+00';
SELECT count(*) AS fired FROM wf_run_due();
SELECT count(*) AS left FROM t.timers('timers');
-- each entry has its own
SELECT t.see(o) FROM wf_send(t.i('timers'), 'BACK') o;
SET workflow.test_clock = '2100-01-02 00:30+00';
SELECT t.see(o) FROM wf_send(t.i('timers'), 'AGAIN') o;
SET workflow.test_clock = '2100-01-02 01:15+00';
SELECT count(*) AS fired FROM wf_run_due();
SET workflow.test_clock = '2100-01-02 01:30+00';
SELECT t.see(o) FROM wf_run_due() o;
-- after the end as well
SELECT t.see(o) FROM wf_send(t.i('timers'), 'GO') o;
SELECT t.see(o) FROM wf_send(t.i('timers'), 'BACK') o;
SELECT t.see(o) FROM wf_send(t.i('timers'), 'GO') o;
SELECT t.see(o) FROM wf_send(t.i('timers'), 'END') o;
SET workflow.test_clock = '2100-01-03 00:00+00';
SELECT count(*) AS fired FROM wf_run_due();
SELECT count(*) AS left FROM t.timers('timers');
-- always follows; states that are only passed through set none
SET workflow.test_clock = '2100-02-01 00:00+00';
SELECT t.see(o) FROM wf_start('wait', 'timers-always', '{"through": true}') o;
SET workflow.test_clock = '2100-02-01 01:00+00';
SELECT t.see(o) FROM wf_run_due() o;
SET workflow.test_clock = '2100-02-01 02:00+00';
SELECT t.see(o) FROM wf_run_due() o;
SELECT r, from_state, to_state, event, actor FROM t.history('timers-always');
-- nobody can send it, and nobody can call themselves time
SELECT t.see(o) FROM wf_start('wait', 'timers-nobody', '{"through": false}') o;
SELECT t.refusal($$SELECT wf_send(t.i('timers-nobody'), 'after.PT1H')$$);
SELECT t.refusal($$SELECT wf_transition(t.i('timers-nobody'), 'WAIT', 'LATE', 1, 1)$$);
SELECT t.refusal($$SELECT wf_transition(t.i('timers-nobody'), 'WAIT', 'LATE', 1, 1, event => 'after.PT1H')$$);
SELECT t.refusal($$SELECT wf_send(t.i('timers-nobody'), 'GO', actor => 'workflow.timer')$$);
-- what time will do, for pages and people
SELECT k ->> 'event' AS event, k ->> 'attempts' AS attempts, (k ->> 'due_at')::timestamptz = '2100-02-01 03:00+00' AS due FROM wf_get(t.i('timers-nobody')) g CROSS JOIN jsonb_array_elements(g.timers) k;
SELECT jsonb_array_length(g.timers) AS closed_has_none FROM wf_get(t.i('timers')) g;
SELECT wf_explain(t.i('timers-nobody')) #> '{timers,0,event}' AS explained;
SELECT a -> 'event' AS actions FROM wf_get(t.i('timers-nobody')) g CROSS JOIN jsonb_array_elements(g.actions) a;
SELECT p.business_key, p.definition, p.state, p.event, p.attempts FROM workflow.pending_timers p WHERE p.business_key = 'timers-nobody';
-- A9: what is rolled back leaves no timer, and fires none
BEGIN;
SAVEPOINT s;
SELECT t.see(o) FROM wf_send(t.i('timers-nobody'), 'AGAIN') o;
SELECT count(*) FROM t.timers('timers-nobody');
ROLLBACK TO s;
COMMIT;
SELECT entered, event FROM t.timers('timers-nobody');
SET workflow.test_clock = '2100-02-01 03:00+00';
BEGIN;
SAVEPOINT s;
SELECT t.see(o) FROM wf_run_due() o;
ROLLBACK TO s;
COMMIT;
SELECT * FROM t.count('timers-nobody');
SELECT entered, event FROM t.timers('timers-nobody');
SELECT t.see(o) FROM wf_run_due() o;
-- arguments, and the clock itself
SELECT x, t.refusal('SELECT wf_run_due(' || coalesce(x, 'NULL') || ')') FROM unnest('{null,0,-1,10001}'::text[]) WITH ORDINALITY x(x, n) ORDER BY n;
SELECT t.refusal($$SELECT wf_run_due(on_refusal => 'no')$$);
SET workflow.test_clock = 'infinity';
SELECT t.refusal($$SELECT wf_run_due()$$);
SET workflow.test_clock = 'yesterday evening';
SELECT t.refusal($$SELECT wf_run_due()$$);
RESET workflow.test_clock;
CREATE ROLE regress_timers;
SET ROLE regress_timers;
\set VERBOSITY terse
SET workflow.test_clock = '2100-01-01';
RESET ROLE;
\set VERBOSITY default
DROP ROLE regress_timers;
-- A page that fits: more than one delay, the shortest first.
SET workflow.test_clock = '2100-03-01 00:00+00';
SELECT * FROM wf_define('{"id": "stages", "initial": "A", "states": {"A": {"after": {"PT2H": "C", "PT1H": "B"}}, "B": {"after": {"P1D": "C"}}, "C": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('stages', 'stages', '{}') o;
SET workflow.test_clock = '2100-03-01 05:00+00';
SELECT t.see(o) FROM wf_run_due() o;
SELECT count(*) AS fired FROM wf_run_due();
SET workflow.test_clock = '2100-03-03 00:00+00';
SELECT t.see(o) FROM wf_run_due() o;
RESET workflow.test_clock;
SELECT * FROM wf_verify();
