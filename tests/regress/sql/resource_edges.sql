-- meta.consume and meta.restock: what a step takes and gives back, in its own transaction. A refused one leaves nothing.
SELECT * FROM wf_define('{"id": "order", "initial": "NEW", "states": {
    "NEW": {"on": {
        "BUY": {"target": "HELD", "meta": {"consume": {"resource": "$.material.sku", "quantity": "$.payload.n"}}},
        "BUY_ONE": {"target": "SOLD", "meta": {"consume": {"resource": "pens", "quantity": 1}}},
        "SWAP": {"target": "SOLD", "meta": {"restock": {"resource": "ink", "quantity": 2}, "consume": [{"resource": "pens", "quantity": 1}, {"resource": "ink", "quantity": 2}]}},
        "NONE": {"target": "SOLD", "meta": {"consume": {"resource": "unheard of", "quantity": 1}}}}},
    "HELD": {"always": {"target": "SOLD", "meta": {"consume": {"resource": "paper", "quantity": 1}}}},
    "SOLD": {"on": {"RETURN": {"target": "BACK", "meta": {"restock": {"resource": "$.material.sku", "quantity": "$.payload.n"}}}, "CLOSE": "BACK"}},
    "BACK": {"type": "final"}}}');
CREATE OR REPLACE FUNCTION t.seen(o workflow.resource_outcome) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', CASE WHEN o.applied THEN 'done' ELSE concat(o.code, ' ', o.reason) END, o.key, 'remaining ' || o.remaining,
        CASE WHEN o.replayed THEN 'replayed' END, CASE WHEN o.retryable THEN 'retryable' END, 'asked ' || (o.detail ->> 'requested'))
$$;
SELECT t.seen(o) FROM wf_resource_set('pens', 5) o;
SELECT t.seen(o) FROM wf_resource_set('paper', 1) o;
SELECT t.seen(o) FROM wf_resource_set('ink', 0) o;
CREATE FUNCTION t.pieces() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(key || ' ' || balance, ', ' ORDER BY key) FROM workflow.balances WHERE key IN ('pens', 'paper', 'ink')
$$;
CREATE FUNCTION t.moved(k text) RETURNS TABLE (key text, step text, quantity bigint, balance bigint, r bigint) LANGUAGE sql AS $$
    SELECT m.key, m.step, m.quantity, m.balance, m.revision FROM workflow.resource_moves m WHERE m.instance_id = t.i(k) ORDER BY m.revision, m.at
$$;
SELECT count(t.see(o)) FROM generate_series(1, 9) n CROSS JOIN LATERAL wf_start('order', 'order-' || n, '{"sku": "pens"}') o;
-- by the quantity of the payload, and an always edge behind it
SELECT t.see(o) FROM wf_check(t.i('order-1'), 'NEW', 'HELD', 1, 1, payload => '{"n": 2}') o;
SELECT t.see(o) FROM wf_send(t.i('order-1'), 'BUY', '{"n": 2}') o;
SELECT * FROM t.moved('order-1');
-- no paper left: the always edge refuses the whole command, and nothing is left of it
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_transition(%L, 'NEW', 'HELD', 1, 1, payload => '{"n": 2}')$$, t.i('order-2')));
SELECT t.refusal(format($$SELECT wf_send(%L, 'BUY', '{"n": 2}', lock_mode => 'pessimistic')$$, t.i('order-2')));
SELECT t.world() = :'before' AS nothing_happened;
SELECT t.see(o), o.detail ->> 'resource' AS resource, o.detail ->> 'remaining' AS remaining FROM wf_try_transition(t.i('order-2'), 'NEW', 'HELD', 1, 1, payload => '{"n": 2}') o;
SELECT t.see(o), o.detail ->> 'resource' AS resource FROM wf_check(t.i('order-2'), 'NEW', 'HELD', 1, 1, payload => '{"n": 2}') o;
SELECT r, step, to_state FROM t.history('order-2');
SELECT * FROM t.count('order-2');
-- what a page offers
SELECT a ->> 'event' AS event, a ->> 'allowed' AS allowed, a ->> 'blocker' AS blocker FROM wf_get(t.i('order-2')) g CROSS JOIN LATERAL jsonb_array_elements(g.actions) a ORDER BY 1;
-- more than there is
SELECT t.refusal(format($$SELECT wf_send(%L, 'BUY', '{"n": 4}')$$, t.i('order-2')));
SELECT t.pieces();
-- a quantity that is none
SELECT p, t.refusal(format($$SELECT wf_send(%L, 'BUY', %L)$$, t.i('order-2'), p)) FROM unnest(ARRAY[NULL, '{}', '{"n": null}', '{"n": "2"}', '{"n": [2]}', '{"n": 0}', '{"n": -1}', '{"n": 1.5}',
    '{"n": 9223372036854775808}', '{"n": 1e400}', '{"n": true}']) p;
