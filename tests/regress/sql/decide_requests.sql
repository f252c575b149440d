-- R1, R2, R4 for wf_decide: the same vote with the same key is the same answer, also when the round or the
-- instance is over; another vote with it is WF008; a refusal owns no key.
SELECT t.panel('keyed', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT t.open_panel('keyed', 'keyed');
SELECT t.task('keyed', 'a') AS a, t.task('keyed', 'b') AS b, t.i('keyed') AS i \gset
SELECT t.see(o), o.detail FROM wf_decide(:'a', 'APPROVE', 1, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'ann') o;
SELECT t.see(o), o.detail FROM wf_decide(:'a', 'APPROVE', 1, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'ann') o;
SELECT i.work FROM workflow.instances i WHERE i.id = :'i';
-- anything else under this key
SELECT x, t.refusal('SELECT ' || format(x, :'a', :'b')) FROM unnest(ARRAY[$$wf_decide(%1$L, 'REJECT', 1, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'ann')$$, $$wf_decide(%1$L, 'APPROVE', 1, 1, 'no', '{"n": 1}', 'vote-a', actor => 'ann')$$,
    $$wf_decide(%1$L, 'APPROVE', 1, 1, 'yes', '{"n": 2}', 'vote-a', actor => 'ann')$$, $$wf_decide(%2$L, 'APPROVE', 1, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'ann')$$,
    $$wf_decide(%1$L, 'APPROVE', 1, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'bob')$$, $$wf_decide(%1$L, 'APPROVE', 2, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'ann')$$,
    $$wf_decide(%1$L, 'APPROVE', 1, 2, 'yes', '{"n": 1}', 'vote-a', actor => 'ann')$$]) x;
-- refused: no key, whichever way
SELECT t.see(o) FROM wf_decide(:'b', 'APPROVE', 1, 1, request_id => 'vote-b', on_refusal => 'return', actor => 'ann') o;
SELECT left(t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, request_id => 'vote-b', actor => 'ann')$$, :'b')), 5);
SELECT t.see(o), o.detail FROM wf_decide(:'b', 'APPROVE', 1, 1, request_id => 'vote-b', actor => 'bob') o;
-- the round is over and the instance closed: both are told what they were told
SELECT t.see(o), o.detail FROM wf_decide(:'b', 'APPROVE', 1, 1, request_id => 'vote-b', actor => 'bob') o;
SELECT t.see(o), o.detail FROM wf_decide(:'a', 'APPROVE', 1, 1, 'yes', '{"n": 1}', 'vote-a', actor => 'ann') o;
-- without the key it is late
SELECT left(t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, 'yes', '{"n": 1}', actor => 'ann')$$, :'a')), 5);
SELECT * FROM t.count('keyed');
SELECT l.request_id FROM workflow.task_log l WHERE l.instance_id = :'i';
SELECT h.request_id FROM workflow.history h WHERE h.instance_id = :'i' ORDER BY h.revision;
SELECT l.request_id, l.what FROM workflow.timeline l WHERE l.instance_id = :'i' AND l.request_id IS NOT NULL ORDER BY l.at;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, request_id => '')$$, :'a'));
SELECT left(t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, request_id => repeat('k', 10240))$$, :'a')), 5);
-- a vote inside a savepoint that is rolled back never was
SELECT t.open_panel('keyed', 'keyed-2');
BEGIN;
SAVEPOINT s;
SELECT t.vote('keyed-2', 'a', 'APPROVE', 'ann'), t.vote('keyed-2', 'b', 'APPROVE', 'bob');
ROLLBACK TO s;
SELECT t.vote('keyed-2', 'a', 'APPROVE', 'bob');
COMMIT;
SELECT * FROM t.log('keyed-2');
SELECT seat, status, by FROM t.seats('keyed-2');
SELECT * FROM wf_verify();
