-- Limits of a tenant: WF019, before anything is written; the tenant's own before those of every tenant.
SELECT o.applied FROM wf_limit_set('open_instances', 2, tenant => 'limits') o;
SELECT o.applied, o.attempts FROM wf_limit_set('payload_bytes', 40, tenant => 'limits') o;
SELECT o.applied FROM unnest('{seats,timers,commands}'::text[]) l CROSS JOIN LATERAL wf_limit_set(l, 2, tenant => 'limits') o;
SELECT version FROM wf_define('{"id": "limited", "initial": "A", "states": {
    "A": {"meta": {"task": {"seats": [{"name": "a"}, {"name": "b"}], "rule": "all"}},
          "on": {"YES": {"target": "B", "meta": {"decision": "approve"}}, "NO": {"target": "B", "meta": {"decision": "reject"}}, "SKIP": "B"}},
    "B": {"type": "final"}}}', tenant => 'limits');

-- Seats and timers, where they are declared and where a seat is added.
SELECT t.refusal($$SELECT wf_define('{"id": "limited3", "initial": "A", "states": {"A": {"meta": {"task": {"seats": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}}, "on": {"YES": {"target": "B", "meta": {"decision": "approve"}}}}, "B": {"type": "final"}}}', tenant => 'limits')$$);
SELECT t.refusal($$SELECT wf_define('{"id": "limited3", "initial": "A", "states": {"A": {"after": {"PT1M": "B", "PT2M": "B", "PT3M": "B"}}, "B": {"type": "final"}}}', tenant => 'limits')$$);
SELECT t.see(o) FROM wf_start('limited', 'limits-1', '{"n": 1}', tenant => 'limits') o;
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "c"}', 1, tenant => 'limits')$$, t.i('limits-1', 'limits')));

-- Documents: a payload, a material, that of a start included.
SELECT t.refusal(format($$SELECT wf_transition(%L, 'A', 'B', 1, 1, event => 'SKIP', payload => jsonb_build_object('x', repeat('x', 40)), tenant => 'limits')$$, t.i('limits-1', 'limits')));
SELECT t.refusal(format($$SELECT wf_send(%L, 'SKIP', payload => jsonb_build_object('x', repeat('x', 40)), tenant => 'limits')$$, t.i('limits-1', 'limits')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'YES', 1, 1, payload => jsonb_build_object('x', repeat('x', 40)), tenant => 'limits')$$, t.task('limits-1', 'a', 'limits')));
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 1, jsonb_build_object('x', repeat('x', 40)), tenant => 'limits')$$, t.a('limits-1', 'limits')));
SELECT t.refusal($$SELECT wf_start('limited', 'limits-2', jsonb_build_object('x', repeat('x', 40)), tenant => 'limits')$$);
SELECT t.refusal($$SELECT wf_adopt('limited', 'limits-2', 'A', jsonb_build_object('x', repeat('x', 40)), dry_run => false, tenant => 'limits')$$);

-- One command of a call, and the number of them.
SELECT ordinal, code, reason FROM wf_transition_many(jsonb_build_array(
    jsonb_build_object('instance', t.i('limits-1', 'limits'), 'from_state', 'A', 'to_state', 'B', 'event', 'SKIP', 'expected_revision', 1, 'material_version', 1,
                       'payload', jsonb_build_object('x', repeat('x', 40)))), tenant => 'limits');
SELECT t.refusal(format($$SELECT wf_transition_many(jsonb_agg(jsonb_build_object('instance', %L, 'from_state', 'A', 'to_state', 'B', 'event', 'SKIP', 'expected_revision', 1, 'material_version', 1)), tenant => 'limits') FROM generate_series(1, 3)$$, t.i('limits-1', 'limits')));

-- Open instances: an ended one makes room, a refused start leaves nothing.
SELECT t.see(o) FROM wf_start('limited', 'limits-2', '{}', tenant => 'limits') o;
SELECT t.refusal($$SELECT wf_start('limited', 'limits-3', '{}', tenant => 'limits')$$);
SELECT t.refusal($$SELECT wf_adopt('limited', 'limits-3', 'A', '{}', dry_run => false, tenant => 'limits')$$);
SELECT t.see(o) FROM wf_start('limited', 'limits-3', '{}', tenant => 'limits', on_refusal => 'return') o;
SELECT count(*) FROM workflow.applications WHERE tenant_id = 'limits' AND business_key = 'limits-3';
SELECT t.see(o) FROM wf_send(t.i('limits-1', 'limits'), 'SKIP', tenant => 'limits') o;
SELECT t.see(o) FROM wf_start('limited', 'limits-3', '{}', tenant => 'limits') o;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT t.refusal($$SELECT wf_start('limited', 'limits-4', '{}', tenant => 'limits')$$);
ROLLBACK;
-- Replays are no starts.
SELECT t.see(o) FROM wf_cancel(t.i('limits-3', 'limits'), 'enough', 1, tenant => 'limits') o;
SELECT t.see(o) FROM wf_start('limited', 'limits-4', '{}', request_id => 'limits-r', tenant => 'limits') o;
SELECT t.see(o) FROM wf_start('limited', 'limits-4', '{}', request_id => 'limits-r', tenant => 'limits') o;

-- The limit of every tenant; its own goes before; taking it away.
SELECT o.applied FROM wf_limit_set('open_instances', 0, tenant => '*') o;
SELECT t.refusal($$SELECT wf_start('lamp', 'limits-5', '{}')$$);
SELECT o.applied FROM wf_limit_set('open_instances', 1000000) o;
SELECT t.see(o) FROM wf_start('lamp', 'limits-5', '{}') o;
SELECT o.applied FROM wf_limit_set('open_instances', -1) o;
SELECT t.refusal($$SELECT wf_start('lamp', 'limits-6', '{}')$$);
SET workflow.engine_path = spi;
SELECT t.refusal($$SELECT wf_start('lamp', 'limits-6', '{}')$$);
RESET workflow.engine_path;
SELECT o.applied FROM wf_limit_set('open_instances', -1, tenant => '*') o;
SELECT t.see(o) FROM wf_start('lamp', 'limits-6', '{}') o;

SELECT x, t.refusal(x) FROM unnest(ARRAY[$$SELECT wf_limit_set('everything', 1)$$, $$SELECT wf_limit_set('seats', -2)$$]) x;
SELECT tenant_id, name, value FROM workflow.limits ORDER BY 1, 2;
SELECT count(*) AS wrong FROM wf_verify();
DELETE FROM workflow.limits;
