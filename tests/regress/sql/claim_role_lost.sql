-- The acting person is checked on completion: whoever has lost the role by which they claimed a task may
-- no longer decide it.
SELECT t.panel('lost', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"]}]}');
SELECT t.open_panel('lost', 'lost');
SELECT o.applied FROM wf_member_set('lou', '{fin}') o;
SELECT o.applied FROM wf_task_claim(t.task('lost', 'fin'), actor => 'lou') o;
SELECT o.applied FROM wf_member_remove('lou') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'lou')$$, t.task('lost', 'fin')));
SELECT t.panel('lost-1', '{"seats": [{"name": "fin", "roles": ["fin"]}]}');
SELECT t.open_panel('lost-1', 'lost-1');
SELECT o.applied FROM wf_task_claim(t.task('lost-1', 'fin'), actor => 'lou', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'APPROVED', 1, 1, actor => 'lou', roles => '{}')$$, t.i('lost-1')));
SELECT * FROM wf_verify();
