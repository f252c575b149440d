-- Delegation: another person acts for the delegator, history and the log name both, and a release gives
-- the task back. What a delegate votes is the one vote of both.
SELECT t.panel('delegate', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"]}, {"name": "tec", "roles": ["tec"]}]}');
SELECT t.open_panel('delegate', 'delegate');
SELECT t.task('delegate', 'fin') AS fin \gset
SELECT o.applied FROM wf_task_claim(:'fin', actor => 'ann', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_task_delegate(%L, 'bob', actor => 'eve', roles => '{fin}')$$, :'fin'));
SELECT t.see(o) FROM wf_task_delegate(:'fin', 'bob', actor => 'ann', roles => '{fin}') o;
SELECT holder, delegator FROM t.seats('delegate') WHERE seat = 'fin';
SELECT w.holder, w.delegated_by FROM wf_worklist(assignee => 'bob') w WHERE w.business_key = 'delegate';
-- the delegator does not hold it now
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_transfer(%L, 'eve', actor => 'ann', roles => '{fin}')$$, :'fin'));
-- it comes back on release
SELECT t.see(o) FROM wf_task_release(:'fin', actor => 'bob') o;
SELECT holder, delegator FROM t.seats('delegate') WHERE seat = 'fin';
-- the delegate of a delegate acts for the first
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann', roles => '{fin}') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'cay', actor => 'bob') o;
SELECT holder, delegator FROM t.seats('delegate') WHERE seat = 'fin';
SELECT t.refusal(format($$SELECT wf_task_release(%L, actor => 'bob')$$, :'fin'));
-- and back to the delegator
SELECT o.applied FROM wf_task_delegate(:'fin', 'ann', actor => 'cay') o;
SELECT holder, delegator FROM t.seats('delegate') WHERE seat = 'fin';
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann') o;
-- the delegate needs no role of the seat: the delegator answers for it
SELECT t.vote('delegate', 'fin', 'APPROVE', 'bob', '{}');
SELECT seat, status, by, behalf, favour FROM t.seats('delegate');
-- one vote for both: neither may vote for another seat, nor be voted for
SELECT t.vote('delegate', 'law', 'APPROVE', 'ann', '{law}');
SELECT t.vote('delegate', 'law', 'APPROVE', 'bob', '{law}');
SELECT o.applied FROM wf_task_delegate(t.task('delegate', 'law'), 'dan', actor => 'ann', roles => '{law}') o;
SELECT t.vote('delegate', 'law', 'APPROVE', 'dan');
SELECT o.applied FROM wf_task_assign(t.task('delegate', 'law'), 'lea', actor => 'otto') o;
SELECT o.applied FROM wf_task_delegate(t.task('delegate', 'law'), 'bob', actor => 'lea') o;
SELECT t.vote('delegate', 'law', 'APPROVE', 'bob');
SELECT o.applied FROM wf_task_delegate(t.task('delegate', 'law'), 'dan', actor => 'bob') o;
SELECT t.vote('delegate', 'law', 'APPROVE', 'dan');
SELECT t.vote('delegate', 'tec', 'APPROVE', 'lea', '{tec}');
-- unclaimed, by one of the role; the step that closes the round names both
SELECT o.applied FROM wf_task_delegate(t.task('delegate', 'tec'), 'tom', actor => 'tea', roles => '{tec}') o;
SELECT t.vote('delegate', 'tec', 'APPROVE', 'tom');
SELECT work, step, seat, actor, to_actor, event, favour FROM t.log('delegate');
SELECT work, actor, behalf FROM t.log('delegate') WHERE step = 'vote';
SELECT h.revision, h.event, h.actor, h.on_behalf_of FROM workflow.history h WHERE h.instance_id = t.i('delegate') ORDER BY 1;
SELECT kind, actor, behalf, what FROM t.timeline('delegate') WHERE kind IN ('vote', 'edge');

-- one seat, decided by wf_transition or wf_send
SELECT t.panel('delegate-1', '{"seats": [{"name": "fin", "roles": ["fin"]}]}');
SELECT t.open_panel('delegate-1', 'delegate-1'), t.open_panel('delegate-1', 'delegate-2'), t.open_panel('delegate-1', 'delegate-3');
SELECT k, o.applied FROM unnest('{delegate-1,delegate-2,delegate-3}'::text[]) k CROSS JOIN LATERAL wf_task_delegate(t.task(k, 'fin'), 'bob', actor => 'ann', roles => '{fin}') o;
SELECT t.see(o) FROM wf_transition(t.i('delegate-1'), 'VOTE', 'APPROVED', 1, 1, actor => 'bob', roles => '{}') o;
SELECT t.see(o) FROM wf_send(t.i('delegate-2'), 'APPROVE', expected_revision => 1, material_version => 1, actor => 'bob', roles => '{}') o;
SELECT t.vote('delegate-3', 'fin', 'RETURN', 'bob');
SELECT k, h.actor, h.on_behalf_of, s.by, s.behalf FROM unnest('{delegate-1,delegate-2,delegate-3}'::text[]) k
  JOIN workflow.history h ON h.instance_id = t.i(k) AND h.revision = 2 CROSS JOIN LATERAL t.seats(k) s;
-- a delegation does not outlive its round
SELECT t.see(o) FROM wf_send(t.i('delegate-3'), 'RESUBMIT') o;
SELECT round, status, holder, delegator FROM t.seats('delegate-3');
-- to oneself: nothing is anybody else's
SELECT t.see(o) FROM wf_task_delegate(t.task('delegate-3', 'fin'), 'ann', actor => 'ann', roles => '{fin}') o;
SELECT holder, delegator FROM t.seats('delegate-3') WHERE status = 'OPEN';
SELECT x, t.refusal(format($$SELECT wf_task_delegate(%L, %L, actor => 'ann', roles => '{fin}')$$, t.task('delegate-3', 'fin'), x)) FROM unnest(ARRAY['', NULL]) x;
SELECT * FROM wf_verify();
