-- New material outdates every page about the old: each open instance takes it at a revision of its
-- own, its task is replaced, and an approval of v1 is never carried to v2.
SELECT t.see(o) FROM wf_start('review', 'supersede', '{"v": 1}', actor => 'ann') o;
-- stay (the default): same state, same round, a new task
SELECT u.applied, u.code, u.application_id = t.a('supersede') AS application, u.material_version, u.instances,
       u.tasks, u.replayed, u.attempts, u.retryable, u.detail
  FROM wf_supersede_material(t.a('supersede'), 1, '{"v": 2}', actor => 'bob') u;
SELECT * FROM t.tasks('supersede');
SELECT m.version, m.content, m.author FROM workflow.materials m WHERE m.application_id = t.a('supersede') ORDER BY 1;

-- A14: approved, not final, goes back: one administrative step, a new round, a new task
SELECT t.see(o) FROM wf_transition(t.i('supersede'), 'SUBMITTED', 'APPROVED', 2, 2, actor => 'rob') o;
SELECT u.applied, u.material_version, u.instances, u.tasks FROM wf_supersede_material(t.a('supersede'), 2, '{"v": 3}', actor => 'ann') u;
SELECT i.state, i.revision, i.round, i.material_version, i.closed FROM workflow.instances i WHERE i.id = t.i('supersede');
SELECT * FROM t.history('supersede');
SELECT * FROM t.tasks('supersede');
SELECT o.revision, o.type FROM workflow.outbox o WHERE o.aggregateid = t.i('supersede')::text ORDER BY 1;
-- the other order: the decision about v2 comes too late
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 2, 2, actor => 'rob')$$, t.i('supersede')));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 3, 2, actor => 'rob')$$, t.i('supersede')));
SELECT t.see(o) FROM wf_transition(t.i('supersede'), 'SUBMITTED', 'APPROVED', 4, 3, actor => 'rob') o;

-- refused: stale, unknown, absent; nothing happens
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 2, '{"v": 9}')$$, t.a('supersede')));
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 4, '{"v": 9}')$$, t.a('supersede')));
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 0, '{"v": 9}')$$, t.a('supersede'))) LIKE '22023 %' AS zero;
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, -1, '{"v": 9}')$$, t.a('supersede'))) LIKE '22023 %' AS negative;
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 2147483647, '{"v": 9}')$$, t.a('supersede')));
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 1, '{"v": 9}')$$, gen_random_uuid()));
SELECT t.world() = :'before' AS nothing_happened;

-- a state that takes none refuses for all instances of the application (WF020)
SELECT * FROM wf_define('{"id": "supersede-frozen", "initial": "DRAFT", "states": {
    "DRAFT": {"on": {"SEND": "SENT"}},
    "SENT": {"meta": {"on_supersede": "refuse"}, "on": {"RECALL": "DRAFT", "PAY": "PAID"}}, "PAID": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('review', 'supersede-2', '{"v": 1}') o;
SELECT t.see(o), o.instance_id AS frozen FROM wf_start('supersede-frozen', 'supersede-2') o \gset
SELECT t.see(o) FROM wf_send(:'frozen', 'SEND') o;
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 1, '{"v": 2}')$$, t.a('supersede-2')));
SELECT t.world() = :'before' AS nothing_happened;
SELECT u.applied, u.code, u.reason, u.application_id = t.a('supersede-2') AS application, u.material_version
  FROM wf_supersede_material(t.a('supersede-2'), 1, '{"v": 2}', on_refusal => 'return') u;
SELECT t.see(o) FROM wf_send(:'frozen', 'RECALL') o;
-- both open instances take it, and only the open ones
SELECT u.applied, u.material_version, u.instances, u.tasks FROM wf_supersede_material(t.a('supersede-2'), 1, '{"v": 2}') u;
SELECT i.definition, i.state, i.revision, i.round, i.material_version
  FROM workflow.instances i WHERE i.application_id = t.a('supersede-2') ORDER BY 1;
SELECT t.see(o) FROM wf_send(:'frozen', 'SEND') o;
SELECT t.see(o) FROM wf_send(:'frozen', 'PAY') o;
-- a closed instance stays with what was decided
SELECT u.applied, u.material_version, u.instances, u.tasks FROM wf_supersede_material(t.a('supersede-2'), 2, '{"v": 3}') u;
SELECT i.definition, i.state, i.revision, i.material_version
  FROM workflow.instances i WHERE i.application_id = t.a('supersede-2') ORDER BY 1;

-- equal material that is put in force is a version all the same: the caller said so
SELECT u.applied, u.material_version FROM wf_supersede_material(t.a('supersede-2'), 3, '{"v": 3}') u;
SELECT * FROM wf_verify();
