-- Where nothing may be written every command is 25006 before anything else is looked at, also with NULL for
-- every argument; readers work.
SELECT t.see(o) FROM wf_start('lamp', 'read-only', '{}') o;
SELECT t.i('read-only') AS i \gset
SELECT t.world() AS before \gset
BEGIN READ ONLY;
SELECT x, left(t.refusal('SELECT ' || x), 5) AS code FROM unnest(ARRAY[
    $$wf_define(NULL)$$, $$wf_run_due(NULL)$$, $$wf_run_due()$$, $$wf_start(NULL, NULL)$$, $$wf_start('lamp', 'read-only', '{"other": 1}', on_refusal => 'return')$$,
    $$wf_transition(NULL, NULL, NULL, NULL, NULL)$$, $$wf_transition(gen_random_uuid(), 'OFF', 'ON', 1, 1, request_id => '')$$,
    $$wf_transition(t.i('read-only'), 'OFF', 'ON', 1, 1)$$, $$wf_transition(t.i('read-only'), 'OFF', 'ON', 7, 7)$$,
    $$wf_transition(t.i('read-only'), 'OFF', 'ON', 1, 1, on_refusal => 'nonsense')$$, $$wf_transition(t.i('read-only'), 'OFF', 'ON', 1, 1, identity_token => 'x')$$,
    $$wf_transition_many(NULL)$$, $$wf_transition_many('[]')$$, $$wf_transition_many('[1]', on_refusal => 'nonsense')$$,
    $$wf_try_transition(NULL, NULL, NULL, NULL, NULL)$$, $$wf_try_transition(t.i('read-only'), 'OFF', 'ON', 7, 7)$$,
    $$wf_send(NULL, NULL)$$, $$wf_send(t.i('read-only'), 'PRESS')$$, $$wf_supersede_material(NULL, NULL, NULL)$$, $$wf_lock(NULL)$$, $$wf_lock(t.i('read-only'))$$,
    $$wf_decide(NULL, NULL, NULL, NULL)$$, $$wf_decide(t.task('read-only'), 'APPROVE', 1, 1, on_refusal => 'return')$$, $$wf_task_claim(NULL)$$, $$wf_task_release(NULL)$$, $$wf_task_assign(NULL, NULL)$$,
    $$wf_task_delegate(NULL, NULL)$$, $$wf_task_transfer(NULL, NULL)$$, $$wf_seat_add(NULL, NULL, NULL)$$, $$wf_seat_remove(NULL, NULL, NULL)$$, $$wf_withdraw(NULL, NULL)$$, $$wf_withdraw(t.i('read-only'), 1)$$,
    $$wf_activate(NULL, NULL)$$, $$wf_cancel(NULL, NULL, NULL)$$, $$wf_override(NULL, NULL, NULL, NULL, NULL)$$, $$wf_adopt(NULL, NULL, NULL)$$, $$wf_migrate(NULL, NULL, NULL)$$, $$wf_purge(NULL)$$,
    $$wf_resource_set(NULL, NULL)$$, $$wf_resource_consume(NULL, NULL)$$, $$wf_resource_consume('none', 0, on_refusal => 'return')$$, $$wf_resource_restock(NULL, NULL)$$, $$wf_resource_consume_many(NULL)$$,
    $$wf_outbox_subscribe(NULL)$$, $$wf_outbox_unsubscribe(NULL)$$, $$wf_outbox_claim(NULL)$$, $$wf_outbox_ack(NULL, NULL, NULL)$$, $$wf_outbox_nack(NULL, NULL, NULL, NULL, NULL)$$, $$wf_outbox_requeue(NULL, NULL)$$, $$wf_outbox_skip(NULL, NULL)$$, $$wf_inbox_accept(NULL, NULL)$$,
    $$wf_lease_acquire(NULL, NULL)$$, $$wf_lease_acquire_many(NULL, NULL)$$, $$wf_lease_steal(NULL, NULL, NULL)$$, $$wf_lease_renew(NULL, NULL, NULL)$$, $$wf_lease_release(NULL, NULL)$$,
    $$wf_work_take(NULL, NULL, NULL, NULL)$$, $$wf_work_finish(NULL, NULL, NULL)$$, $$wf_work_fail(NULL, NULL, NULL)$$, $$wf_work_extend(NULL, NULL, NULL)$$, $$wf_work_give_back(NULL, NULL)$$,
    $$wf_limit_set(NULL, NULL)$$, $$wf_member_set(NULL, NULL)$$, $$wf_member_remove(NULL)$$]) x;
SELECT t.refusal('SELECT wf_lock(NULL)');
SELECT g.state FROM wf_get(:'i') g;
SELECT t.see(o) FROM wf_check(:'i', 'OFF', 'ON', 1, 1) o;
SELECT wf_explain(:'i') ->> 'state' AS explained, (SELECT count(*) FROM wf_worklist(assignee => 'nobody at all')) AS worklist;
SELECT length(wf_diagram(instance => :'i')) > 100 AS drawn;
SELECT w.tenant FROM wf_whoami() w;
SELECT count(*) FROM wf_verify();
SELECT wf_export('lamp') ->> 'id' AS exported, (SELECT count(*) FROM wf_validate(wf_export('lamp')) v WHERE v.severity = 'error') AS errors;
COMMIT;
-- by default for the session, or from here on in a transaction
SET default_transaction_read_only = on;
SELECT left(t.refusal(format($$SELECT wf_send(%L, 'PRESS')$$, :'i')), 5);
RESET default_transaction_read_only;
BEGIN;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
SET TRANSACTION READ ONLY;
SELECT left(t.refusal(format($$SELECT wf_send(%L, 'PRESS')$$, :'i')), 5);
ROLLBACK;
SELECT t.world() = :'before' AS nothing_happened;
SELECT * FROM wf_verify();
