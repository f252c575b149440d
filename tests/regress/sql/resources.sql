-- Guarded quantities by themselves: three honest answers, and a ledger that adds up.
CREATE OR REPLACE FUNCTION t.seen(o workflow.resource_outcome) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', CASE WHEN o.applied THEN 'done' ELSE concat(o.code, ' ', o.reason) END, o.key, 'remaining ' || o.remaining,
        CASE WHEN o.replayed THEN 'replayed' END, CASE WHEN o.retryable THEN 'retryable' END, 'asked ' || (o.detail ->> 'requested'))
$$;
CREATE FUNCTION t.ledger(k text, tenant text DEFAULT 'default') RETURNS TABLE (move bigint, step text, quantity bigint, balance bigint, actor text, request text) LANGUAGE sql AS $$
    SELECT m.move, m.step, m.quantity, m.balance, CASE WHEN m.actor = session_user THEN 'me' ELSE m.actor END, m.request_id
      FROM workflow.resource_moves m WHERE m.tenant_id = tenant AND m.key = k ORDER BY 1
$$;
-- made, counted, taken, given back
SELECT t.seen(o) FROM wf_resource_set('seats', 10, actor => 'ann') o;
SELECT t.seen(o) FROM wf_resource_consume('seats', 3, actor => 'bob') o;
SELECT t.seen(o) FROM wf_resource_consume('seats', 7, request_id => 'seats-7') o;
SELECT t.seen(o) FROM wf_resource_restock('seats', 2) o;
SELECT t.seen(o) FROM wf_resource_consume('seats', 3, on_refusal => 'return') o;
SELECT t.refusal($$SELECT wf_resource_consume('seats', 3)$$);
SELECT t.seen(o) FROM wf_resource_set('seats', 0) o;
SELECT t.seen(o) FROM wf_resource_set('seats', 0) o;
SELECT * FROM t.ledger('seats');
SELECT key, balance, moves, moved_at IS NOT NULL AS dated FROM workflow.balances WHERE key = 'seats';
SELECT move, step, quantity, balance FROM workflow.movements WHERE key = 'seats' AND step = 'consume' ORDER BY 1;
SELECT command, reason, detail ->> 'resource' AS resource, detail ->> 'remaining' AS remaining FROM workflow.refusals WHERE command LIKE 'wf_resource%';
-- a count does not overwrite what was sold meanwhile
SELECT t.seen(o) FROM wf_resource_set('shelf', 100) o;
SELECT t.seen(o) FROM wf_resource_consume('shelf', 1) o;
SELECT t.seen(o) FROM wf_resource_set('shelf', 98, expected => 100, on_refusal => 'return') o;
SELECT t.refusal($$SELECT wf_resource_set('shelf', 98, expected => 100)$$);
SELECT t.seen(o) FROM wf_resource_set('shelf', 98, expected => 99) o;
SELECT t.refusal($$SELECT wf_resource_set('unheard of', 1, expected => 0)$$);
SELECT * FROM t.ledger('shelf');
-- request keys: once, also when it would be refused by now; another command under the same key is none
SELECT t.seen(o) FROM wf_resource_consume('seats', 7, request_id => 'seats-7') o;
SELECT t.refusal($$SELECT wf_resource_consume('seats', 8, request_id => 'seats-7')$$);
SELECT t.refusal($$SELECT wf_resource_restock('seats', 7, request_id => 'seats-7')$$);
SELECT t.refusal($$SELECT wf_resource_consume('seats', 7, request_id => '')$$);
-- a refusal keeps no key
SELECT t.seen(o) FROM wf_resource_consume('seats', 1, request_id => 'seats-1', on_refusal => 'return') o;
SELECT t.seen(o) FROM wf_resource_restock('seats', 1) o;
SELECT t.seen(o) FROM wf_resource_consume('seats', 1, request_id => 'seats-1') o;
SELECT t.seen(o) FROM wf_resource_consume('seats', 1, request_id => 'seats-1') o;
-- limits
SELECT x, t.refusal('SELECT ' || x) FROM unnest(ARRAY[
    $$wf_resource_consume('seats', 0)$$, $$wf_resource_consume('seats', -1)$$, $$wf_resource_consume('seats', -9223372036854775808)$$, $$wf_resource_restock('seats', 0)$$,
    $$wf_resource_restock('seats', -1)$$, $$wf_resource_set('seats', -1)$$, $$wf_resource_set('seats', 1, expected => -1)$$, $$wf_resource_set('', 1)$$,
    $$wf_resource_set(repeat('k', 201), 1)$$, $$wf_resource_set(E'a\nb', 1)$$, $$wf_resource_consume('', 1)$$, $$wf_resource_consume('seats', 1, wait_ms => -1)$$,
    $$wf_resource_consume('seats', 1, on_refusal => 'nonsense')$$, $$wf_resource_consume('none', 1)$$, $$wf_resource_restock('none', 1)$$, $$wf_resource_set('x', 1, tenant => '*')$$]) x;
