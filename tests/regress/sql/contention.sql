-- workflow.contention: what is counted, for whom, and which mode is in force.
SELECT * FROM wf_define('{"id": "counted", "initial": "A", "states": {"A": {"on": {"GO": "A", "END": "B"}}, "B": {"type": "final"}}}');
SELECT * FROM wf_define('{"id": "queued", "initial": "A", "meta": {"lock_mode": "pessimistic"}, "states": {"A": {"on": {"GO": "A", "END": "B"}}, "B": {"type": "final"}}}');
SELECT o.applied FROM wf_start('counted', 'counted', '{}') o;
SELECT o.applied FROM wf_start('queued', 'queued', '{}') o;
-- what nobody contends is not counted
SELECT o.applied, o.attempts FROM wf_send(t.i('counted'), 'GO') o;
SELECT count(*) FROM workflow.contention WHERE instance_id = t.i('counted');
-- a revision that moved some time ago: an old page, however often, and no race
SELECT pg_sleep(0.15);
SELECT count(*) FROM generate_series(1, 50) n, wf_send(t.i('counted'), 'GO', to_jsonb(n), 1, on_refusal => 'return') o WHERE o.code = 'WF001';
SELECT attempts, races, stale, waits, busy, mode, why, rate, samples, since FROM workflow.contention WHERE instance_id = t.i('counted');
-- counts are not part of a transaction
BEGIN;
SELECT o.code FROM wf_send(t.i('counted'), 'GO', NULL, 1, on_refusal => 'return') o;
ROLLBACK;
SELECT definition, state, attempts, stale FROM workflow.contention WHERE instance_id = t.i('counted');
-- a mode in the definition wins
SELECT o.applied, o.attempts FROM wf_send(t.i('queued'), 'GO') o;
SELECT pg_sleep(0.15);
SELECT o.code FROM wf_send(t.i('queued'), 'GO', NULL, 1, on_refusal => 'return') o;
SELECT stale, mode, why, since FROM workflow.contention WHERE instance_id = t.i('queued');
-- a dry run is nobody's attempt
SELECT o.code FROM wf_check(t.i('queued'), 'A', 'A', 1, 1, 'GO') o;
SELECT stale FROM workflow.contention WHERE instance_id = t.i('queued');
-- each tenant sees its own
BEGIN;
SET LOCAL workflow.tenant = 'other';
SELECT count(*) FROM workflow.contention;
SELECT count(*) FROM workflow.contention_counts();
COMMIT;
-- every mode is one of three, for every instance alike
SELECT o.applied, o.attempts FROM unnest(ARRAY['optimistic', 'pessimistic', 'adaptive']) mode, wf_send(t.i('counted'), 'GO', lock_mode => mode) o;
SHOW workflow.gate_waiters;
SHOW workflow.adaptive_dwell;
SET workflow.gate_waiters = -1;
SELECT * FROM wf_verify();
