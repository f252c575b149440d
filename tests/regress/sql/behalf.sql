-- Every change of hands is in the log and the timeline with who did it, and for whom: the delegate acts for
-- the delegator, and nobody for themselves.
SELECT t.panel('behalf', '{"seats": [{"name": "fin", "roles": []}, {"name": "law", "roles": []}]}');
SELECT t.open_panel('behalf', 'behalf');
SELECT t.task('behalf', 'fin') AS fin \gset
SELECT o.applied FROM wf_task_claim(:'fin', actor => 'ann') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'cay', actor => 'bob') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'ann', actor => 'cay') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann') o;
SELECT o.applied FROM wf_task_claim(:'fin', 60000, actor => 'bob') o;
SELECT o.applied FROM wf_task_release(:'fin', actor => 'bob') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann') o;
SELECT o.applied FROM wf_task_transfer(:'fin', 'dan', actor => 'bob') o;
SELECT o.applied FROM wf_task_release(:'fin', actor => 'dan') o;
SELECT o.applied FROM wf_task_delegate(:'fin', 'bob', actor => 'ann') o;
SELECT o.applied FROM wf_task_assign(:'fin', 'dan', actor => 'otto') o;
SELECT work, step, actor, behalf, to_actor FROM t.log('behalf');
SELECT * FROM wf_verify();