SELECT t.seen(o) FROM wf_resource_set('most', 9223372036854775807) o;
SELECT t.refusal($$SELECT wf_resource_restock('most', 1)$$);
SELECT t.refusal($$SELECT wf_resource_restock('most', 9223372036854775807)$$);
SELECT t.seen(o) FROM wf_resource_consume('most', 9223372036854775807) o;
SELECT t.refusal($$SELECT wf_resource_consume('most', 9223372036854775807)$$);
SELECT t.seen(o) FROM wf_resource_restock('most', 9223372036854775807) o;
SELECT length(o.key) AS longest FROM wf_resource_set(repeat('k', 200), 1) o;
-- keys compare bytewise
SELECT t.seen(o) FROM wf_resource_set('Seats', 5) o;
SELECT t.seen(o) FROM wf_resource_consume('Seats', 5) o;
-- several: all or nothing, in the order of keys, one key summed
SELECT t.seen(o) FROM wf_resource_set('a', 5) o;
SELECT t.seen(o) FROM wf_resource_set('b', 5) o;
SELECT t.seen(o) FROM wf_resource_consume_many('[{"resource": "b", "quantity": 2}, {"resource": "a", "quantity": 1}, {"resource": "b", "quantity": 1}]', request_id => 'many') o;
SELECT t.seen(o) FROM wf_resource_consume_many('[{"resource": "b", "quantity": 2}, {"resource": "a", "quantity": 1}, {"resource": "b", "quantity": 1}]', request_id => 'many') o;
SELECT t.seen(o), o.detail -> 'short' AS short FROM wf_resource_consume_many('[{"resource": "b", "quantity": 1}, {"resource": "a", "quantity": 5}, {"resource": "b", "quantity": 2}]', on_refusal => 'return') o;
SELECT t.refusal($$SELECT wf_resource_consume_many('[{"resource": "a", "quantity": 1}, {"resource": "b", "quantity": 3}]')$$);
SELECT t.refusal($$SELECT wf_resource_consume_many('[{"resource": "a", "quantity": 1}, {"resource": "none", "quantity": 1}]')$$);
SELECT key, balance FROM workflow.balances WHERE key IN ('a', 'b') ORDER BY 1;
SELECT x, t.refusal(format('SELECT wf_resource_consume_many(%L)', x)) FROM unnest(ARRAY['[]', '{}', '3', '[3]', '[{}]', '[{"resource": "a"}]', '[{"quantity": 1}]',
    '[{"resource": 7, "quantity": 1}]', '[{"resource": "", "quantity": 1}]', '[{"resource": "a", "quantity": 0}]', '[{"resource": "a", "quantity": -1}]', '[{"resource": "a", "quantity": 1.5}]',
    '[{"resource": "a", "quantity": "1"}]', '[{"resource": "a", "quantity": 9223372036854775808}]', '[{"resource": "a", "quantity": 9223372036854775807}, {"resource": "a", "quantity": 1}]',
    '[{"resource": "a", "quantity": 1, "unit": "kg"}]']) x;
