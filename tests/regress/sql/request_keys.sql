-- Which keys there are (R4), whose they are (R5), and that only what was applied owns one.
SELECT t.see(o) FROM wf_start('lamp', 'keys', '{}') o;
SELECT t.i('keys') AS i \gset
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OFF', 'ON', 1, 1, request_id => '')$$, :'i')) LIKE '22023 |%' AS empty,
       t.refusal(format($$SELECT wf_transition(%L, 'OFF', 'ON', 1, 1, request_id => repeat('k', 10240))$$, :'i')) LIKE '22023 |%' AS long,
       t.refusal(format($$SELECT wf_check(%L, 'OFF', 'ON', 1, 1, request_id => '')$$, :'i')) LIKE '22023 |%' AS "check",
       t.refusal(format($$SELECT wf_send(%L, 'PRESS', request_id => '')$$, :'i')) LIKE '22023 |%' AS send,
       t.refusal($$SELECT wf_start('lamp', 'keys-2', '{}', request_id => '')$$) LIKE '22023 |%' AS start,
       t.refusal(format($$SELECT wf_supersede_material(%L, 1, '{}', '')$$, t.a('keys'))) LIKE '22023 |%' AS supersede;
-- NULL is no key: each call counts
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => NULL) o;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => NULL) o;
-- keys that look alike are different keys
SELECT k, t.see(o) FROM unnest('{key,KEY," key","key ",кey,it''s a \"key\"}'::text[]) WITH ORDINALITY x(k, n)
 CROSS JOIN LATERAL wf_send(t.i('keys'), 'PRESS', request_id => k) o ORDER BY n;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => repeat('k', 200)) o;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => repeat('k', 200)) o;

-- a refusal leaves no key, raised or returned; then the key is free for another command
SELECT t.see(o) FROM wf_try_transition(:'i', 'OFF', 'ON', 1, 1, request_id => 'keys-refused') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OFF', 'ON', 1, 1, request_id => 'keys-refused')$$, :'i')) LIKE 'WF001 %' AS raised;
SELECT count(*) FROM workflow.requests q WHERE q.request_id = 'keys-refused';
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => 'keys-refused') o;
-- so does a rollback
BEGIN;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => 'keys-rolled-back') o;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => 'keys-rolled-back') o;
ROLLBACK;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => 'keys-rolled-back') o;
-- and a rollback to a savepoint, in the same transaction
BEGIN;
SAVEPOINT s;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', request_id => 'keys-savepoint') o;
ROLLBACK TO s;
SELECT t.see(o) FROM wf_send(:'i', 'BREAK', request_id => 'keys-savepoint') o;
COMMIT;

-- R5: another tenant's key is another key
SELECT * FROM wf_define('{"id": "lamp", "initial": "OFF", "states": {"OFF": {"on": {"PRESS": "ON"}}, "ON": {"on": {"PRESS": "OFF"}}}}', tenant => 'keys');
SELECT t.see(o) FROM wf_start('lamp', 'keys', '{}', request_id => 'keys-savepoint', tenant => 'keys') o;
SELECT t.see(o) FROM wf_send(t.i('keys', 'keys'), 'PRESS', request_id => 'key', tenant => 'keys') o;
SELECT t.see(o) FROM wf_send(t.i('keys', 'keys'), 'PRESS', request_id => 'key', tenant => 'keys') o;
SELECT q.tenant_id, q.command, q.outcome ->> 'state' AS state FROM workflow.requests q WHERE q.request_id IN ('keys-savepoint', 'key') ORDER BY q.tenant_id, q.request_id;
SELECT * FROM wf_verify();
