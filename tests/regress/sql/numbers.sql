-- A12: numbers at and beyond their ends. What no instance ever had is 22023, what it has not is WF001
-- or WF002; nothing wraps around.
SELECT t.see(o) FROM wf_start('review', 'numbers', '{}') o;
SELECT t.i('numbers') AS i, t.a('numbers') AS a \gset
SELECT t.world() AS before \gset
SELECT n, t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', %L, 1)$$, :'i', n)) AS transition,
       t.refusal(format($$SELECT wf_send(%L, 'APPROVE', expected_revision => %L, material_version => 1)$$, :'i', n)) AS send
  FROM unnest('{-9223372036854775808,-1,0,2,9223372036854775807}'::bigint[]) n;
SELECT n, t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, %L)$$, :'i', n)) AS transition,
       t.refusal(format($$SELECT wf_send(%L, 'APPROVE', expected_revision => 1, material_version => %L)$$, :'i', n)) AS send,
       t.refusal(format($$SELECT wf_supersede_material(%L, %L, '{}')$$, :'a', n)) AS supersede
  FROM unnest('{-2147483648,-1,0,2,2147483647}'::int[]) n;
SELECT t.refusal(format($$SELECT wf_check(%L, 'SUBMITTED', 'APPROVED', 0, 1)$$, :'i')),
       t.refusal(format($$SELECT wf_check(%L, 'SUBMITTED', 'APPROVED', 1, -1)$$, :'i'));
SELECT n, t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, wait_ms => %L)$$, :'i', n)) AS transition,
       t.refusal(format($$SELECT wf_send(%L, 'WITHDRAW', wait_ms => %L)$$, :'i', n)) AS send,
       t.refusal(format($$SELECT wf_lock(%L, %L)$$, :'i', n)) AS lock
  FROM unnest('{-2147483648,-1}'::int[]) n;
-- a fence without its key, and one of a lease that nobody holds
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, fence => 1)$$, :'i')) <> 'no error' AS refused;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, lease_key => 'k', fence => 1)$$, :'i')) <> 'no error' AS refused;
SELECT t.world() = :'before' AS nothing_happened;
-- too long to be waited for is no error
SELECT t.see(o) FROM wf_lock(:'i', 2147483647) o;
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1, wait_ms => 2147483647) o;
SELECT t.see(o) FROM wf_transition(:'i', 'APPROVED', 'SIGNED', 2, 1, wait_ms => 0) o;
SELECT * FROM wf_verify();
