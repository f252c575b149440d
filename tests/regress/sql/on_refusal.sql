-- on_refusal => 'return' makes a refusal an answer: the outcome says what is there now, DETAIL is its
-- detail, one row of workflow.refusals keeps it as it stood at that moment (A13), nothing else is written.
SELECT t.see(o) FROM wf_start('review', 'return', '{"v": 1}', actor => 'ann') o;
SELECT t.i('return') AS i \gset
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1, actor => 'rob') o;
SELECT t.see(o), o.application_id = t.a('return') AS application, o.event, o.task_ids, o.replayed, o.attempts,
       o.retryable, o.retry_after_ms, t.told(o.detail)
  FROM wf_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'eve', on_refusal => 'return') o;
SELECT t.see(o) FROM wf_try_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'eve') o;
SELECT t.see(o) FROM wf_send(:'i', 'REJECT', expected_revision => 1, material_version => 1, actor => 'eve', on_refusal => 'return') o;
SELECT t.see(o), t.told(o.detail) FROM wf_try_transition(gen_random_uuid(), 'SUBMITTED', 'REJECTED', 1, 1, actor => 'eve') o;
SELECT u.applied, u.code, u.reason, u.material_version, u.instances, u.tasks, u.replayed, t.told(u.detail)
  FROM wf_supersede_material(t.a('return'), 2, '{}', on_refusal => 'return') u;
SELECT * FROM t.count('return');
-- what the call answered and what is kept are the same
SELECT o.detail AS answered FROM wf_try_transition(:'i', 'APPROVED', 'SIGNED', 1, 1, actor => 'eve') o \gset
SELECT count(*) FROM workflow.refusals f WHERE f.instance_id = :'i' AND f.detail = :'answered';
SELECT f.command, f.code, f.reason, f.actor, f.application_id = t.a('return') AS application, f.task_id, t.told(f.detail)
  FROM workflow.refusals f WHERE f.instance_id = :'i' ORDER BY f.id;

-- A13: the state changes; what is kept does not
SELECT t.see(o) FROM wf_transition(:'i', 'APPROVED', 'SIGNED', 2, 1, actor => 'ann') o;
SELECT DISTINCT f.code, f.detail #>> '{actual,state}' AS state, f.detail #>> '{actual,revision}' AS revision
  FROM workflow.refusals f WHERE f.instance_id = :'i';

-- in the caller's transaction: a rollback takes it along
BEGIN;
SELECT t.see(o) FROM wf_try_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'gone') o;
ROLLBACK;
SELECT count(*) FROM workflow.refusals f WHERE f.actor = 'gone';
-- a refusal that is raised is not kept, and one that is returned rolls nothing back
BEGIN;
SELECT t.see(o) FROM wf_start('lamp', 'return-2', '{}') o;
SELECT t.see(o) FROM wf_start('lamp', 'return-2', on_refusal => 'return') o;
COMMIT;
SELECT * FROM t.count('return-2');

-- errors that are no refusals are raised all the same
SELECT t.refusal(format($$SELECT wf_try_transition(%L, 'SUBMITTED', NULL, 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_try_transition(%L, 'SUBMITTED', 'REJECTED', 0, 1)$$, :'i')) LIKE '22023 %' AS refused;
SELECT w, t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 1, 1, on_refusal => %L)$$, :'i', w))
  FROM unnest('{Return,RAISE,"",ignore," return"}'::text[]) w;
SELECT t.refusal($$SELECT wf_start('lamp', 'return-3', '{}', on_refusal => 'ignore')$$);
SELECT t.a('return-3') IS NULL AS nothing_happened;
SELECT * FROM wf_verify();
