-- W5: assignment is the privileged way to give a task to a person, whoever holds it. An open form of the
-- one who held it is refused, and history never names them.
SELECT t.panel('assign', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"]}]}');
SELECT t.open_panel('assign', 'assign');
SELECT t.task('assign', 'fin') AS fin \gset
SELECT t.see(o) FROM wf_task_claim(:'fin', actor => 'ann', roles => '{fin}') o;
SELECT t.see(o) FROM wf_task_assign(:'fin', 'bob', actor => 'otto') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'ann', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_release(%L, actor => 'ann', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_delegate(%L, 'eve', actor => 'ann', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_transfer(%L, 'eve', actor => 'ann', roles => '{fin}')$$, :'fin'));
SELECT k.holder, k.held_until, k.status FROM workflow.tasks k WHERE k.id = :'fin';
SELECT w.seat, w.holder FROM wf_worklist(assignee => 'bob') w WHERE w.business_key = 'assign';
SELECT count(*) FROM wf_worklist(assignee => 'ann') w WHERE w.business_key = 'assign';
SELECT t.vote('assign', 'fin', 'APPROVE', 'bob', '{fin}');
SELECT t.vote('assign', 'law', 'APPROVE', 'lea', '{law}');
SELECT count(*) FROM workflow.history h WHERE h.instance_id = t.i('assign') AND 'ann' IN (h.actor, h.on_behalf_of);
SELECT * FROM t.log('assign');
SELECT * FROM t.seats('assign');
-- one seat, the same by wf_transition
SELECT t.panel('assign-1', '{"seats": [{"name": "fin", "roles": ["fin"]}]}');
SELECT t.open_panel('assign-1', 'assign-1');
SELECT o.applied FROM wf_task_claim(t.task('assign-1', 'fin'), actor => 'ann', roles => '{fin}') o;
SELECT o.applied FROM wf_task_assign(t.task('assign-1', 'fin'), 'bob', actor => 'otto') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'APPROVED', 1, 1, actor => 'ann', roles => '{fin}')$$, t.i('assign-1')));
SELECT t.see(o) FROM wf_transition(t.i('assign-1'), 'VOTE', 'APPROVED', 1, 1, actor => 'bob', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_task_assign(%L, 'ann', actor => 'otto')$$, t.task('assign-1', 'fin')));
-- unclaimed, anew to the same person, back to everybody
SELECT t.open_panel('assign-1', 'assign-2');
SELECT t.see(o) FROM wf_task_assign(t.task('assign-2', 'fin'), 'bob', actor => 'otto') o;
SELECT t.see(o) FROM wf_task_assign(t.task('assign-2', 'fin'), 'bob', actor => 'otto') o;
SELECT t.see(o) FROM wf_task_claim(t.task('assign-2', 'fin'), actor => 'bob', roles => '{fin}') o;
SELECT t.see(o) FROM wf_task_release(t.task('assign-2', 'fin'), actor => 'bob', roles => '{fin}') o;
SELECT holder FROM t.seats('assign-2');
-- the submitter where self-approval is off does not decide by assignment either
SELECT t.panel('assign-self', '{"seats": [{"name": "fin", "roles": []}], "self_approval": false}');
SELECT t.open_panel('assign-self', 'assign-self', 'sue');
SELECT o.applied FROM wf_task_assign(t.task('assign-self', 'fin'), 'sue', actor => 'otto') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'sue')$$, t.task('assign-self', 'fin')));
-- names
SELECT x, t.refusal(format($$SELECT wf_task_assign(%L, %L)$$, t.task('assign-2', 'fin'), x)) FROM unnest(ARRAY['', NULL]) x;
SELECT t.see(o) FROM wf_task_assign(t.task('assign-2', 'fin'), 'Łucja "the boss" O''Hara', actor => 'otto') o;
SELECT holder FROM t.seats('assign-2');
SELECT * FROM wf_verify();
