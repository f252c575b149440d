-- Where self-approval is off nobody decides for the submitter either.
SELECT t.panel('proxy', '{"seats": [{"name": "fin", "roles": ["fin"]}], "self_approval": false}');
SELECT t.open_panel('proxy', 'proxy', 'sue');
SELECT o.applied FROM wf_task_assign(t.task('proxy', 'fin'), 'sue', actor => 'otto') o;
SELECT t.see(o) FROM wf_task_delegate(t.task('proxy', 'fin'), 'bob', on_refusal => 'return', actor => 'sue') o;
SELECT count(*) FROM (SELECT t.vote('proxy', 'fin', 'APPROVE', 'bob')) x;
SELECT count(*) AS decided_for_the_submitter FROM workflow.history h WHERE h.instance_id = t.i('proxy') AND h.on_behalf_of = 'sue';
SELECT * FROM wf_verify();
