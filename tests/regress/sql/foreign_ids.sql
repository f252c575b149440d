-- I1: what belongs to another tenant is as absent as what never was: the same answer to the letter, for
-- every function, and nothing locked, not even for the moment.
SELECT * FROM wf_define(wf_export('review'), tenant => 'foreign');
SELECT o.instance_id AS i, o.application_id AS a, o.task_ids[1] AS k FROM wf_start('review', 'foreign', '{}', tenant => 'foreign', request_id => 'foreign-key') o \gset
SELECT o.applied FROM wf_outbox_subscribe('foreign', true, tenant => 'foreign') o;
SELECT l.acquired FROM wf_lease_acquire('foreign', 60000, tenant => 'foreign') l;
SELECT * FROM wf_define(jsonb_set(wf_export('lamp'), '{id}', '"foreign-lamp"'), tenant => 'foreign');
SELECT t.see(o) FROM wf_start('foreign-lamp', 'foreign-work', '{}', tenant => 'foreign') o;
SELECT w.instance_id AS w, w.fence AS f FROM wf_work_take('foreign-lamp', 'OFF', 'PRESS', 'foreign', tenant => 'foreign') w \gset
CREATE TEMP TABLE call (n serial, command text);
INSERT INTO call (command) VALUES ($$wf_transition(%1$L, 'SUBMITTED', 'APPROVED', 1, 1)$$), ($$wf_transition(%1$L, 'NO', 'NONE', 7, 7)$$),
    ($$wf_transition_many(jsonb_build_array(jsonb_build_object('instance', %1$L, 'from_state', 'SUBMITTED', 'to_state', 'APPROVED', 'expected_revision', 1, 'material_version', 1)))$$),
    ($$wf_try_transition(%1$L, 'SUBMITTED', 'APPROVED', 1, 1)$$), ($$wf_check(%1$L, 'SUBMITTED', 'APPROVED', 1, 1)$$),
    ($$wf_send(%1$L, 'WITHDRAW')$$), ($$wf_send(%1$L, 'APPROVE')$$), ($$wf_send(%1$L, 'WITHDRAW', lock_mode => 'pessimistic')$$), ($$wf_send(%1$L, 'NONE', on_refusal => 'return')$$),
    ($$wf_lock(%1$L)$$), ($$wf_lock(%1$L, on_refusal => 'return')$$), ($$wf_get(%1$L)$$), ($$wf_verify(%1$L)$$),
    ($$wf_explain(%1$L)$$), ($$wf_diagram(instance => %1$L)$$), ($$wf_diagram('review', format => 'svg', instance => %1$L)$$), ($$wf_seat_add(%1$L, '{"name": "s"}', 1)$$), ($$wf_seat_add(%1$L, '{"name": "reviewer"}', 7)$$), ($$wf_seat_remove(%1$L, 'reviewer', 1)$$), ($$wf_withdraw(%1$L, 1)$$), ($$wf_withdraw(%1$L, 7, on_refusal => 'return')$$),
    ($$wf_decide(%3$L, 'APPROVE', 1, 1)$$), ($$wf_decide(%3$L, 'NONE', 7, 7)$$), ($$wf_decide(%3$L, 'APPROVE', 1, 1, on_refusal => 'return')$$), ($$wf_task_claim(%3$L)$$), ($$wf_task_claim(%3$L, 60000, on_refusal => 'return')$$),
    ($$wf_task_release(%3$L)$$), ($$wf_task_assign(%3$L, 'bob')$$), ($$wf_task_delegate(%3$L, 'bob')$$), ($$wf_task_transfer(%3$L, 'bob')$$), ($$wf_worklist(after => %3$L, overdue_first => true)$$),
    ($$wf_cancel(%1$L, 'x', 1)$$), ($$wf_cancel(%1$L, 'x', 7, on_refusal => 'return')$$),
    ($$wf_override(%1$L, 'APPROVE', 'x', 1, 1)$$), ($$wf_override(%1$L, 'APPROVE', 'x', 7, 1, on_refusal => 'return')$$),
    ($$wf_lease_inspect('foreign')$$), ($$wf_lease_renew('foreign', %1$L, 1000)$$), ($$wf_lease_release('foreign', %1$L)$$),
    ($$wf_work_finish(%5$L, %4$L, 'PRESS')$$), ($$wf_work_finish(%5$L, 7, 'NONE', on_refusal => 'return')$$), ($$wf_work_fail(%5$L, %4$L, 'x')$$), ($$wf_work_extend(%5$L, %4$L, 1000)$$), ($$wf_work_give_back(%5$L, %4$L)$$), ($$wf_work_take('foreign-lamp', 'OFF', 'PRESS', 'w')$$),
    ($$wf_outbox_claim('foreign')$$), ($$wf_outbox_ack('foreign', %1$L, ARRAY[%2$L]::uuid[], on_refusal => 'return')$$), ($$wf_outbox_unsubscribe('foreign')$$),
    ($$wf_supersede_material(%2$L, 1, '{}')$$), ($$wf_supersede_material(%2$L, 7, '{}')$$), ($$wf_supersede_material(%2$L, 1, '{}', on_refusal => 'return')$$);
CREATE FUNCTION pg_temp.whole(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text; m text; d text; h text; n text;
BEGIN
    EXECUTE 'SELECT string_agg(x::text, chr(10)) FROM ' || command || ' x' INTO answer;
    RETURN coalesce(answer, 'no row');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, n = CONSTRAINT_NAME;
    RETURN concat_ws(chr(10), SQLSTATE, m, d, h, n);
END
$$;
SELECT n, command, pg_temp.whole(format(command, :'i'::uuid, :'a'::uuid, :'k'::uuid, :f, :'w'::uuid)) = pg_temp.whole(format(command, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid())) AS same,
       left(t.refusal('SELECT ' || format(command, :'i'::uuid, :'a'::uuid, :'k'::uuid, :f, :'w'::uuid)), 15) AS refusal
  FROM call ORDER BY n;
-- nothing is locked
BEGIN;
SELECT count(pg_temp.whole(format(command, :'i'::uuid, :'a'::uuid, :'k'::uuid, :f, :'w'::uuid))) FROM call WHERE command NOT LIKE '%return%' AND command NOT LIKE '%try%';
SELECT xmax = 0 AS instance_free FROM workflow.instances WHERE id = :'i';
SELECT xmax = 0 AS application_free FROM workflow.applications WHERE id = :'a';
SELECT xmax = 0 AS task_free FROM workflow.tasks WHERE instance_id = :'i';
SELECT count(*) AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN ('tuple', 'advisory');
COMMIT;
-- its names are free: business key, request key
SELECT t.see(o) FROM wf_start('review', 'foreign', '{}', request_id => 'foreign-key') o;
SELECT count(*) FROM workflow.history h WHERE h.instance_id = :'i';
SELECT count(*) FROM workflow.refusals f WHERE f.tenant_id = 'foreign';
SELECT pg_temp.whole($$wf_outbox_claim('foreign')$$) = pg_temp.whole($$wf_outbox_claim('nobody')$$) AS same;
SELECT count(*) AS foreign_events FROM wf_outbox_claim('foreign', tenant => 'foreign');
-- a list of everything says nothing about it
SELECT t.refusal($$SELECT wf_get(definition => 'review', business_key => 'foreign', tenant => 'foreign-2')$$);
SELECT o.applied FROM wf_outbox_unsubscribe('foreign', tenant => 'foreign') o;
SELECT * FROM wf_verify();
