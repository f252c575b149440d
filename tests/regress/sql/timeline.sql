-- The timeline: steps, votes and changes of hands in words, with who did it and for whom; refusals only
-- one's own, unless one may read them all.
CREATE ROLE regress_ann LOGIN;
CREATE ROLE regress_bob LOGIN;
CREATE ROLE regress_otto LOGIN;
SELECT wf_grant('regress_ann', 'participant'), wf_grant('regress_bob', 'reader'), wf_grant('regress_otto', 'operator');
GRANT USAGE ON SCHEMA t TO regress_ann, regress_bob, regress_otto;
SELECT * FROM wf_define('{"id": "told", "initial": "DRAFT", "states": {
    "DRAFT": {"meta": {"on_supersede": "stay"}, "on": {"SUBMIT": "VOTE"}},
    "VOTE": {"meta": {"on_supersede": "DRAFT", "task": {"seats": [{"name": "fin", "roles": []}, {"name": "law", "roles": []}]}},
        "on": {"OK": {"target": "CHECK", "meta": {"decision": "approve"}}, "NO": {"target": "DRAFT", "meta": {"decision": "reject"}}}},
    "CHECK": {"meta": {"on_supersede": "DRAFT"}, "always": "DONE"},
    "DONE": {"type": "final"}}}');
SELECT t.open_panel('told', 'told');
SELECT o.revision FROM wf_send(t.i('told'), 'SUBMIT', actor => 'sue') o;
SELECT u.applied FROM wf_supersede_material(t.a('told'), 1, '{"v": 2}', actor => 'sue') u;
SELECT u.applied FROM wf_supersede_material(t.a('told'), 2, '{"v": 3}', actor => 'ada') u;
SELECT o.revision FROM wf_send(t.i('told'), 'SUBMIT', actor => 'sue', request_id => 'told') o;
SELECT o.applied FROM wf_task_claim(t.task('told', 'fin'), actor => 'fay') o;
SELECT o.applied FROM wf_task_release(t.task('told', 'fin'), actor => 'fay') o;
SELECT o.applied FROM wf_task_assign(t.task('told', 'fin'), 'flo', actor => 'otto') o;
SELECT o.applied FROM wf_task_transfer(t.task('told', 'fin'), 'fay', actor => 'flo') o;
SELECT o.applied FROM wf_task_delegate(t.task('told', 'fin'), 'flo', actor => 'fay') o;
SELECT t.see(o) FROM wf_decide(t.task('told', 'fin'), 'OK', 5, 3, on_refusal => 'return', actor => 'regress_ann') o;
SELECT t.see(o) FROM wf_decide(t.task('told', 'fin'), 'OK', 5, 3, 'in budget', actor => 'flo') o;
SELECT t.see(o) FROM wf_decide(t.task('told', 'law'), 'OK', 4, 3, on_refusal => 'return', actor => 'lea') o;
SELECT t.see(o) FROM wf_decide(t.task('told', 'law'), 'OK', 5, 3, 'agreed', actor => 'lea') o;
SELECT kind, r, work, actor, what, comment FROM t.timeline('told');
SELECT kind, actor, behalf FROM t.timeline('told') WHERE kind = 'vote';
SELECT l.material_version, l.round, l.request_id, l.task_id = t.task('told', 'law') AS law FROM workflow.timeline l WHERE l.instance_id = t.i('told') ORDER BY l.at, l.revision, l.work;
-- everything that bumped revision or work is in it, once
SELECT (SELECT count(*) FROM workflow.history h WHERE h.instance_id = i) + (SELECT count(*) FROM workflow.task_log l WHERE l.instance_id = i) = (SELECT count(*) FROM workflow.timeline l WHERE l.instance_id = i AND l.kind <> 'refusal') AS complete FROM t.i('told') i;
-- one's own refusals: one, none; all of them
SELECT t.i('told') AS i \gset
SET SESSION AUTHORIZATION regress_ann;
SELECT l.kind, l.actor, l.what FROM workflow.timeline l WHERE l.instance_id = :'i' AND l.kind = 'refusal';
SELECT count(*) FROM workflow.timeline l WHERE l.instance_id = :'i' AND l.kind <> 'refusal';
SELECT r ->> 'actor' AS actor, r ->> 'code' AS code FROM jsonb_array_elements(wf_explain(:'i') -> 'refusals') r;
SET SESSION AUTHORIZATION regress_bob;
SELECT count(*) FROM workflow.timeline l WHERE l.instance_id = :'i' AND l.kind = 'refusal';
SELECT wf_explain(:'i') -> 'refusals' AS refusals;
SELECT count(*) > 0 AS worklist FROM workflow.worklist w;
SET SESSION AUTHORIZATION regress_otto;
SELECT l.actor, l.what FROM workflow.timeline l WHERE l.instance_id = :'i' AND l.kind = 'refusal' ORDER BY l.at;
SELECT r ->> 'actor' AS actor, r ->> 'code' AS code FROM jsonb_array_elements(wf_explain(:'i') -> 'refusals') r;
RESET SESSION AUTHORIZATION;
-- nobody can say that they are somebody else, nor look into another tenant
SET SESSION AUTHORIZATION regress_bob;
SET workflow.actor = 'regress_ann';
SET workflow.tenant = 'told-2';
SELECT count(*) FROM workflow.timeline l WHERE l.instance_id = :'i' AND l.kind = 'refusal';
SELECT workflow.current_actor(), workflow.current_tenant();
RESET workflow.actor;
RESET workflow.tenant;
RESET SESSION AUTHORIZATION;
BEGIN;
SELECT w.tenant FROM wf_as('told-2', 'sue') w;
SELECT count(*) FROM workflow.timeline;
SELECT count(*) FROM workflow.worklist;
SELECT count(*) FROM workflow.worklist_counts;
COMMIT;
-- a leaky function in the query sees no row of another tenant first
CREATE FUNCTION pg_temp.leak(x uuid) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'seen'; RETURN true; END $$;
BEGIN;
SELECT w.tenant FROM wf_as('told-2', 'sue') w;
SELECT count(*) FROM workflow.timeline l WHERE pg_temp.leak(l.instance_id);
SELECT count(*) FROM workflow.worklist l WHERE pg_temp.leak(l.instance_id);
COMMIT;
DROP OWNED BY regress_ann, regress_bob, regress_otto;
DROP ROLE regress_ann, regress_bob, regress_otto;
SELECT * FROM wf_verify();
