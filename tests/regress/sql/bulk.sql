-- wf_transition_many: one answer per command, in order; each command by itself, or all or none.
CREATE FUNCTION pg_temp.many(commands jsonb, atomic boolean DEFAULT false, request text DEFAULT NULL) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT concat_ws(' ', ordinal, CASE WHEN applied THEN 'applied' ELSE concat(code, ' ', reason) END, state, 'r' || revision,
                     'by ' || event, 'opened ' || nullif(cardinality(task_ids), 0), CASE WHEN replayed THEN 'replayed' END,
                     'withheld by ' || (detail ->> 'withheld_by'))
      FROM wf_transition_many(commands, atomic, actor => 'ann', roles => '{clerk}')
$$;
CREATE FUNCTION pg_temp.go(key text, from_state text, to_state text, revision int, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('instance', t.i(key), 'from_state', from_state, 'to_state', to_state,
                              'expected_revision', revision, 'material_version', 1) || more
$$;
SELECT t.see(o) FROM generate_series(1, 4) n, wf_start('lamp', 'bulk-' || n, '{}') o;
SELECT t.see(o) FROM wf_start('review', 'bulk-review', '{}') o;

-- Each by itself: an old page among others.
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-2', 'OFF', 'ON', 1), pg_temp.go('bulk-1', 'OFF', 'ON', 7), pg_temp.go('bulk-3', 'OFF', 'ON', 1)));
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-2', 'OFF', 'ON', 1), pg_temp.go('bulk-1', 'OFF', 'ON', 1), pg_temp.go('none', 'OFF', 'ON', 1) || '{"instance": "01a23023-54e8-7265-8b58-58d0880354dd"}'));
-- Who asks again after a lost answer is told so, whether the event was named or not.
SELECT o.code, o.detail #> '{winner,same_command}' AS same
  FROM wf_transition_many(jsonb_build_array(pg_temp.go('bulk-2', 'OFF', 'ON', 1), pg_temp.go('bulk-3', 'OFF', 'ON', 1, '{"event": "PRESS"}'), pg_temp.go('bulk-3', 'OFF', 'ON', 1, '{"comment": "another"}')), actor => 'ann', roles => '{clerk}') o;
-- The refusals are kept as those of wf_try_transition are.
SELECT command, code, actor, t.told(detail) FROM workflow.refusals WHERE command = 'wf_transition_many' ORDER BY id;

-- Commands on one instance follow each other.
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-1', 'ON', 'OFF', 2), pg_temp.go('bulk-1', 'OFF', 'ON', 3), pg_temp.go('bulk-1', 'OFF', 'ON', 3)));

-- All or none: every command gets an answer, and nothing is left.
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-1', 'ON', 'OFF', 4), pg_temp.go('bulk-2', 'ON', 'OFF', 1), pg_temp.go('bulk-1', 'OFF', 'ON', 5), pg_temp.go('bulk-3', 'ON', 'OFF', 2)), true);
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-1', 'ON', 'OFF', 4), pg_temp.go('bulk-1', 'OFF', 'ON', 5), pg_temp.go('bulk-3', 'ON', 'OFF', 2)), true);

-- A verdict completes its task; the task of a state that is left otherwise is superseded; always edges follow.
SELECT w.version FROM wf_define('{"id": "bulk-chain", "initial": "NEW", "states": {"NEW": {"on": {"OPEN": "DESK"}},
    "DESK": {"meta": {"task": {"seats": [{"name": "a \" b", "roles": ["x \\ y", "clerk"]}, {"name": "two"}], "due": "PT1H"}},
             "on": {"SKIP": "HALL", "OK": {"target": "END", "meta": {"decision": "approve"}}, "NO": {"target": "END", "meta": {"decision": "reject"}}}},
    "HALL": {"always": "END"}, "END": {"type": "final"}}}') w;
SELECT t.see(o) FROM wf_start('bulk-chain', 'bulk-chain', '{}') o;
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-chain', 'NEW', 'DESK', 1)));
SELECT seat, roles, status, state, round, due_at - opened_at AS due, opened_revision FROM workflow.tasks WHERE instance_id = t.i('bulk-chain') ORDER BY seat;
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-chain', 'DESK', 'END', 2, '{"event": "OK"}'), pg_temp.go('bulk-chain', 'DESK', 'HALL', 2)));
SELECT seat, status, closed_revision, reason FROM workflow.tasks WHERE instance_id = t.i('bulk-chain') ORDER BY seat;
SELECT * FROM t.history('bulk-chain');
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-review', 'SUBMITTED', 'APPROVED', 1, '{"payload": {"traceparent": "00-bulk", "big": 12345678901234567890.123}, "comment": "well done"}')));
SELECT h.event, h.decision, h.actor, h.comment, h.payload, h.task_id = k.id AS of_task, k.status, k.decided_by, k.closed_revision
  FROM workflow.history h JOIN workflow.tasks k USING (instance_id) WHERE instance_id = t.i('bulk-review') AND h.revision = 2;