SELECT t.refusal(format('SELECT wf_resource_consume_many(%L)', jsonb_agg(jsonb_build_object('resource', 'a', 'quantity', 1)))) FROM generate_series(1, 1001);
SELECT t.refusal(format('SELECT wf_resource_consume_many(%L)', jsonb_agg(jsonb_build_object('resource', 'a', 'quantity', 1)))) FROM generate_series(1, 1000);
-- more keys than gates
SELECT count(t.seen(o)) FROM generate_series(1, 200) n CROSS JOIN LATERAL wf_resource_set('many-' || n, 2) o;
SELECT count(*), sum(o.remaining) FROM wf_resource_consume_many((SELECT jsonb_agg(jsonb_build_object('resource', 'many-' || n, 'quantity', 1)) FROM generate_series(1, 200) n)) o;
-- tenants have their own; another's is as absent as none, and nothing of it is locked
SELECT t.seen(o) FROM wf_resource_set('seats', 4, tenant => 'other') o;
SELECT t.seen(o) FROM wf_resource_consume('seats', 4, tenant => 'other', request_id => 'seats-7') o;
SELECT * FROM t.ledger('seats', 'other');
SELECT t.seen(o) FROM wf_resource_set('theirs', 4, tenant => 'other') o;
SELECT x, t.refusal('SELECT ' || format(x, 'theirs')) = replace(t.refusal('SELECT ' || format(x, 'nobodys')), 'nobodys', 'theirs') AS same, t.refusal('SELECT ' || format(x, 'theirs')) AS refusal
  FROM unnest(ARRAY[$$wf_resource_consume(%L, 1)$$, $$wf_resource_consume(%L, 100, on_refusal => 'raise')$$, $$wf_resource_restock(%L, 1)$$, $$wf_resource_set(%L, 1, expected => 4)$$,
    $$wf_resource_consume_many(jsonb_build_array(jsonb_build_object('resource', %L, 'quantity', 1)))$$]) x;
SELECT t.seen(o) FROM wf_resource_set('theirs', 1) o;
SELECT t.seen(o) FROM wf_resource_consume('theirs', 4, tenant => 'other') o;
SELECT count(*) FROM workflow.balances WHERE key = 'seats';
-- in a savepoint that is rolled back nothing happened
BEGIN;
SAVEPOINT s;
SELECT t.seen(o) FROM wf_resource_consume('a', 4) o;
ROLLBACK TO s;
SELECT t.seen(o) FROM wf_resource_consume('a', 4) o;
COMMIT;
SELECT * FROM t.ledger('a');
-- the last line, and the guard of the ledger
SELECT t.refusal($$UPDATE workflow.resources SET balance = -1 WHERE key = 'a'$$);
SELECT t.refusal($$DELETE FROM workflow.resource_moves$$);
-- a refusal of what nobody else is about to change locks nothing and writes nothing
SELECT md5(string_agg(r::text || r.xmax, ' ' ORDER BY r.key)) AS before FROM workflow.resources r \gset
BEGIN;
SELECT t.refusal($$SELECT wf_resource_consume('a', 4)$$);
SELECT t.refusal($$SELECT wf_resource_consume_many('[{"resource": "a", "quantity": 4}, {"resource": "b", "quantity": 1}]')$$);
SELECT t.refusal($$SELECT wf_resource_consume('none', 4)$$);
SELECT md5(string_agg(r::text || r.xmax, ' ' ORDER BY r.key)) = :'before' AS untouched FROM workflow.resources r;
SELECT count(*) AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN ('tuple', 'advisory');
COMMIT;
SELECT * FROM wf_verify();
