-- Who decided in one state may not decide in another that says not_same_as, in whatever round and about
-- whatever material the earlier verdict was; and only an operator's override, a step of its own, goes past it.
SELECT d.version FROM wf_define('{
  "id": "duties", "initial": "DRAFT",
  "states": {
    "DRAFT": {"on": {"SUBMIT": "REVIEW"}},
    "REVIEW": {"meta": {"task": {"seats": [{"name": "reviewer"}]}, "on_supersede": "stay"},
      "on": {"PASS": {"target": "APPROVAL", "meta": {"decision": "approve"}},
             "NOTE": "REVIEW",
             "DROP": {"target": "REFUSED", "meta": {"decision": "reject"}}}},
    "APPROVAL": {"meta": {"task": {"seats": [{"name": "boss"}], "not_same_as": ["REVIEW"], "self_approval": false}, "on_supersede": "REVIEW"},
      "on": {"APPROVE": {"target": "PAID", "meta": {"decision": "approve"}},
             "RETURN": {"target": "REVIEW", "meta": {"decision": "return"}},
             "NOTE": "APPROVAL"}},
    "PAID": {"type": "final"}, "REFUSED": {"type": "final"}}}') d;
-- Brings one to APPROVAL, reviewed by ann.
CREATE FUNCTION pg_temp.reviewed(key text, by text DEFAULT 'ann') RETURNS text LANGUAGE sql AS $$
    SELECT wf_start('duties', key, '{"amount": 1}', actor => 'sue');
    SELECT wf_send(t.i(key), 'SUBMIT', actor => 'sue');
    SELECT t.vote(key, 'reviewer', 'PASS', by)
$$;

