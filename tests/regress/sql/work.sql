-- Machine work: taken by the longest waiting first, under a lease and a fence; finished, failed, prolonged and
-- given back by whoever still has it, and by nobody else.
CREATE FUNCTION pg_temp.take(definition text, state text, event text, n int DEFAULT 1, ms int DEFAULT 60000)
    RETURNS TABLE (key text, r bigint, m int, material jsonb, attempt int) LANGUAGE sql AS $$
    SELECT w.business_key, w.revision, w.material_version, w.material, w.attempt
      FROM wf_work_take(definition, state, event, 'w', n, ms) WITH ORDINALITY w ORDER BY w.ordinality
$$;
CREATE FUNCTION pg_temp.fence(key text) RETURNS bigint LANGUAGE sql AS $$
    SELECT w.fence FROM workflow.work_items w WHERE w.instance_id = t.i(key) ORDER BY w.entered_revision DESC LIMIT 1
$$;
CREATE FUNCTION pg_temp.queue(name text) RETURNS TABLE (key text, state text, status text, attempt int, worker text, error text) LANGUAGE sql AS $$
    SELECT w.business_key, w.state, w.status, w.attempt, w.worker, w.error FROM workflow.machine_work w WHERE w.definition = name ORDER BY 1
$$;
SELECT version FROM wf_define('{"id": "job", "initial": "READY", "states": {
    "READY": {"meta": {"retry": {"base_ms": 60000}, "on_supersede": "stay"}, "on": {"DONE": "CHECK", "SKIP": {"target": "DONE", "meta": {"roles": ["boss"]}}, "AGAIN": "READY"}},
    "CHECK": {"meta": {"on_supersede": "stay"}, "on": {"OK": "DONE", "NOT": "READY", "DONE": "DONE"}},
    "DONE": {"type": "final"}}}');
SELECT t.see(o) FROM generate_series(1, 5) n, wf_start('job', 'job-' || n, jsonb_build_object('n', n)) o;
-- what a worker needs, in order
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
SELECT * FROM pg_temp.take('job', 'READY', 'DONE', 2);
SELECT count(*), count(DISTINCT w.fence) AS fences, bool_and(w.lease_key = 'workflow.work/' || w.instance_id) AS keys,
       bool_and(w.expires_at BETWEEN clock_timestamp() + '50 s' AND clock_timestamp() + '60 s') AS expiry
  FROM wf_work_take('job', 'READY', 'DONE', 'w', 7, 60000) w;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
SELECT * FROM pg_temp.queue('job');
SELECT l.holder, l.ttl_ms FROM workflow.held_leases l WHERE l.key = 'workflow.work/' || t.i('job-1');
-- finished once; the answer that got lost is told by finished_revision
SELECT t.see(o) FROM wf_work_finish(t.i('job-1'), pg_temp.fence('job-1'), 'DONE', '{"took": 3}', on_refusal => 'return') o;
SELECT lease_key = 'workflow.work/' || instance_id AS key, fence IS NOT NULL AS fence, payload FROM workflow.history WHERE instance_id = t.i('job-1') ORDER BY revision;
SELECT fence AS f FROM workflow.history WHERE instance_id = t.i('job-1') AND revision = 2 \gset
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('job-1'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_fail(%L, %s, 'x')$$, t.i('job-1'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_give_back(%L, %s)$$, t.i('job-1'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_extend(%L, %s, 1000)$$, t.i('job-1'), :f));
SELECT g.ended, g.renewals FROM workflow.lease_log g WHERE g.key = 'workflow.work/' || t.i('job-1');
-- another's fence, a state that has no such event, an event for others, none at all
SELECT pg_temp.fence('job-2') AS f \gset
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('job-2'), :f + 1000));
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'OK')$$, t.i('job-2'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'SKIP')$$, t.i('job-2'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'NONE')$$, t.i('job-2'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE', material_version => 0)$$, t.i('job-2'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE', material_version => 2)$$, t.i('job-2'), :f));
-- given back: as if it had not been taken, and the first in the queue again
SELECT t.see(o) FROM wf_work_give_back(t.i('job-2'), :f) o;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE', 9);
SELECT pg_temp.fence('job-2') > :f AS risen;
SELECT t.see(o), o.detail ->> 'attempt' AS attempt, (o.detail ->> 'expires_at')::timestamptz > clock_timestamp() + '50 min' AS prolonged
  FROM wf_work_extend(t.i('job-2'), pg_temp.fence('job-2'), 3600000) o;