SELECT aggregatetype, type, revision, payload - '{instance_id,application_id}'::text[] AS payload, tracingspancontext
  FROM workflow.outbox WHERE aggregateid = t.i('bulk-review')::text AND revision = 2;

-- Request keys: a replay, the same key twice in one call, a key of another command.
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-4', 'OFF', 'ON', 1, '{"request_id": "bulk-a"}'), pg_temp.go('bulk-4', 'OFF', 'ON', 1, '{"request_id": "bulk-a"}'), pg_temp.go('bulk-3', 'OFF', 'ON', 3, '{"request_id": "bulk-a"}')));
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-3', 'OFF', 'ON', 3), pg_temp.go('bulk-4', 'OFF', 'ON', 1, '{"request_id": "bulk-a"}')));
-- Only what was carried out owns its key.
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-4', 'ON', 'OFF', 2, '{"request_id": "bulk-b"}'), pg_temp.go('bulk-3', 'OFF', 'ON', 1)), true);
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-4', 'ON', 'OFF', 2, '{"request_id": "bulk-b"}')), true);

-- What was not carried out cannot be repeated either.
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-4', 'OFF', 'ON', 3, '{"request_id": "bulk-c"}'), pg_temp.go('bulk-4', 'OFF', 'ON', 3, '{"request_id": "bulk-c"}'), pg_temp.go('bulk-3', 'OFF', 'ON', 1)), true);
-- What cannot be read is an error that names the command, and nothing is done.
SELECT t.refusal(format('SELECT wf_transition_many(%L)', c)) FROM (VALUES
    ('{}'), ('7'), ('[7]'), ('[[]]'), ('[{}]'),
    ('[{"instance": "x", "from_state": "A", "to_state": "B", "expected_revision": 1, "material_version": 1}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": "1", "material_version": 1}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": 1.5, "material_version": 1}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": 1e30, "material_version": 1}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": 0, "material_version": 1}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": 1, "material_version": 9999999999}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "expected_revision": 1, "material_version": 1}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": 1, "material_version": 1, "request_id": ""}]'),
    ('[{"instance": "01a23023-54e8-7265-8b58-58d0880354dd", "from_state": "A", "to_state": "B", "expected_revision": 1, "material_version": 1, "colour": "red"}]')) x(c);
SELECT t.refusal(format('SELECT wf_transition_many(%L)', jsonb_build_array(pg_temp.go('bulk-4', 'OFF', 'ON', 3)) || '[7]'));
SELECT count(*) FROM wf_transition_many('[]');
SELECT t.refusal($$SELECT wf_transition_many('[]', on_refusal => 'maybe')$$);

-- What steps take is taken once, and only while there is enough: the one that comes too late is refused alone.
SELECT o.remaining FROM wf_resource_set('bulk-stock', 2) o;
SELECT w.version FROM wf_define('{"id": "bulk-sale", "initial": "OPEN", "states": {"OPEN": {"on": {"SELL": {"target": "SOLD", "meta": {"consume": {"resource": "bulk-stock", "quantity": 1}}}}},
    "SOLD": {"on": {"RETURN": {"target": "OPEN", "meta": {"restock": {"resource": "bulk-stock", "quantity": 1}}}}}}}') w;
SELECT count(*) FROM generate_series(1, 3) n, wf_start('bulk-sale', 'bulk-sale-' || n, '{}') o;
SELECT pg_temp.many(jsonb_agg(pg_temp.go('bulk-sale-' || n, 'OPEN', 'SOLD', 1) ORDER BY n), true) FROM generate_series(1, 3) n;
SELECT pg_temp.many(jsonb_agg(pg_temp.go('bulk-sale-' || n, 'OPEN', 'SOLD', 1) ORDER BY n)) FROM generate_series(1, 3) n;
SELECT balance FROM workflow.balances WHERE key = 'bulk-stock';
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-sale-1', 'SOLD', 'OPEN', 2), pg_temp.go('bulk-sale-3', 'OPEN', 'SOLD', 1)));
SELECT balance FROM workflow.balances WHERE key = 'bulk-stock';
SELECT * FROM wf_verify();

-- A savepoint takes everything back.
BEGIN;
SAVEPOINT s;
SELECT pg_temp.many(jsonb_build_array(pg_temp.go('bulk-4', 'OFF', 'ON', 3), pg_temp.go('bulk-1', 'ON', 'OFF', 6)));
ROLLBACK TO s;
COMMIT;
SELECT state, revision FROM workflow.instances WHERE id IN (t.i('bulk-4'), t.i('bulk-1')) ORDER BY id;
SELECT * FROM wf_verify();
