-- Rule "all", which is the default: the last seat in favour approves, the first against rejects. A vote
-- that does not decide bumps the work and not the revision, so voters do not collide.
SELECT t.panel('all', '{"seats": [{"name": "fin", "roles": []}, {"name": "law", "roles": []}, {"name": "tec", "roles": []}], "rule": "all"}');
SELECT t.open_panel('all', 'all');
SELECT * FROM t.tasks('all');
SELECT t.vote('all', 'fin', 'APPROVE', 'ann');
SELECT t.vote('all', 'law', 'APPROVE', 'bob');
-- both at the revision at which they began
SELECT i.revision, i.work, i.state, i.round, i.closed FROM workflow.instances i WHERE i.id = t.i('all');
SELECT * FROM t.history('all');
SELECT t.vote('all', 'tec', 'APPROVE', 'cay');
SELECT * FROM t.seats('all');
SELECT * FROM t.log('all');
SELECT r, step, event, decision, round, actor FROM t.history('all');
SELECT k.seat FROM workflow.history h JOIN workflow.tasks k ON k.id = h.task_id WHERE h.instance_id = t.i('all') AND h.revision = 2;
SELECT * FROM t.count('all');

-- one against is the end, whoever is still open; those are told why and by which revision
SELECT t.open_panel('all', 'all-no');
SELECT t.vote('all-no', 'law', 'APPROVE', 'bob');
SELECT t.task('all-no', 'tec') AS late \gset
SELECT t.vote('all-no', 'fin', 'REJECT', 'ann');
SELECT * FROM t.seats('all-no');
SELECT * FROM t.log('all-no');
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'cay')$$, :'late'));

-- the order does not matter
SELECT t.open_panel('all', 'all-back');
SELECT t.vote('all-back', 'tec', 'APPROVE', 'cay');
SELECT t.vote('all-back', 'law', 'APPROVE', 'bob');
SELECT t.vote('all-back', 'fin', 'APPROVE', 'ann');

-- a rule unsaid is "all"; comment and payload go with the vote
SELECT t.panel('unsaid', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT t.open_panel('unsaid', 'unsaid');
SELECT t.see(o), o.detail FROM wf_decide(t.task('unsaid', 'a'), 'APPROVE', 1, 1, 'looks good', '{"score": 7}', actor => 'ann') o;
SELECT t.see(o), o.detail FROM wf_decide(t.task('unsaid', 'b'), 'APPROVE', 1, 1, 'to me too', '{"score": 8}', actor => 'bob') o;
SELECT l.comment, l.payload FROM workflow.task_log l WHERE l.instance_id = t.i('unsaid');
SELECT h.revision, h.comment, h.payload FROM workflow.history h WHERE h.instance_id = t.i('unsaid') ORDER BY 1;
-- one seat: its verdict is a step, and no vote is counted
SELECT t.panel('single', '{"seats": [{"name": "reviewer", "roles": []}]}');
SELECT t.open_panel('single', 'single');
SELECT t.vote('single', 'reviewer', 'APPROVE', 'ann');
SELECT * FROM t.seats('single');
SELECT count(*) FROM t.log('single');
SELECT * FROM wf_verify();
