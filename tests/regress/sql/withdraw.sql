-- W8, one after the other: the submitter takes the question back while nobody has decided; afterwards
-- everybody is told by which revision it ended.
SELECT t.panel('withdraw', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT t.open_panel('withdraw', 'withdraw', 'sue');
SELECT t.i('withdraw') AS i \gset
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 1, actor => 'ann')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 2, actor => 'ann')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 2, actor => 'sue')$$, :'i'));
SELECT t.world() = :'before' AS nothing_happened;
SELECT o.applied FROM wf_task_claim(t.task('withdraw', 'a'), actor => 'ann') o;
SELECT t.see(o) FROM wf_withdraw(:'i', 1, 'no longer needed', actor => 'sue') o;
SELECT i.closed, i.revision FROM workflow.instances i WHERE i.id = :'i';
SELECT seat, status, closed, reason FROM t.seats('withdraw');
SELECT * FROM t.history('withdraw');
SELECT x.type, x.revision FROM workflow.outbox x WHERE x.aggregateid = :'i'::text ORDER BY 2;
-- the reviewer is told
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann')$$, t.task('withdraw', 'a')));
SELECT t.refusal(format($$SELECT wf_send(%L, 'NOTE')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'REWORK', 2, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 1, actor => 'sue')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 2, actor => 'sue')$$, :'i'));
-- new material is not this instance's any more, and another may be started
SELECT u.applied, u.instances, u.tasks FROM wf_supersede_material(t.a('withdraw'), 1, '{"v": 2}', actor => 'sue') u;
SELECT t.see(o) FROM wf_start('withdraw', 'withdraw', actor => 'sue') o;
SELECT count(*) FROM wf_worklist(limit_rows => 1000) w WHERE w.business_key = 'withdraw';

-- the reviewer was faster: not after a vote, nor after the verdict
SELECT t.open_panel('withdraw', 'withdraw-2', 'sue');
SELECT t.vote('withdraw-2', 'b', 'APPROVE', 'bob');
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 1, actor => 'sue')$$, t.i('withdraw-2')));
SELECT t.vote('withdraw-2', 'a', 'APPROVE', 'ann');
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 1, actor => 'sue')$$, t.i('withdraw-2')));
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 2, actor => 'sue')$$, t.i('withdraw-2')));
-- the author of the present material
SELECT t.open_panel('withdraw', 'withdraw-4', 'sue');
SELECT u.applied FROM wf_supersede_material(t.a('withdraw-4'), 1, '{"v": 2}', actor => 'ada') u;
SELECT t.refusal(format($$SELECT wf_withdraw(%L, 2, actor => 'ann')$$, t.i('withdraw-4')));
SELECT t.see(o) FROM wf_withdraw(t.i('withdraw-4'), 2, actor => 'ada') o;
-- in the next round, with nobody having voted in that
SELECT t.open_panel('withdraw', 'withdraw-5', 'sue');
SELECT t.vote('withdraw-5', 'a', 'APPROVE', 'ann'), t.vote('withdraw-5', 'b', 'RETURN', 'bob');
SELECT t.see(o) FROM wf_send(t.i('withdraw-5'), 'RESUBMIT', actor => 'sue') o;
SELECT t.see(o) FROM wf_withdraw(t.i('withdraw-5'), 3, actor => 'sue') o;
SELECT seat, round, status, by FROM t.seats('withdraw-5');
SELECT kind, r, work, actor FROM t.timeline('withdraw-5');
SELECT x, t.refusal(format($$SELECT wf_withdraw(%L, %s)$$, :'i', x)) FROM unnest('{0,-1}'::text[]) x;
SELECT * FROM wf_verify();
