-- Transfer: the task is the other's for good; nothing comes back and nobody is acted for.
SELECT t.panel('transfer', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"]}]}');
SELECT t.open_panel('transfer', 'transfer');
SELECT t.task('transfer', 'fin') AS fin \gset
SELECT o.applied FROM wf_task_claim(:'fin', 60000, actor => 'ann', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_task_transfer(%L, 'eve', actor => 'eve', roles => '{fin}')$$, :'fin'));
SELECT t.see(o) FROM wf_task_transfer(:'fin', 'bob', actor => 'ann', roles => '{fin}') o;
SELECT k.holder, k.held_until, k.delegated_by FROM workflow.tasks k WHERE k.id = :'fin';
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin}')$$, :'fin'));
-- released it is everybody's of the role
SELECT t.see(o) FROM wf_task_release(:'fin', actor => 'bob') o;
SELECT k.holder FROM workflow.tasks k WHERE k.id = :'fin';
-- what was delegated to somebody is no longer acted for another once it is transferred
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann', roles => '{fin}') o;
SELECT o.applied FROM wf_task_transfer(:'fin', 'cay', actor => 'bob') o;
SELECT holder, delegator FROM t.seats('transfer') WHERE seat = 'fin';
SELECT t.vote('transfer', 'fin', 'APPROVE', 'cay');
-- ann's vote was not taken
SELECT t.vote('transfer', 'law', 'APPROVE', 'ann', '{law}');
SELECT seat, by, behalf FROM t.seats('transfer');
SELECT work, step, seat, actor, to_actor, event, favour FROM t.log('transfer');
SELECT work, actor, behalf FROM t.log('transfer') WHERE step = 'vote';
-- unclaimed: by one of the role only
SELECT t.open_panel('transfer', 'transfer-2');
SELECT t.refusal(format($$SELECT wf_task_transfer(%L, 'bob', actor => 'ann', roles => '{law}')$$, t.task('transfer-2', 'fin')));
SELECT t.see(o) FROM wf_task_transfer(t.task('transfer-2', 'fin'), 'bob', actor => 'ann', roles => '{fin}') o;
SELECT o.applied FROM wf_send(t.i('transfer-2'), 'NOTE') o;
SELECT t.refusal(format($$SELECT wf_task_transfer(%L, 'cay', actor => 'bob')$$, (SELECT k.id FROM workflow.tasks k WHERE k.instance_id = t.i('transfer-2') AND k.seat = 'fin' AND k.round = 1)));
SELECT x, t.refusal(format($$SELECT wf_task_transfer(%L, %L)$$, t.task('transfer-2', 'fin'), x)) FROM unnest(ARRAY['', NULL]) x;
SELECT * FROM wf_verify();