SELECT t.see(o) FROM wf_check(t.i('order-2'), 'NEW', 'HELD', 1, 1, payload => '{"n": "2"}') o;
-- a key that is none
SELECT count(t.see(o)) FROM (VALUES ('order-a', '{}'), ('order-b', '{"sku": 7}'), ('order-c', '{"sku": ""}'), ('order-d', '{"sku": "of nobody"}')) x(k, m) CROSS JOIN LATERAL wf_start('order', k, m::jsonb) o;
SELECT k, t.refusal(format($$SELECT wf_send(%L, 'BUY', '{"n": 1}')$$, t.i(k))) FROM unnest('{order-a,order-b,order-c,order-d}'::text[]) k;
SELECT t.refusal(format($$SELECT wf_send(%L, 'NONE')$$, t.i('order-2')));
-- what is given back first may be taken
SELECT t.see(o) FROM wf_send(t.i('order-3'), 'SWAP') o;
SELECT * FROM t.moved('order-3');
SELECT t.pieces();
-- two take the last one: the second is told, whatever it knew
SELECT t.see(o) FROM wf_send(t.i('order-4'), 'BUY_ONE') o;
SELECT t.see(o) FROM wf_send(t.i('order-5'), 'BUY_ONE') o;
SELECT t.see(o) FROM wf_send(t.i('order-6'), 'BUY_ONE', on_refusal => 'return') o;
-- stale comes before insufficient, guard before both
SELECT t.see(o) FROM wf_try_transition(t.i('order-6'), 'NEW', 'SOLD', 7, 1, event => 'BUY_ONE') o;
-- given back
SELECT t.see(o) FROM wf_send(t.i('order-4'), 'RETURN', '{"n": 1}') o;
SELECT t.see(o) FROM wf_send(t.i('order-6'), 'BUY_ONE', request_id => 'order-6') o;
SELECT t.see(o) FROM wf_send(t.i('order-6'), 'BUY_ONE', request_id => 'order-6') o;
SELECT t.pieces();
-- what cannot be counted any more is refused, too
SELECT t.seen(o) FROM wf_resource_set('pens', 9223372036854775807) o;
SELECT t.refusal(format($$SELECT wf_send(%L, 'RETURN', '{"n": 1}')$$, t.i('order-5')));
SELECT t.seen(o) FROM wf_resource_set('pens', 3) o;
-- a vote that decides takes, one that does not decide does not
SELECT * FROM wf_define('{"id": "panel-order", "initial": "VOTE", "states": {
    "VOTE": {"meta": {"task": {"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}}, "on": {
        "YES": {"target": "SOLD", "meta": {"decision": "approve", "consume": {"resource": "pens", "quantity": 2}}}, "NO": {"target": "SOLD", "meta": {"decision": "reject"}}}},
    "SOLD": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('panel-order', 'panel-order', '{}', actor => 'sue') o;
SELECT t.vote('panel-order', 'a', 'YES', 'ann');
SELECT t.pieces();
SELECT t.vote('panel-order', 'b', 'YES', 'bob');
SELECT * FROM t.moved('panel-order');
SELECT t.see(o) FROM wf_start('panel-order', 'panel-order-2', '{}', actor => 'sue') o;
SELECT t.vote('panel-order-2', 'a', 'YES', 'ann'), t.vote('panel-order-2', 'b', 'YES', 'bob');
SELECT seat, status, decision FROM t.seats('panel-order-2');
SELECT t.vote('panel-order-2', 'b', 'NO', 'bob');
-- a start and a new material may run into always edges, too
SELECT * FROM wf_define('{"id": "auto", "initial": "A", "states": {
    "A": {"always": {"target": "B", "guard": "$.material.go == true", "meta": {"consume": {"resource": "pens", "quantity": 1}}}, "on": {"STOP": "C"}},
    "B": {"meta": {"on_supersede": "A"}, "on": {"STOP": "C"}}, "C": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('auto', 'auto-1', '{"go": true}') o;
SELECT t.refusal($$SELECT wf_start('auto', 'auto-2', '{"go": true}')$$);
SELECT t.a('auto-2') IS NULL AS nothing_is_left;
SELECT t.seen(o) FROM wf_resource_restock('pens', 1) o;
SELECT o.applied FROM wf_supersede_material(t.a('auto-1'), 1, '{"go": true}') o;
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 2, '{"go": true}')$$, t.a('auto-1')));
SELECT * FROM t.moved('auto-1');
SELECT t.pieces();
-- specs that say what cannot be
SELECT x, t.refusal(format('SELECT wf_define(%L)', jsonb_set('{"id": "bad", "initial": "A", "states": {"A": {"on": {"GO": {"target": "B", "meta": {}}}}, "B": {"type": "final"}}}', '{states,A,on,GO,meta,consume}', x::jsonb)))
  FROM unnest(ARRAY['{}', '3', '[]', '{"resource": "a", "quantity": 0}', '{"resource": "a", "quantity": "amount"}', '{"resource": "a", "quantity": "$.a["}', '{"resource": "$x", "quantity": 1}', '{"resource": "a", "quantity": 1, "unit": "kg"}']) x;
