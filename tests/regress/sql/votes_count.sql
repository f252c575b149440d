-- W6: two of five are enough. The second approval moves at once, what is open is SUPERSEDED with the
-- reason, and a third vote is told so: WF006 with what became of the task and by which revision.
SELECT t.panel('two', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": []}, {"name": "d", "roles": []}, {"name": "e", "roles": []}], "rule": {"approve": 2}}');
SELECT t.open_panel('two', 'two');
SELECT t.vote('two', 'a', 'APPROVE', 'ann');
SELECT t.vote('two', 'b', 'REJECT', 'bob');
SELECT t.vote('two', 'd', 'APPROVE', 'dan');
SELECT * FROM t.seats('two');
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'cay')$$, t.task('two', 'c')));
-- also for who has looked again
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 2, 1, actor => 'cay')$$, t.task('two', 'c')));
-- one who has voted, from an old page
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'bob')$$, t.task('two', 'b')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'dan')$$, t.task('two', 'd')));
SELECT t.world() = :'before' AS nothing_happened;
SELECT * FROM t.count('two');

-- rejected as soon as two in favour are out of reach: the fourth against
SELECT t.open_panel('two', 'two-no');
SELECT t.vote('two-no', 'a', 'REJECT', 'ann');
SELECT t.vote('two-no', 'b', 'REJECT', 'bob');
SELECT t.vote('two-no', 'c', 'APPROVE', 'cay');
SELECT t.vote('two-no', 'd', 'REJECT', 'dan');
SELECT t.vote('two-no', 'e', 'REJECT', 'eve');
SELECT * FROM t.seats('two-no');

-- "any": one is enough, all against reject
SELECT t.panel('any', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}], "rule": "any"}');
SELECT t.open_panel('any', 'any');
SELECT t.vote('any', 'b', 'APPROVE', 'bob');
SELECT * FROM t.seats('any');
SELECT t.open_panel('any', 'any-no');
SELECT t.vote('any-no', 'a', 'REJECT', 'ann');
SELECT t.vote('any-no', 'b', 'REJECT', 'bob');
-- one against, then one in favour
SELECT t.open_panel('any', 'any-both');
SELECT t.vote('any-both', 'a', 'REJECT', 'ann');
SELECT t.vote('any-both', 'b', 'APPROVE', 'bob');
SELECT * FROM wf_verify();
