-- Attempts: delays that double up to a ceiling, leases that run out, and what becomes of work that was tried too often.
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
SELECT version FROM wf_define('{"id": "retry", "initial": "READY", "states": {
    "READY": {"meta": {"retry": {"max_attempts": 3, "base_ms": 200, "max_ms": 300, "exhausted": "BROKEN"}, "on_supersede": "stay"}, "on": {"DONE": "DONE"}},
    "BROKEN": {"meta": {"task": {"seats": [{"name": "mechanic"}]}, "on_supersede": "stay"}, "on": {"MENDED": "READY", "DROP": "DONE"}},
    "DONE": {"type": "final"}}}');
SELECT version FROM wf_define('{"id": "stuck", "initial": "READY", "states": {
    "READY": {"meta": {"retry": {"max_attempts": 1}, "on_supersede": "stay"}, "on": {"DONE": "DONE", "ANEW": "READY"}},
    "DONE": {"type": "final"}}}');
CREATE FUNCTION pg_temp.fail(key text, error text) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', t.see(o), 'attempt', o.attempts, CASE WHEN o.retry_after_ms IS NOT NULL THEN 'after ' ||
               CASE WHEN o.retry_after_ms BETWEEN 100 AND 200 THEN '100-200' ELSE o.retry_after_ms::text END END, o.detail -> 'exhausted')
      FROM wf_work_fail(t.i(key), pg_temp.fence(key), error) o
$$;
SELECT t.see(o) FROM wf_start('retry', 'retry', '{}') o;
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
SELECT pg_temp.fail('retry', 'first');
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
SELECT pg_sleep(0.21);
SELECT status, attempt, error FROM pg_temp.queue('retry');
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
-- giving back burns no attempt, and keeps what was said
SELECT t.see(o) FROM wf_work_give_back(t.i('retry'), pg_temp.fence('retry')) o;
SELECT status, attempt, error FROM pg_temp.queue('retry');
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
SELECT o.attempts, o.retry_after_ms BETWEEN 150 AND 300 AS under_the_ceiling FROM wf_work_fail(t.i('retry'), pg_temp.fence('retry'), 'second') o;
SELECT pg_sleep(0.31);
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
SELECT pg_temp.fail('retry', 'third');
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
SELECT r, step, from_state, to_state, event FROM t.history('retry');
SELECT seat, state, status FROM t.tasks('retry');
SELECT x.business_key, x.worked_in, x.state, x.attempts, x.error FROM workflow.exhausted_work x;
SELECT aggregatetype, type FROM workflow.outbox WHERE aggregateid = t.i('retry')::text ORDER BY revision;
-- mended: the attempts count anew
SELECT t.see(o) FROM wf_send(t.i('retry'), 'MENDED') o;
SELECT count(*) FROM workflow.exhausted_work;
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE');
SELECT t.see(o) FROM wf_work_finish(t.i('retry'), pg_temp.fence('retry'), 'DONE') o;
SELECT count(*) AS left FROM workflow.work_items w WHERE w.instance_id = t.i('retry');
-- a lease that ran out: the attempt counts, the fence rises, and the late worker is told
SELECT t.see(o) FROM wf_start('retry', 'late', '{}') o;
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE', 1, 20);
SELECT pg_temp.fence('late') AS f \gset
SELECT pg_sleep(0.03);
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('late'), :f));
SELECT t.refusal(format($$SELECT * FROM wf_work_extend(%L, %s, 1000)$$, t.i('late'), :f));
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE', 1, 20);
SELECT pg_temp.fence('late') > :f AS risen;
SELECT t.refusal(format($$SELECT * FROM wf_work_finish(%L, %s, 'DONE')$$, t.i('late'), :f));
SELECT g.ended FROM workflow.lease_log g WHERE g.key = 'workflow.work/' || t.i('late') ORDER BY g.fence;
-- time puts it back, and says how it ended; the third time it goes where exhausted work goes, whoever comes first
SELECT pg_sleep(0.03);
SELECT t.see(o) FROM wf_run_due() o;
SELECT status, attempt, error FROM pg_temp.queue('retry');
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE', 1, 20);
SELECT pg_sleep(0.03);
SELECT t.see(o), o.attempts, o.detail FROM wf_run_due() o;
SELECT r, step, from_state, to_state, actor FROM t.history('late');
SELECT t.see(o) FROM wf_run_due() o;
SELECT t.see(o) FROM wf_start('retry', 'poison', '{}') o;
SELECT attempt FROM pg_temp.take('retry', 'READY', 'DONE', 1, 1);
SELECT pg_sleep(0.01);
SELECT attempt FROM pg_temp.take('retry', 'READY', 'DONE', 1, 1);
SELECT pg_sleep(0.01);
SELECT attempt FROM pg_temp.take('retry', 'READY', 'DONE', 1, 1);
SELECT pg_sleep(0.01);
SELECT attempt FROM pg_temp.take('retry', 'READY', 'DONE', 1, 1);
SELECT pg_sleep(0.01);
SELECT attempt FROM pg_temp.take('retry', 'READY', 'DONE', 1, 1);
SELECT x.business_key, x.state, x.attempts, x.error FROM workflow.exhausted_work x ORDER BY 1;
-- without a state for it, it stays where it is, and nobody gets it; new material, or entering the state anew, is a new chance
SELECT t.see(o) FROM wf_start('stuck', 'stuck', '{}') o;
SELECT * FROM pg_temp.take('stuck', 'READY', 'DONE');
SELECT pg_temp.fail('stuck', 'enough');
SELECT * FROM pg_temp.take('stuck', 'READY', 'DONE');
SELECT * FROM pg_temp.queue('stuck');
SELECT x.worked_in, x.state, x.attempts, x.error FROM workflow.exhausted_work x WHERE x.business_key = 'stuck';
SELECT u.applied FROM wf_supersede_material(t.a('stuck'), 1, '{"n": 2}') u;
SELECT * FROM pg_temp.queue('stuck');
SELECT * FROM pg_temp.take('stuck', 'READY', 'DONE');
-- a failure with old material does not count
SELECT u.applied FROM wf_supersede_material(t.a('stuck'), 2, '{"n": 3}') u;
SELECT pg_temp.fail('stuck', 'old');
SELECT * FROM pg_temp.take('stuck', 'READY', 'DONE');
SELECT pg_temp.fail('stuck', 'new');
SELECT t.see(o) FROM wf_send(t.i('stuck'), 'ANEW') o;
SELECT * FROM pg_temp.take('stuck', 'READY', 'DONE');
SELECT t.see(o) FROM wf_work_finish(t.i('stuck'), pg_temp.fence('stuck'), 'DONE') o;
-- a trigger in the way of exhaustion keeps the others from nothing
CREATE FUNCTION t.no_exhaustion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.step = 'exhaust' THEN RAISE EXCEPTION 'not now'; END IF;
    RETURN NEW;
