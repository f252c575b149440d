-- Calls from where a session may stand: cursors, prepared statements, an aborted transaction, with limits of
-- its own, all of which are as they were afterwards.
SELECT t.see(o) FROM wf_start('lamp', 'sessions', '{}') o;
SELECT t.i('sessions') AS i \gset
-- a cursor runs what is fetched of it, once
BEGIN;
DECLARE c CURSOR FOR SELECT n, t.see(o) FROM generate_series(1, 10) n CROSS JOIN LATERAL wf_send(t.i('sessions'), 'PRESS', to_jsonb(n)) o;
FETCH 2 FROM c;
SELECT g.revision FROM wf_get(:'i') g;
FETCH 1 FROM c;
CLOSE c;
COMMIT;
SELECT g.revision FROM wf_get(:'i') g;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
FETCH FIRST FROM c;
COMMIT;
SELECT g.revision FROM wf_get(:'i') g;
-- prepared, custom and generic
PREPARE press(uuid, bigint) AS SELECT t.see(o) FROM wf_transition($1, CASE WHEN $2 % 2 = 1 THEN 'OFF' ELSE 'ON' END, CASE WHEN $2 % 2 = 1 THEN 'ON' ELSE 'OFF' END, $2, 1) o;
EXECUTE press(:'i', 5);
EXECUTE press(:'i', 6);
EXECUTE press(:'i', 7);
EXECUTE press(:'i', 8);
EXECUTE press(:'i', 9);
EXECUTE press(:'i', 10);
EXECUTE press(:'i', 11);
\set VERBOSITY sqlstate
EXECUTE press(:'i', 11);
EXECUTE press(:'i', NULL);
\set VERBOSITY default
EXECUTE press(:'i', 12);
DISCARD PLANS;
EXECUTE press(:'i', 13);
DEALLOCATE ALL;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
DISCARD ALL;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
-- an aborted transaction stays aborted
BEGIN;
SELECT 1/0;
\set VERBOSITY sqlstate
SELECT wf_send(:'i', 'PRESS');
SELECT wf_transition(NULL, NULL, NULL, NULL, NULL);
SELECT wf_get(:'i');
\set VERBOSITY default
ROLLBACK;
SELECT g.revision FROM wf_get(:'i') g;
-- limits
SET lock_timeout = '1234ms';
SET statement_timeout = '59s';
SELECT t.see(o) FROM wf_transition(:'i', 'ON', 'OFF', 16, 1, wait_ms => 77) o;
SELECT t.see(o) FROM wf_try_transition(:'i', 'ON', 'OFF', 16, 1, wait_ms => 0) o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'ON', 'OFF', 16, 1, wait_ms => 0)$$, :'i'));
SHOW lock_timeout;
SHOW statement_timeout;
SHOW search_path;
SELECT current_user = session_user AS nobody_else;
-- row security switched off or on is no matter of the engine's
SET row_security = off;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
RESET row_security;
-- the other isolation levels
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS') o;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT t.see(o) FROM wf_start('lamp', 'sessions-2', '{}') o;
SELECT u.applied FROM wf_supersede_material(t.a('sessions-2'), 1, '{"v": 2}') u;
SELECT t.see(o) FROM wf_send(t.i('sessions-2'), 'BREAK', expected_revision => 2, material_version => 2) o;
COMMIT;
SELECT * FROM wf_verify();