-- By each command that takes the edge, and by each that leads up to it.
SELECT pg_temp.reviewed('sod');
SELECT t.vote('sod', 'boss', 'APPROVE', 'ann');
SELECT t.refusal(format('SELECT wf_transition(%L, ''APPROVAL'', ''PAID'', 3, 1, actor => ''ann'')', t.i('sod')));
SELECT t.refusal(format('SELECT wf_send(%L, ''APPROVE'', expected_revision => 3, material_version => 1, actor => ''ann'')', t.i('sod')));
SELECT t.see(o) FROM wf_try_transition(t.i('sod'), 'APPROVAL', 'PAID', 3, 1, actor => 'Ann ') o;
SELECT t.see(o) FROM wf_check(t.i('sod'), 'APPROVAL', 'PAID', 3, 1, actor => 'ann') o;
SELECT a ->> 'event' AS event, a ->> 'blocker' AS blocker FROM wf_get(t.i('sod'), actor => 'ann') g, jsonb_array_elements(g.actions) a ORDER BY 1;
SELECT a ->> 'event' AS event, a ->> 'blocker' AS blocker FROM wf_get(t.i('sod'), actor => 'bob') g, jsonb_array_elements(g.actions) a ORDER BY 1;
SELECT t.see(o) FROM wf_task_claim(t.task('sod', 'boss'), on_refusal => 'return', actor => 'ann') o;
SELECT t.see(o) FROM wf_task_delegate(t.task('sod', 'boss'), 'bob', on_refusal => 'return', actor => 'ann') o;
SELECT t.see(o) FROM wf_task_transfer(t.task('sod', 'boss'), 'bob', on_refusal => 'return', actor => 'ann') o;
-- Assigned, delegated or transferred to her.
SELECT o.applied FROM wf_task_assign(t.task('sod', 'boss'), 'ann', actor => 'otto') o;
SELECT t.vote('sod', 'boss', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_task_delegate(t.task('sod', 'boss'), 'bob', on_refusal => 'return', actor => 'ann') o;
SELECT t.see(o) FROM wf_task_release(t.task('sod', 'boss'), actor => 'ann') o;
SELECT o.applied FROM wf_task_claim(t.task('sod', 'boss'), actor => 'bob') o;
SELECT o.applied FROM wf_task_delegate(t.task('sod', 'boss'), 'ann', actor => 'bob') o;
SELECT t.vote('sod', 'boss', 'APPROVE', 'ann');
SELECT o.applied FROM wf_task_release(t.task('sod', 'boss'), actor => 'ann') o;
SELECT o.applied FROM wf_task_transfer(t.task('sod', 'boss'), 'ann', actor => 'bob') o;
SELECT t.vote('sod', 'boss', 'APPROVE', 'ann');
-- The submitter is kept out as well; a third person decides.
SELECT o.applied FROM wf_task_assign(t.task('sod', 'boss'), 'bob', actor => 'otto') o;
SELECT t.see(o) FROM wf_task_delegate(t.task('sod', 'boss'), 'sue', actor => 'bob') o;
SELECT t.vote('sod', 'boss', 'APPROVE', 'sue');
SELECT o.applied FROM wf_task_release(t.task('sod', 'boss'), actor => 'sue') o;
SELECT t.vote('sod', 'boss', 'APPROVE', 'bob');

-- A review for somebody else counts for both of them.
SELECT wf_start('duties', 'behalf', '{}', actor => 'sue'), wf_send(t.i('behalf'), 'SUBMIT', actor => 'sue') \gset ignored
SELECT o.applied FROM wf_task_delegate(t.task('behalf'), 'bob', actor => 'ann') o;
SELECT t.vote('behalf', 'reviewer', 'PASS', 'bob');
SELECT t.vote('behalf', 'boss', 'APPROVE', 'ann');
SELECT t.vote('behalf', 'boss', 'APPROVE', 'bob');
SELECT t.vote('behalf', 'boss', 'APPROVE', 'cyd');

-- Another round and another reviewer do not give the right back; nor does new material.
SELECT pg_temp.reviewed('duty-rounds');
SELECT t.vote('duty-rounds', 'boss', 'RETURN', 'bob');
SELECT t.vote('duty-rounds', 'reviewer', 'PASS', 'cyd');
SELECT t.vote('duty-rounds', 'boss', 'APPROVE', 'ann');
SELECT t.vote('duty-rounds', 'boss', 'APPROVE', 'cyd');
SELECT o.material_version FROM wf_supersede_material(t.a('duty-rounds'), 1, '{"amount": 2}', actor => 'sue') o;
SELECT t.vote('duty-rounds', 'reviewer', 'PASS', 'dan');
SELECT t.vote('duty-rounds', 'boss', 'APPROVE', 'ann');
-- Who sent it back has decided in APPROVAL, and may do so again.
SELECT t.vote('duty-rounds', 'boss', 'APPROVE', 'bob');

-- A note is no decision; a review that was rolled back is none; a vote that others completed is one.
SELECT wf_start('duties', 'notes', '{}', actor => 'sue'), wf_send(t.i('notes'), 'SUBMIT', actor => 'sue') \gset ignored
SELECT o.applied FROM wf_send(t.i('notes'), 'NOTE', actor => 'ann') o;
BEGIN;
SAVEPOINT s;
SELECT t.vote('notes', 'reviewer', 'PASS', 'ann');
SELECT t.vote('notes', 'boss', 'APPROVE', 'ann');
ROLLBACK TO s;
SELECT t.vote('notes', 'reviewer', 'PASS', 'bob');
SELECT t.vote('notes', 'boss', 'APPROVE', 'bob');
SELECT t.vote('notes', 'boss', 'APPROVE', 'ann');
COMMIT;
SELECT d.version FROM wf_define(jsonb_set(jsonb_set(wf_export('duties'), '{id}', '"duties-panel"'), '{states,REVIEW,meta,task}',
    '{"seats": [{"name": "fin"}, {"name": "law"}, {"name": "tec"}], "rule": {"approve": 2}}')) d;
SELECT wf_start('duties-panel', 'panel-duty', '{}', actor => 'sue'), wf_send(t.i('panel-duty'), 'SUBMIT', actor => 'sue') \gset ignored
SELECT t.vote('panel-duty', 'fin', 'DROP', 'ann');
SELECT t.vote('panel-duty', 'law', 'PASS', 'bob');
SELECT t.vote('panel-duty', 'tec', 'PASS', 'cyd');
SELECT t.vote('panel-duty', 'boss', 'APPROVE', 'ann');
SELECT t.vote('panel-duty', 'boss', 'APPROVE', 'bob');
SELECT t.vote('panel-duty', 'boss', 'APPROVE', 'dan');

-- In one call for both steps, where the first is not written when the second is decided.
SELECT wf_start('duties', 'both', '{}', actor => 'sue'), wf_send(t.i('both'), 'SUBMIT', actor => 'sue') \gset ignored
SELECT o.applied, o.code, o.reason, o.state FROM wf_transition_many(jsonb_build_array(
    jsonb_build_object('instance', t.i('both'), 'from_state', 'REVIEW', 'to_state', 'APPROVAL', 'expected_revision', 2, 'material_version', 1),
    jsonb_build_object('instance', t.i('both'), 'from_state', 'APPROVAL', 'to_state', 'PAID', 'expected_revision', 3, 'material_version', 1)), actor => 'ann') o;
SELECT o.applied, o.code, o.reason FROM wf_transition_many(jsonb_build_array(
    jsonb_build_object('instance', t.i('both'), 'from_state', 'APPROVAL', 'to_state', 'PAID', 'expected_revision', 3, 'material_version', 1)), actor => 'ann') o;
SELECT o.applied, o.state FROM wf_transition_many(jsonb_build_array(
    jsonb_build_object('instance', t.i('both'), 'from_state', 'APPROVAL', 'to_state', 'PAID', 'expected_revision', 3, 'material_version', 1)), actor => 'bob') o;

-- The override: by an operator, with a reason, about what the operator saw; audited as what it is.
SELECT pg_temp.reviewed('over');
SELECT o.applied FROM wf_task_claim(t.task('over', 'boss'), actor => 'bob') o;
SELECT t.refusal(format('SELECT wf_override(%L, ''APPROVE'', '' '', 3, 1)', t.i('over')));
SELECT t.refusal(format('SELECT wf_override(%L, ''APPROVE'', ''bob is ill'', 2, 1, actor => ''otto'')', t.i('over')));
SELECT t.refusal(format('SELECT wf_override(%L, ''APPROVE'', ''bob is ill'', 3, 2, actor => ''otto'')', t.i('over')));
SELECT t.refusal(format('SELECT wf_override(%L, ''PASS'', ''bob is ill'', 3, 1, actor => ''otto'')', t.i('over')));
SELECT t.refusal(format('SELECT wf_override(%L, ''FLY'', ''bob is ill'', 3, 1, actor => ''otto'')', t.i('over')));
SELECT t.refusal($$SELECT wf_override('00000000-0000-7000-8000-000000000000', 'APPROVE', 'bob is ill', 3, 1, actor => 'otto')$$);
SELECT t.see(o) FROM wf_override(t.i('over'), 'APPROVE', 'bob is ill', 3, 1, request_id => 'over', actor => 'otto') o;
SELECT t.see(o) FROM wf_override(t.i('over'), 'APPROVE', 'bob is ill', 3, 1, request_id => 'over', actor => 'otto') o;
SELECT t.refusal(format('SELECT wf_override(%L, ''APPROVE'', ''once more'', 4, 1, actor => ''otto'')', t.i('over')));
SELECT * FROM t.history('over');
SELECT seat, status, closed, decision, by, reason FROM t.seats('over');
SELECT kind, r, actor, what, comment FROM t.timeline('over');
SELECT o.type, o.payload ->> 'step' AS step, o.payload ->> 'actor' AS actor FROM workflow.outbox o WHERE o.aggregateid = t.i('over')::text ORDER BY o.revision DESC LIMIT 1;
-- Whoever has decided by an override has decided there.
SELECT wf_start('duties', 'over-2', '{}', actor => 'sue'), wf_send(t.i('over-2'), 'SUBMIT', actor => 'sue') \gset ignored
SELECT o.state FROM wf_override(t.i('over-2'), 'PASS', 'nobody there', 2, 1, actor => 'otto') o;
SELECT t.vote('over-2', 'boss', 'APPROVE', 'otto');
SELECT t.vote('over-2', 'boss', 'APPROVE', 'ann');
SELECT * FROM wf_verify();

-- wf_verify() knows a verdict that should not be there.
BEGIN;
SET LOCAL session_replication_role = replica;
UPDATE workflow.history SET actor = 'ann' WHERE instance_id = t.i('sod') AND event = 'APPROVE';
SELECT invariant, check_name, detail FROM wf_verify(t.i('sod')) v(invariant, check_name, tenant, instance, detail);
ROLLBACK;
