-- Whole closed instances go, and with its last instance an application; request keys stay, so that a command that comes again is answered.
-- Alone in a tenant of its own, so that nothing else is touched.
SELECT * FROM wf_define(wf_export('lamp'), tenant => 'purge');
SELECT * FROM wf_define(wf_export('review'), tenant => 'purge');
CREATE FUNCTION pg_temp.left() RETURNS TABLE (apps bigint, materials bigint, instances bigint, history bigint, tasks bigint, log bigint, refusals bigint, requests bigint) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM workflow.applications x WHERE x.tenant_id = 'purge'), (SELECT count(*) FROM workflow.materials x WHERE x.tenant_id = 'purge'),
           (SELECT count(*) FROM workflow.instances x WHERE x.tenant_id = 'purge'), (SELECT count(*) FROM workflow.history x WHERE x.tenant_id = 'purge'),
           (SELECT count(*) FROM workflow.tasks x WHERE x.tenant_id = 'purge'), (SELECT count(*) FROM workflow.task_log x WHERE x.tenant_id = 'purge'),
           (SELECT count(*) FROM workflow.refusals x WHERE x.tenant_id = 'purge'), (SELECT count(*) FROM workflow.requests x WHERE x.tenant_id = 'purge')
$$;
CREATE FUNCTION pg_temp.purge(before interval, n int DEFAULT 1000) RETURNS text LANGUAGE sql AS $$
    SELECT (o.detail - 'more')::text || CASE WHEN (o.detail ->> 'more')::boolean THEN ' and more' ELSE '' END FROM wf_purge(before, n, tenant => 'purge') o
$$;
SELECT o.instance_id AS done FROM wf_start('review', 'done', '{"n": 1}', tenant => 'purge') o \gset
SELECT t.see(o) FROM wf_supersede_material(t.a('done', 'purge'), 1, '{"n": 2}', tenant => 'purge') s, wf_get(:'done', tenant => 'purge') g, wf_task_claim(t.task('done', tenant => 'purge'), tenant => 'purge') o;
SELECT t.see(o) FROM wf_transition(:'done', 'SUBMITTED', 'REJECTED', 2, 2, request_id => 'last', tenant => 'purge') o;
SELECT t.see(o) FROM wf_try_transition(:'done', 'SUBMITTED', 'REJECTED', 2, 2, tenant => 'purge') o;
SELECT t.see(o) FROM wf_start('review', 'open', '{}', tenant => 'purge') o;
-- an application with an open run keeps its material; only the closed run goes
SELECT t.see(o) FROM wf_start('lamp', 'both', '{}', tenant => 'purge') o;
SELECT t.see(o) FROM wf_send(t.i('both', 'purge'), 'BREAK', tenant => 'purge') o;
SELECT t.see(o) FROM wf_start('review', 'both', tenant => 'purge') o;
SELECT t.see(o) FROM wf_try_transition(gen_random_uuid(), 'A', 'B', 1, 1, tenant => 'purge') o;
SELECT * FROM pg_temp.left();
-- too young; events still to be delivered
SELECT pg_temp.purge('1 day');
SELECT pg_temp.purge('0');
SELECT * FROM pg_temp.left();
SET workflow.outbox_retention = 0;
SELECT count(*) FROM wf_run_due(tenant => 'purge');
RESET workflow.outbox_retention;
-- in bounded batches
SELECT pg_temp.purge('0', 1);
SELECT pg_temp.purge('0', 1);
SELECT pg_temp.purge('0', 1);
SELECT * FROM pg_temp.left();
-- what is gone is as absent as what never was
SELECT t.refusal(format($$SELECT wf_get(%L, tenant => 'purge')$$, :'done'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 2, 2, tenant => 'purge')$$, :'done'));
-- but its request key is answered as ever
SELECT t.see(o) FROM wf_transition(:'done', 'SUBMITTED', 'REJECTED', 2, 2, request_id => 'last', tenant => 'purge') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 2, 2, request_id => 'last', tenant => 'purge')$$, :'done'));
-- until its time is over
SET workflow.request_retention = 0;
SELECT pg_temp.purge('0');
RESET workflow.request_retention;
SHOW workflow.request_retention;
SELECT * FROM pg_temp.left();
-- the business key is free
SELECT t.see(o) FROM wf_start('review', 'done', '{}', tenant => 'purge') o;
-- the guard lets nobody else through, not the owner, and not a trigger while wf_purge is at work
SELECT t.see(o) FROM wf_cancel(t.i('done', 'purge'), 'for the guard', 1, tenant => 'purge') o;
SET workflow.outbox_retention = 0;
SELECT count(*) FROM wf_run_due(tenant => 'purge');
RESET workflow.outbox_retention;
SELECT t.refusal('DELETE FROM workflow.history'), t.refusal('UPDATE workflow.history SET actor = actor'), t.refusal('TRUNCATE workflow.history'), t.refusal('DELETE FROM workflow.materials');
CREATE FUNCTION t.purge_more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM workflow.history; RETURN OLD; END $$;
CREATE TRIGGER purge_more BEFORE DELETE ON workflow.history FOR EACH ROW EXECUTE FUNCTION t.purge_more();
SELECT t.refusal($$SELECT wf_purge('0', tenant => 'purge')$$);
DROP TRIGGER purge_more ON workflow.history;
CREATE TRIGGER purge_more BEFORE DELETE ON workflow.tasks FOR EACH ROW EXECUTE FUNCTION t.purge_more();
SELECT t.refusal($$SELECT wf_purge('0', tenant => 'purge')$$);
DROP TRIGGER purge_more ON workflow.tasks;
CREATE FUNCTION t.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER keep BEFORE DELETE ON workflow.instances FOR EACH ROW EXECUTE FUNCTION t.keep();
SELECT t.refusal($$SELECT wf_purge('0', tenant => 'purge')$$);
DROP TRIGGER keep ON workflow.instances;
DROP FUNCTION t.purge_more(), t.keep();
SELECT t.refusal('DELETE FROM workflow.history');
-- by the procedure, batch after batch
CALL wf_purge_all('0', limit_rows => 1, tenant => 'purge');
SELECT * FROM pg_temp.left();
SELECT t.refusal($$SELECT wf_purge('-1 second')$$), t.refusal($$SELECT wf_purge('1 day', 0)$$), t.refusal($$SELECT wf_purge('1 day', 10001)$$);
SELECT t.refusal($$CALL wf_purge_all('0', tenant => 'purge')$$) AS inside_a_transaction;
SELECT * FROM wf_verify();