END $$;
SELECT t.see(o) FROM wf_start('retry', 'blocked', '{}') o;
UPDATE workflow.work_items SET attempt = 2, material_version = 1 WHERE instance_id = t.i('blocked');
SELECT attempt FROM pg_temp.take('retry', 'READY', 'DONE', 1, 1);
SELECT pg_sleep(0.01);
SELECT t.see(o) FROM wf_start('retry', 'behind', '{}') o;
CREATE TRIGGER no_exhaustion BEFORE INSERT ON workflow.history FOR EACH ROW EXECUTE FUNCTION t.no_exhaustion();
SELECT * FROM pg_temp.take('retry', 'READY', 'DONE', 5);
SELECT w.available_at > clock_timestamp() + '5 s' AS later FROM workflow.work_items w WHERE w.instance_id = t.i('blocked');
DROP TRIGGER no_exhaustion ON workflow.history;
SELECT t.see(o) FROM wf_run_due() o;
UPDATE workflow.work_items SET available_at = clock_timestamp() WHERE instance_id = t.i('blocked');
SELECT t.see(o) FROM wf_run_due() o;
SELECT t.see(o) FROM wf_work_finish(t.i('behind'), pg_temp.fence('behind'), 'DONE') o;
-- closed work is purged with its leases
SELECT version FROM wf_define(wf_export('retry'), tenant => 'work-purge');
SELECT t.see(o) FROM wf_start('retry', 'gone', '{}', tenant => 'work-purge') o;
SELECT w.attempt, w.instance_id AS i, w.fence AS f FROM wf_work_take('retry', 'READY', 'DONE', 'w', tenant => 'work-purge') w \gset
SELECT t.see(o) FROM wf_work_finish(:'i', :f, 'DONE', tenant => 'work-purge') o;
SET workflow.outbox_retention = 0;
SELECT count(*) FROM wf_run_due(tenant => 'work-purge');
RESET workflow.outbox_retention;
SELECT o.detail ->> 'instances' AS purged FROM wf_purge('0', tenant => 'work-purge') o;
SELECT (SELECT count(*) FROM workflow.leases l WHERE l.tenant_id = 'work-purge') AS leases, (SELECT count(*) FROM workflow.lease_log l WHERE l.tenant_id = 'work-purge') AS log;
SELECT severity, path, message FROM wf_validate('{"id": "wrong", "initial": "A", "states": {
    "A": {"meta": {"retry": {"max_attempts": 0, "base_ms": 10, "max_ms": 5, "exhausted": "NONE"}}, "on": {"GO": "B"}},
    "B": {"meta": {"retry": {"exhausted": "C", "max_ms": 2592000001}}, "on": {"GO": "C"}},
    "C": {"type": "final", "meta": {"retry": []}}}}') ORDER BY path;
SELECT * FROM wf_verify();
