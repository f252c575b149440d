-- A12: a NULL where a value is needed is 22004 and names the argument; never a NULL result. Every
-- argument of every function is tried once, all others being right.
SELECT t.see(o) FROM wf_start('lamp', 'nulls', '{}', actor => 'ann') o;
SELECT t.panel('nulls', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT d.version FROM wf_define(jsonb_set(wf_export('nulls'), '{description}', '"another"'), activate => false) d;
SELECT t.open_panel('nulls', 'nulls-panel', 'ann');
SELECT o.applied FROM wf_member_set('nulls-member', '{}') o;
SELECT o.applied FROM wf_resource_set('nulls', 7) o;
SELECT o.applied FROM wf_outbox_subscribe('nulls') o;
SELECT d.version FROM wf_define('{"id": "nulls-job", "initial": "READY", "states": {"READY": {"meta": {"retry": {}}, "on": {"DONE": "DONE"}}, "DONE": {"type": "final"}}}') d;
SELECT t.see(o) FROM wf_start('nulls-job', 'nulls-job', '{}') o;
SELECT w.fence FROM wf_work_take('nulls-job', 'READY', 'DONE', 'w', lease_ms => 3600000) w \gset
CREATE TEMP TABLE given (function text, argument text, value text);
INSERT INTO given
SELECT f, a, v FROM (VALUES
    ('wf_define', 'spec', $$'{"id": "nulls", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"type": "final"}}}'$$), ('wf_define', 'activate', 'true'),
    ('wf_validate', 'spec', $$'{"id": "nulls", "initial": "A", "states": {"A": {"type": "final"}}}'$$),
    ('wf_export', 'definition', $$'lamp'$$), ('wf_export', 'version', '1'),
    ('wf_start', 'definition', $$'lamp'$$), ('wf_start', 'business_key', $$'nulls-2'$$), ('wf_start', 'material', $$'{}'$$),
    ('wf_start', 'version', '1'), ('wf_start', 'request_id', $$'nulls'$$),
    ('wf_send', 'instance', format('%L', t.i('nulls'))), ('wf_send', 'event', $$'PRESS'$$), ('wf_send', 'payload', $$'{}'$$),
    ('wf_send', 'expected_revision', '1'), ('wf_send', 'material_version', '1'), ('wf_send', 'request_id', $$'nulls'$$),
    ('wf_send', 'lock_mode', $$'optimistic'$$), ('wf_send', 'wait_ms', '0'), ('wf_send', 'lease_key', NULL), ('wf_send', 'fence', NULL),
    ('wf_supersede_material', 'application', format('%L', t.a('nulls'))),
    ('wf_supersede_material', 'expected_material_version', '1'), ('wf_supersede_material', 'material', $$'{}'$$),
    ('wf_supersede_material', 'request_id', $$'nulls'$$),
    ('wf_lock', 'instance', format('%L', t.i('nulls'))), ('wf_lock', 'wait_ms', '0'),
    ('wf_limit_set', 'limit_name', $$'seats'$$), ('wf_limit_set', 'value', '-1'),
    ('wf_member_set', 'member', $$'nulls-member'$$), ('wf_member_set', 'member_roles', $$'{a}'$$), ('wf_member_set', 'valid_until', $$'infinity'$$),
    ('wf_member_remove', 'member', $$'nulls-member'$$),
    ('wf_lease_acquire', 'key', $$'nulls'$$), ('wf_lease_acquire', 'ttl_ms', '1'), ('wf_lease_acquire', 'holder', $$'nulls'$$), ('wf_lease_acquire', 'wait_ms', '0'), ('wf_lease_acquire', 'request_id', $$'nulls'$$),
    ('wf_lease_acquire_many', 'keys', $$'{nulls}'$$), ('wf_lease_acquire_many', 'ttl_ms', '1'), ('wf_lease_acquire_many', 'holder', $$'nulls'$$), ('wf_lease_acquire_many', 'wait_ms', '0'), ('wf_lease_acquire_many', 'request_id', $$'nulls'$$),
    ('wf_lease_steal', 'key', $$'nulls'$$), ('wf_lease_steal', 'ttl_ms', '1'), ('wf_lease_steal', 'reason', $$'nulls'$$),
    ('wf_lease_renew', 'key', $$'nulls'$$), ('wf_lease_renew', 'token', 'gen_random_uuid()'), ('wf_lease_renew', 'ttl_ms', '1'),
    ('wf_lease_release', 'key', $$'nulls'$$), ('wf_lease_release', 'token', 'gen_random_uuid()'), ('wf_lease_inspect', 'key', $$'nulls'$$),
    ('wf_work_take', 'definition', $$'nulls-job'$$), ('wf_work_take', 'from_state', $$'READY'$$), ('wf_work_take', 'event', $$'DONE'$$), ('wf_work_take', 'worker', $$'w'$$), ('wf_work_take', 'limit_rows', '1'), ('wf_work_take', 'lease_ms', '1000'),
    ('wf_work_finish', 'instance', format('%L', t.i('nulls-job'))), ('wf_work_finish', 'fence', :'fence'), ('wf_work_finish', 'event', $$'DONE'$$), ('wf_work_finish', 'payload', $$'{}'$$), ('wf_work_finish', 'material_version', '1'),
    ('wf_work_fail', 'instance', format('%L', t.i('nulls-job'))), ('wf_work_fail', 'fence', :'fence'), ('wf_work_fail', 'error', $$'so'$$),
    ('wf_work_extend', 'instance', format('%L', t.i('nulls-job'))), ('wf_work_extend', 'fence', :'fence'), ('wf_work_extend', 'lease_ms', '3600000'),
    ('wf_work_give_back', 'instance', format('%L', t.i('nulls-job'))), ('wf_work_give_back', 'fence', :'fence'),
    ('wf_verify', 'instance', format('%L', t.i('nulls'))),
    ('wf_decide', 'task', format('%L', t.task('nulls-panel', 'a'))), ('wf_decide', 'decision', $$'APPROVE'$$), ('wf_decide', 'expected_revision', '1'),
    ('wf_decide', 'material_version', '1'), ('wf_decide', 'comment', $$'so'$$), ('wf_decide', 'payload', $$'{}'$$), ('wf_decide', 'request_id', $$'nulls'$$),
    ('wf_task_claim', 'task', format('%L', t.task('nulls-panel', 'a'))), ('wf_task_claim', 'lease_ms', '1000'),
    ('wf_task_release', 'task', format('%L', t.task('nulls-panel', 'a'))),
    ('wf_task_assign', 'task', format('%L', t.task('nulls-panel', 'a'))), ('wf_task_assign', 'assignee', $$'bob'$$),
    ('wf_task_delegate', 'task', format('%L', t.task('nulls-panel', 'a'))), ('wf_task_delegate', 'to_actor', $$'bob'$$),
    ('wf_task_transfer', 'task', format('%L', t.task('nulls-panel', 'a'))), ('wf_task_transfer', 'to_actor', $$'bob'$$),
    ('wf_seat_add', 'instance', format('%L', t.i('nulls-panel'))), ('wf_seat_add', 'seat', $$'{"name": "c", "roles": []}'$$), ('wf_seat_add', 'expected_revision', '1'),
    ('wf_transition_many', 'commands', $$'[]'$$), ('wf_transition_many', 'atomic', 'true'),
    ('wf_seat_remove', 'instance', format('%L', t.i('nulls-panel'))), ('wf_seat_remove', 'seat', $$'b'$$), ('wf_seat_remove', 'expected_revision', '1'),
    ('wf_withdraw', 'instance', format('%L', t.i('nulls-panel'))), ('wf_withdraw', 'expected_revision', '1'), ('wf_withdraw', 'comment', $$'so'$$),
    ('wf_run_due', 'limit_rows', '10'),
    ('wf_worklist', 'role', $$'fin'$$), ('wf_worklist', 'assignee', $$'bob'$$), ('wf_worklist', 'overdue_first', 'true'), ('wf_worklist', 'limit_rows', '3'),
    ('wf_worklist', 'after', format('%L', t.task('nulls-panel', 'a'))),
    ('wf_resource_set', 'key', $$'nulls'$$), ('wf_resource_set', 'balance', '7'), ('wf_resource_set', 'expected', '7'),
    ('wf_resource_consume', 'key', $$'nulls'$$), ('wf_resource_consume', 'quantity', '1'), ('wf_resource_consume', 'request_id', $$'nulls'$$), ('wf_resource_consume', 'wait_ms', '0'),
    ('wf_resource_restock', 'key', $$'nulls'$$), ('wf_resource_restock', 'quantity', '1'), ('wf_resource_restock', 'request_id', $$'nulls'$$),
    ('wf_resource_consume_many', 'items', $$'[{"resource": "nulls", "quantity": 1}]'$$), ('wf_resource_consume_many', 'request_id', $$'nulls'$$), ('wf_resource_consume_many', 'wait_ms', '0'),
    ('wf_diagram', 'definition', $$'lamp'$$), ('wf_diagram', 'version', '1'), ('wf_diagram', 'format', $$'dot'$$), ('wf_diagram', 'instance', NULL),
    ('wf_explain', 'instance', format('%L', t.i('nulls-panel'))),
    ('wf_activate', 'definition', $$'lamp'$$), ('wf_activate', 'version', '1'),
    ('wf_cancel', 'instance', format('%L', t.i('nulls'))), ('wf_cancel', 'reason', $$'so'$$), ('wf_cancel', 'expected_revision', '1'),
    ('wf_override', 'instance', format('%L', t.i('nulls'))), ('wf_override', 'event', $$'PRESS'$$), ('wf_override', 'reason', $$'so'$$), ('wf_override', 'expected_revision', '1'), ('wf_override', 'material_version', '1'),
    ('wf_adopt', 'definition', $$'lamp'$$), ('wf_adopt', 'business_key', $$'nulls-3'$$), ('wf_adopt', 'state', $$'ON'$$), ('wf_adopt', 'material', $$'{}'$$),
    ('wf_adopt', 'material_version', '1'), ('wf_adopt', 'version', '1'), ('wf_adopt', 'dry_run', 'false'),
    ('wf_migrate', 'definition', $$'nulls'$$), ('wf_migrate', 'from_version', '1'), ('wf_migrate', 'to_version', '2'), ('wf_migrate', 'state_map', $$'{}'$$),
    ('wf_migrate', 'dry_run', 'true'), ('wf_migrate', 'limit_rows', '1'),
    ('wf_purge', 'closed_before', $$'100 years'$$), ('wf_purge', 'limit_rows', '1'),
    ('wf_outbox_subscribe', 'consumer', $$'nulls'$$), ('wf_outbox_subscribe', 'from_start', 'true'), ('wf_outbox_unsubscribe', 'consumer', $$'nulls'$$),
    ('wf_outbox_claim', 'consumer', $$'nulls'$$), ('wf_outbox_claim', 'limit_rows', '1'), ('wf_outbox_claim', 'lease_ms', '1000'),
    ('wf_outbox_ack', 'consumer', $$'nulls'$$), ('wf_outbox_ack', 'claim', 'gen_random_uuid()'), ('wf_outbox_ack', 'ids', $$'{}'$$),
    ('wf_outbox_nack', 'consumer', $$'nulls'$$), ('wf_outbox_nack', 'claim', 'gen_random_uuid()'), ('wf_outbox_nack', 'ids', $$'{}'$$), ('wf_outbox_nack', 'delay_ms', '0'), ('wf_outbox_nack', 'error', $$'so'$$),
    ('wf_outbox_requeue', 'consumer', $$'nulls'$$), ('wf_outbox_requeue', 'ids', $$'{}'$$), ('wf_outbox_skip', 'consumer', $$'nulls'$$), ('wf_outbox_skip', 'ids', $$'{}'$$),
    ('wf_inbox_accept', 'source', $$'nulls'$$), ('wf_inbox_accept', 'message_id', $$'1'$$)) x(f, a, v)
UNION ALL
SELECT f, a, v FROM unnest('{wf_transition,wf_try_transition,wf_check}'::text[]) f CROSS JOIN (VALUES
    ('instance', format('%L', t.i('nulls'))), ('from_state', $$'OFF'$$), ('to_state', $$'ON'$$), ('expected_revision', '1'),
    ('material_version', '1'), ('event', $$'PRESS'$$), ('comment', $$'so'$$), ('payload', $$'{}'$$), ('request_id', $$'nulls'$$),
    ('lease_key', NULL), ('fence', NULL), ('wait_ms', '0')) x(a, v)
UNION ALL
SELECT f, 'on_refusal', $$'raise'$$ FROM unnest('{wf_define,wf_start,wf_transition,wf_transition_many,wf_send,wf_run_due,wf_supersede_material,wf_lock,wf_member_set,wf_member_remove,wf_decide,wf_task_claim,wf_task_release,wf_task_assign,wf_task_delegate,wf_task_transfer,wf_seat_add,wf_seat_remove,wf_withdraw,wf_outbox_subscribe,wf_outbox_unsubscribe,wf_outbox_claim,wf_outbox_ack,wf_outbox_nack,wf_outbox_requeue,wf_outbox_skip,wf_inbox_accept,wf_lease_acquire,wf_lease_acquire_many,wf_lease_steal,wf_lease_renew,wf_lease_release,wf_work_take,wf_work_finish,wf_work_fail,wf_work_extend,wf_work_give_back,wf_resource_set,wf_resource_consume,wf_resource_restock,wf_resource_consume_many,wf_activate,wf_cancel,wf_override,wf_adopt,wf_migrate,wf_purge,wf_limit_set}'::text[]) f
UNION ALL
SELECT f, a, v FROM unnest('{wf_define,wf_validate,wf_export,wf_start,wf_send,wf_run_due,wf_supersede_material,wf_lock,wf_member_set,wf_member_remove,wf_verify,wf_transition,wf_transition_many,wf_try_transition,wf_check,wf_decide,wf_task_claim,wf_task_release,wf_task_assign,wf_task_delegate,wf_task_transfer,wf_seat_add,wf_seat_remove,wf_withdraw,wf_worklist,wf_diagram,wf_explain,wf_outbox_subscribe,wf_outbox_unsubscribe,wf_outbox_claim,wf_outbox_ack,wf_outbox_nack,wf_outbox_requeue,wf_outbox_skip,wf_inbox_accept,wf_lease_acquire,wf_lease_acquire_many,wf_lease_steal,wf_lease_renew,wf_lease_release,wf_lease_inspect,wf_work_take,wf_work_finish,wf_work_fail,wf_work_extend,wf_work_give_back,wf_resource_set,wf_resource_consume,wf_resource_restock,wf_resource_consume_many,wf_activate,wf_cancel,wf_adopt,wf_migrate,wf_purge,wf_limit_set,wf_override}'::text[]) f
 CROSS JOIN (VALUES ('tenant', $$'default'$$), ('actor', $$'ann'$$), ('roles', $$'{}'$$), ('identity_token', NULL)) x(a, v);

CREATE FUNCTION pg_temp.call(f text, missing text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    BEGIN
        SELECT t.refusal(format('SELECT * FROM %I(%s)', f, string_agg(format('%I => %s', argument,
                   CASE WHEN argument = missing THEN 'NULL' ELSE coalesce(value, 'NULL') END), ', ')))
          INTO answer FROM given WHERE function = f;
        RAISE EXCEPTION USING ERRCODE = 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN answer;
    END;
END
$$;
-- with nothing missing everything works
SELECT function, pg_temp.call(function, '') FROM given GROUP BY 1 HAVING pg_temp.call(function, '') <> 'no error';
-- needed
SELECT function, argument, pg_temp.call(function, argument) AS null_gives
  FROM given WHERE value IS NOT NULL AND pg_temp.call(function, argument) <> 'no error'
 ORDER BY 1, 2;
-- may be left out
SELECT function, string_agg(argument, ' ' ORDER BY argument) AS may_be_null
  FROM given WHERE value IS NOT NULL AND pg_temp.call(function, argument) = 'no error'
 GROUP BY 1 ORDER BY 1;
-- all NULL: the first one that is needed
SELECT t.refusal($$SELECT * FROM wf_transition(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_start(NULL, NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_get()$$);
SELECT t.refusal($$SELECT * FROM wf_get(definition => 'lamp')$$);
SELECT t.refusal($$SELECT * FROM wf_get(business_key => 'nulls')$$);
SELECT t.refusal($$SELECT * FROM wf_decide(NULL, NULL, NULL, NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_seat_add(NULL, NULL, NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_as(NULL, 'a')$$);
SELECT t.refusal($$SELECT * FROM wf_as('a', NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_as('a', 'b', NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_as('a', 'b', '{NULL}')$$);
SELECT t.refusal($$SELECT wf_grant(NULL, 'reader')$$);
SELECT t.refusal($$SELECT wf_grant('pg_monitor', NULL)$$);
SELECT t.refusal($$SELECT wf_revoke(NULL, 'reader')$$);
SELECT t.refusal($$SELECT wf_revoke('pg_monitor', NULL)$$);
SELECT * FROM t.count('nulls');
SELECT o.applied FROM wf_outbox_unsubscribe('nulls') o;
SELECT t.refusal($$SELECT * FROM wf_outbox_ack('nulls', gen_random_uuid(), '{NULL}')$$);
SELECT o.applied FROM wf_member_remove('nulls-member') o;
SELECT * FROM wf_verify();
