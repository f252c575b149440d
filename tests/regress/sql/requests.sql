-- A command under a request key is carried out once: the same again gives the first answer with
-- replayed = true, also when the instance has long been closed (R1); another one is WF008 (R2).
SELECT t.see(o) FROM wf_start('lamp', 'requests', '{"v": 1}', request_id => 'requests-start', actor => 'ann') o;
SELECT t.see(o), o.instance_id = t.i('requests') AS same FROM wf_start('lamp', 'requests', '{"v": 1}', request_id => 'requests-start', actor => 'ann') o;
SELECT t.i('requests') AS i \gset
CREATE TEMP TABLE answer AS
SELECT 1 AS n, o.* FROM wf_transition(:'i', 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"b": 1, "a": 2}', request_id => 'requests-1', actor => 'ann') o;
INSERT INTO answer
SELECT 2, o.* FROM wf_transition(:'i', 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"a": 2, "b": 1}', request_id => 'requests-1', actor => 'ann') o;
SELECT t.see(o) FROM wf_send(:'i', 'BREAK', request_id => 'requests-2', actor => 'ann') o;
INSERT INTO answer
SELECT 3, o.* FROM wf_transition(:'i', 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"b": 1, "a": 2}', request_id => 'requests-1', actor => 'ann') o;
SELECT n, replayed, applied, state, revision, event, attempts FROM answer ORDER BY 1;
-- equal in everything but replayed
SELECT count(DISTINCT to_jsonb(a) - 'n' - 'replayed') AS answers FROM answer a;
SELECT t.see(o) FROM wf_send(:'i', 'BREAK', request_id => 'requests-2', actor => 'ann') o;
SELECT t.see(o) FROM wf_start('lamp', 'requests', '{"v": 1}', request_id => 'requests-start', actor => 'ann') o;
SELECT h.revision, h.request_id FROM workflow.history h WHERE h.instance_id = :'i' ORDER BY 1;
SELECT * FROM t.count('requests');
-- tasks that were opened are part of the answer
SELECT o.task_ids AS tasks FROM wf_start('review', 'requests', request_id => 'requests-review', actor => 'ann') o \gset
SELECT o.task_ids = :'tasks' AS same, cardinality(o.task_ids) AS tasks, o.replayed FROM wf_start('review', 'requests', request_id => 'requests-review', actor => 'ann') o;
-- new material, twice
SELECT u.applied, u.material_version, u.instances, u.tasks, u.replayed FROM wf_supersede_material(t.a('requests'), 1, '{"v": 2}', 'requests-3', actor => 'ann') u;
SELECT u.applied, u.material_version, u.instances, u.tasks, u.replayed FROM wf_supersede_material(t.a('requests'), 1, '{"v": 2}', 'requests-3', actor => 'ann') u;
SELECT count(*) AS materials FROM workflow.materials m WHERE m.application_id = t.a('requests');

-- R2: any other argument, function or actor under the key
SELECT t.world() AS before \gset
SELECT x.what, t.refusal(format($$SELECT wf_transition(%s, request_id => 'requests-1')$$, x.arguments)) FROM (VALUES
    (1, 'target', format($$%L, 'OFF', 'BROKEN', 1, 1, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (2, 'state', format($$%L, 'ON', 'ON', 1, 1, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (3, 'revision', format($$%L, 'OFF', 'ON', 2, 1, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (4, 'material', format($$%L, 'OFF', 'ON', 1, 2, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (5, 'event', format($$%L, 'OFF', 'ON', 1, 1, event => 'PRESS', comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (6, 'comment', format($$%L, 'OFF', 'ON', 1, 1, comment => 'C', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (7, 'no comment', format($$%L, 'OFF', 'ON', 1, 1, payload => '{"a": 2, "b": 1}', actor => 'ann'$$, :'i')),
    (8, 'payload', format($$%L, 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"a": 2, "b": 2}', actor => 'ann'$$, :'i')),
    (9, 'actor', format($$%L, 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'eve'$$, :'i')),
    (10, 'instance', format($$%L, 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann'$$, t.i('requests'))),
    (11, 'roles', format($$%L, 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"a": 2, "b": 1}', actor => 'ann', roles => '{x}'$$, :'i'))) x(n, what, arguments)
 ORDER BY n;
SELECT t.refusal(format($$SELECT wf_send(%L, 'PRESS', request_id => 'requests-1', actor => 'ann')$$, :'i'));
SELECT t.refusal($$SELECT wf_start('lamp', 'requests-other', '{}', request_id => 'requests-1', actor => 'ann')$$);
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 2, '{}', 'requests-1', actor => 'ann')$$, t.a('requests')));
-- the key comes before everything but the arguments: also of an instance that is not there
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OFF', 'ON', 1, 1, request_id => 'requests-1', actor => 'ann')$$, gen_random_uuid()));
SELECT t.world() = :'before' AS nothing_happened;
SELECT * FROM wf_verify();