-- every move belongs to a step
SELECT * FROM wf_verify();
CREATE FUNCTION pg_temp.after(damage text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    BEGIN
        SET LOCAL session_replication_role = replica;
        EXECUTE damage;
        SELECT string_agg(DISTINCT v.invariant || ' ' || v.name, ', ' ORDER BY v.invariant || ' ' || v.name) INTO found FROM wf_verify() v;
        RAISE SQLSTATE 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN coalesce(found, 'nothing found');
    END;
END
$$;
SELECT x, pg_temp.after(x) FROM unnest(ARRAY[
    $$UPDATE workflow.resources SET balance = balance + 1 WHERE key = 'pens'$$, $$UPDATE workflow.resources SET moves = moves + 1 WHERE key = 'pens'$$,
    $$DELETE FROM workflow.resources WHERE key = 'pens'$$, $$DELETE FROM workflow.resource_moves WHERE key = 'pens' AND move = 2$$,
    $$UPDATE workflow.resource_moves SET balance = balance + 1 WHERE key = 'pens' AND move = 2$$, $$UPDATE workflow.resource_moves SET quantity = quantity + 1 WHERE key = 'pens' AND move = 2$$,
    $$UPDATE workflow.resource_moves SET revision = 99 WHERE key = 'pens' AND instance_id IS NOT NULL$$,
    $$UPDATE workflow.resource_moves SET instance_id = NULL, revision = NULL WHERE key = 'pens'$$]) x;
-- what a user's trigger swallows is an error, and leaves nothing
CREATE FUNCTION pg_temp.without(verb text, name text, command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    BEGIN
        EXECUTE format('CREATE TRIGGER swallow BEFORE %s ON workflow.%I FOR EACH ROW EXECUTE FUNCTION t.swallow_move()', verb, name);
        answer := t.refusal('SELECT ' || command);
        RAISE SQLSTATE 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN answer;
    END;
END
$$;
CREATE FUNCTION t.swallow_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
SELECT t.seen(o) FROM wf_resource_restock('pens', 9) o;
SELECT verb, name, command, pg_temp.without(verb, name, command) FROM (VALUES
    ('UPDATE', 'resources', $$wf_resource_consume('pens', 1)$$), ('INSERT', 'resource_moves', $$wf_resource_consume('pens', 1)$$), ('INSERT', 'resources', $$wf_resource_set('new', 1)$$),
    ('INSERT', 'resource_moves', $$wf_resource_set('new', 1)$$), ('UPDATE', 'resources', $$wf_send(t.i('order-2'), 'BUY_ONE')$$), ('INSERT', 'resource_moves', $$wf_send(t.i('order-2'), 'BUY_ONE')$$)) x(verb, name, command);
SELECT * FROM wf_verify();
