-- W7: every entry into a state opens a new round; votes of an earlier one do not count, and the same
-- people may vote again. Old tasks stay what they were.
SELECT t.panel('rounds', '{"seats": [{"name": "fin", "roles": []}, {"name": "law", "roles": []}, {"name": "tec", "roles": []}], "rule": {"approve": 2}}');
SELECT t.open_panel('rounds', 'rounds');
SELECT t.task('rounds', 'law') AS old_law, t.task('rounds', 'fin') AS old_fin, t.task('rounds', 'tec') AS old_tec \gset
SELECT t.vote('rounds', 'fin', 'APPROVE', 'ann');
SELECT t.vote('rounds', 'law', 'RETURN', 'bob');
SELECT t.see(o) FROM wf_transition(t.i('rounds'), 'REWORK', 'VOTE', 2, 1, actor => 'sue') o;
SELECT t.vote('rounds', 'fin', 'APPROVE', 'ann');
SELECT seat, round, status, favour, by, reason FROM t.seats('rounds');
-- forms of the first round, at either revision
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'cay')$$, :'old_tec'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 3, 1, actor => 'cay')$$, :'old_tec'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann')$$, :'old_fin'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 3, 1, actor => 'ann')$$, :'old_fin'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 3, 1, actor => 'bob')$$, :'old_law'));
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'cay')$$, :'old_tec'));
SELECT t.world() = :'before' AS nothing_happened;
SELECT t.vote('rounds', 'law', 'APPROVE', 'bob');
SELECT r, from_state, to_state, event, decision, round, m, actor FROM t.history('rounds');

-- a self-transition is an entry as well
SELECT t.open_panel('rounds', 'rounds-self');
SELECT t.vote('rounds-self', 'fin', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_send(t.i('rounds-self'), 'NOTE') o;
SELECT t.vote('rounds-self', 'law', 'APPROVE', 'ann');
SELECT t.vote('rounds-self', 'fin', 'APPROVE', 'bob');

-- new material: the round goes on with new tasks, and votes about the old one do not count
SELECT t.open_panel('rounds', 'rounds-material');
SELECT t.task('rounds-material', 'law') AS old_law, t.task('rounds-material', 'fin') AS old_fin \gset
SELECT t.vote('rounds-material', 'fin', 'APPROVE', 'ann');
SELECT u.applied, u.tasks FROM wf_supersede_material(t.a('rounds-material'), 1, '{"v": 2}', actor => 'sue') u;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'bob')$$, :'old_law'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 2, 2, actor => 'bob')$$, :'old_law'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 2, 1, actor => 'bob')$$, t.task('rounds-material', 'law')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 2, 2, actor => 'ann')$$, :'old_fin'));
SELECT t.vote('rounds-material', 'law', 'APPROVE', 'bob');
SELECT t.vote('rounds-material', 'fin', 'APPROVE', 'ann');
SELECT seat, round, m, status, favour, by, reason FROM t.seats('rounds-material');
SELECT * FROM wf_verify();