-- failed: later, and with what it said
SELECT t.see(o), o.attempts, o.retry_after_ms BETWEEN 30000 AND 60000 AS half_to_all, o.detail - 'available_at' AS detail FROM wf_work_fail(t.i('job-2'), pg_temp.fence('job-2'), 'no paper') o;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
SELECT * FROM pg_temp.queue('job');
-- the material has changed since the take: WF002; given back, it is handed out with the new one
SELECT pg_temp.fence('job-3') AS f \gset
SELECT u.applied, u.material_version FROM wf_supersede_material(t.a('job-3'), 1, '{"n": 33}') u;
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('job-3'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE', material_version => 2)$$, t.i('job-3'), :f));
SELECT t.see(o) FROM wf_work_give_back(t.i('job-3'), :f) o;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
SELECT t.see(o) FROM wf_work_finish(t.i('job-3'), pg_temp.fence('job-3'), 'DONE', material_version => 2) o;
-- new material is a new chance at once
SELECT u.applied FROM wf_supersede_material(t.a('job-2'), 1, '{"n": 22}') u;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
-- the instance has moved on without the worker, also if it has come back to where it was: WF001, never another visit's step
SELECT pg_temp.fence('job-4') AS f \gset
SELECT t.see(o) FROM wf_send(t.i('job-4'), 'DONE') o;
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('job-4'), :f));
SELECT t.see(o) FROM wf_send(t.i('job-4'), 'NOT') o;
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('job-4'), :f));
-- its new work waits for the lease on the old; who has that says that it is over
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
SELECT w.entered_revision, w.worker, w.fence = :f AS fence FROM workflow.work_items w WHERE w.instance_id = t.i('job-4') ORDER BY 1;
SELECT t.see(o), o.detail FROM wf_work_fail(t.i('job-4'), :f, 'too late') o;
SELECT w.available_at - clock_timestamp() > '50 s' AS postponed FROM workflow.work_items w WHERE w.instance_id = t.i('job-4');
SELECT pg_temp.fence('job-5') AS f \gset
SELECT t.see(o) FROM wf_cancel(t.i('job-5'), 'enough', 1) o;
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('job-5'), :f));
SELECT t.see(o), o.detail FROM wf_work_give_back(t.i('job-5'), :f) o;
SELECT * FROM pg_temp.queue('job');
-- a step that enters the state again is other work
SELECT t.see(o) FROM wf_work_finish(t.i('job-2'), pg_temp.fence('job-2'), 'AGAIN') o;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE');
-- the lease key is the fence for other commands, too; leaving by one of them, nothing is left in the queue
SELECT 'workflow.work/' || t.i('job-2') AS k, pg_temp.fence('job-2') AS f \gset
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'READY', 'CHECK', 3, 2, event => 'DONE', lease_key => %L, fence => %s)$$, t.i('job-2'), :'k', :f - 1));
SELECT t.see(o) FROM wf_transition(t.i('job-2'), 'READY', 'CHECK', 3, 2, event => 'DONE', lease_key => :'k', fence => :f) o;
SELECT t.see(o), o.detail FROM wf_work_give_back(t.i('job-2'), :f) o;
SELECT t.refusal(format($$SELECT * FROM wf_lease_acquire(%L, 1000)$$, :'k'));
-- what is taken for nothing
SELECT t.refusal($$SELECT * FROM wf_work_take('none', 'READY', 'DONE', 'w')$$);
SELECT t.refusal($$SELECT * FROM wf_work_take('job', 'NONE', 'DONE', 'w')$$);
SELECT t.refusal($$SELECT * FROM wf_work_take('job', 'READY', 'NONE', 'w')$$);
SELECT t.refusal($$SELECT * FROM wf_work_take('job', 'READY', 'SKIP', 'w')$$);
SELECT count(*) FROM wf_work_take('job', 'READY', 'SKIP', 'w', on_refusal => 'return');
SELECT n, t.refusal(format($$SELECT * FROM wf_work_take('job', 'READY', 'DONE', 'w', %L)$$, n)) FROM unnest('{-1,0,1001}'::int[]) n;
SELECT n, t.refusal(format($$SELECT * FROM wf_work_take('job', 'READY', 'DONE', 'w', 1, %L)$$, n)) FROM unnest('{-1,0,2147483647}'::int[]) n;
SELECT t.refusal($$SELECT * FROM wf_work_take('job', 'READY', 'DONE', '')$$);
-- a state that says nothing of machines has work as well
SELECT version FROM wf_define(wf_export('lamp'), tenant => 'lamps');
SELECT t.see(o) FROM generate_series(1, 3) n, wf_start('lamp', 'lamp-job-' || n, '{}', tenant => 'lamps') o;
SELECT w.business_key FROM wf_work_take('lamp', 'OFF', 'PRESS', 'w', 2, tenant => 'lamps') w ORDER BY 1;
SELECT t.see(o) FROM wf_send(t.i('lamp-job-3', 'lamps'), 'PRESS', tenant => 'lamps') o;
SELECT w.business_key FROM wf_work_take('lamp', 'OFF', 'PRESS', 'w', 2, tenant => 'lamps') w;
SELECT t.see(o) FROM wf_send(t.i('lamp-job-3', 'lamps'), 'PRESS', tenant => 'lamps') o;
SELECT w.business_key, w.revision, w.attempt FROM wf_work_take('lamp', 'OFF', 'PRESS', 'w', 2, tenant => 'lamps') w;
-- another tenant's queue is another queue
SELECT count(*) FROM wf_work_take('job', 'READY', 'DONE', 'w', 10, tenant => 'lamps', on_refusal => 'return');
-- in bulk and back
SELECT t.see(o) FROM wf_start('job', 'job-6', '{}') o;
SELECT m.applied, m.state FROM wf_transition_many(jsonb_build_array(
    jsonb_build_object('instance', t.i('job-6'), 'from_state', 'READY', 'to_state', 'CHECK', 'event', 'DONE', 'expected_revision', 1, 'material_version', 1))) m;
SELECT count(*) AS left FROM workflow.work_items w WHERE w.instance_id = t.i('job-6');
SELECT m.applied, m.state FROM wf_transition_many(jsonb_build_array(
    jsonb_build_object('instance', t.i('job-6'), 'from_state', 'CHECK', 'to_state', 'READY', 'event', 'NOT', 'expected_revision', 2, 'material_version', 1))) m;
SELECT * FROM pg_temp.take('job', 'READY', 'DONE', 9);
-- nothing happens when it is undone
BEGIN;
SELECT t.see(o) FROM wf_work_finish(t.i('job-6'), pg_temp.fence('job-6'), 'DONE') o;
ROLLBACK;
SELECT (wf_explain(t.i('job-6')) -> 'work') - 'available_at' AS explained;
SELECT t.see(o) FROM wf_work_finish(t.i('job-6'), pg_temp.fence('job-6'), 'DONE') o;
SELECT * FROM wf_verify();
