-- wf_check knows request keys: the same command under its key is a replay, another one is WF008.
SELECT t.see(o) FROM wf_start('lamp', 'check-replay', '{}', actor => 'eve') o;
SELECT t.i('check-replay') AS i \gset
SELECT t.see(o) FROM wf_transition(:'i', 'OFF', 'ON', 1, 1, request_id => 'check-replay', actor => 'eve') o;
SELECT t.see(o) FROM wf_check(:'i', 'OFF', 'ON', 1, 1, request_id => 'check-replay', actor => 'eve') o;     -- applied ON r2 m1 by PRESS replayed
SELECT t.see(o) FROM wf_check(:'i', 'OFF', 'BROKEN', 1, 1, request_id => 'check-replay', actor => 'eve') o; -- WF008 request_mismatch
SELECT * FROM wf_verify();
