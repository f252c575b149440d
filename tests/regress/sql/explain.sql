-- wf_explain: where an instance stands, who may act, who has spoken, the last step, and who has its lock.
SELECT t.panel('explain', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"], "veto": true}], "due": "P1D"}');
SELECT t.open_panel('explain', 'explain');
SELECT t.i('explain') AS i \gset
SELECT string_agg(k, ' ' ORDER BY k) AS keys FROM jsonb_object_keys(wf_explain(:'i')) k;
SELECT t.vote('explain', 'fin', 'APPROVE', 'ann', '{fin}');
SELECT o.applied FROM wf_task_delegate(t.task('explain', 'law'), 'leo', actor => 'lea', roles => '{law}') o;
SELECT t.see(o) FROM wf_try_transition(:'i', 'VOTE', 'APPROVED', 1, 1, actor => 'eve') o;
CREATE TEMP TABLE e AS SELECT wf_explain(:'i') AS e;
SELECT e - '{seats,last_step,refusals,instance_id,actions}'::text[] AS around, (e ->> 'instance_id')::uuid = :'i' AS instance_id FROM e;
SELECT s - '{task_id,due_at}'::text[] AS seat, s ? 'task_id' AND s ? 'due_at' AS more FROM e CROSS JOIN jsonb_array_elements(e -> 'seats') s;
SELECT e -> 'last_step' #- '{at}' AS last_step, e -> 'last_step' ? 'at' AS at FROM e;
SELECT r - 'at' AS refusal FROM e CROSS JOIN jsonb_array_elements(e -> 'refusals') r;
SELECT a AS action FROM e CROSS JOIN jsonb_array_elements(e -> 'actions') a;
-- the latest ten refusals, the newest first
SELECT count(t.see(o)) FROM generate_series(1, 12) n CROSS JOIN LATERAL wf_try_transition(t.i('explain'), 'VOTE', 'APPROVED', 1 + n, 1, actor => 'eve-' || n) o;
SELECT string_agg(r ->> 'actor', ' ' ORDER BY n) FROM jsonb_array_elements(wf_explain(:'i') -> 'refusals') WITH ORDINALITY x(r, n);
-- who holds the lock
SELECT wf_explain(:'i') -> 'lock_held_by' = '[]' AS free;
BEGIN;
SELECT o.applied FROM wf_lock(:'i') o;
SELECT wf_explain(:'i') -> 'lock_held_by' = jsonb_build_array(pg_backend_pid()) AS held_by_me, wf_explain(:'i') -> 'lock_awaited_by' AS awaited;
COMMIT;
SELECT wf_explain(:'i') -> 'lock_held_by' = '[]' AS free;
-- in a savepoint
BEGIN;
SAVEPOINT s;
SELECT o.applied FROM wf_lock(:'i') o;
SELECT wf_explain(:'i') -> 'lock_held_by' = jsonb_build_array(pg_backend_pid()) AS held_by_me;
ROLLBACK TO s;
SELECT wf_explain(:'i') -> 'lock_held_by' = '[]' AS free;
COMMIT;
-- rolled back
BEGIN;
SELECT o.applied FROM wf_lock(:'i') o;
ROLLBACK;
SELECT wf_explain(:'i') -> 'lock_held_by' = '[]' AS free;
-- ended; without seats
SELECT t.vote('explain', 'law', 'REJECT', 'leo');
SELECT e -> 'closed' AS closed, e -> 'actions' AS actions, e -> 'seats' AS seats, e #> '{last_step,event}' AS event, e #> '{last_step,on_behalf_of}' AS behalf FROM wf_explain(:'i') e;
SELECT o.applied FROM wf_start('lamp', 'explain-lamp', '{}', actor => 'sue') o;
SELECT e -> 'seats' AS seats, e -> 'actions' AS actions FROM wf_explain(t.i('explain-lamp')) e;
-- of the caller's tenant only; locks and writes nothing
SELECT t.refusal(format($$SELECT wf_explain(%L, tenant => 'explain-2')$$, :'i'));
SELECT t.refusal($$SELECT wf_explain(gen_random_uuid())$$);
SELECT t.refusal($$SELECT wf_explain(NULL)$$);
SELECT t.world() AS before \gset
BEGIN READ ONLY;
SELECT wf_explain(:'i') ->> 'state' AS state;
COMMIT;
SELECT t.world() = :'before' AS nothing_happened;
SELECT * FROM wf_verify();
