-- Due dates: from the entry into the state, shown in the worklist, kept when a task changes hands.
SELECT t.panel('due', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}], "due": "PT48H"}');
SELECT t.open_panel('due', 'due');
SELECT w.seat, w.due_at - w.opened_at AS due, w.overdue FROM wf_worklist(limit_rows => 1000) w WHERE w.business_key = 'due' ORDER BY w.task_id;
SELECT w.seat, w.due_at - w.opened_at AS due, w.overdue FROM workflow.worklist w WHERE w.business_key = 'due' ORDER BY w.task_id;
SELECT (k ->> 'due_at')::timestamptz - (k ->> 'opened_at')::timestamptz AS due FROM wf_get(t.i('due')) g CROSS JOIN jsonb_array_elements(g.open_tasks) k;
-- without: none, and never overdue
SELECT t.see(o) FROM wf_start('review', 'due-never', '{}') o;
SELECT w.seat, w.due_at, w.overdue FROM wf_worklist(limit_rows => 1000) w WHERE w.business_key = 'due-never';
SELECT w.seat, w.due_at, w.overdue FROM workflow.worklist w WHERE w.business_key = 'due-never';
-- a claim and a delegation keep it
SELECT min(k.due_at) AS due FROM workflow.tasks k WHERE k.instance_id = t.i('due') \gset
SELECT o.applied FROM wf_task_claim(t.task('due', 'a'), actor => 'ann') o;
SELECT o.applied FROM wf_task_delegate(t.task('due', 'a'), 'bob', actor => 'ann') o;
SELECT k.seat, k.due_at = :'due' AS kept FROM workflow.tasks k WHERE k.instance_id = t.i('due') ORDER BY k.id;
-- an entry into the state begins anew
SELECT o.revision FROM wf_send(t.i('due'), 'NOTE') o;
SELECT k.seat, k.due_at > :'due' AS later FROM workflow.tasks k WHERE k.instance_id = t.i('due') AND k.status = 'OPEN' ORDER BY k.id;
-- overdue
SELECT t.panel('overdue', '{"seats": [{"name": "a", "roles": []}], "due": "PT1S"}');
SELECT t.open_panel('overdue', 'overdue');
SELECT pg_sleep(1.1);
SELECT w.overdue FROM wf_worklist(limit_rows => 1000) w WHERE w.business_key = 'overdue';
SELECT w.overdue FROM workflow.worklist w WHERE w.business_key = 'overdue';
-- it can still be decided: a due date is for people
SELECT t.vote('overdue', 'a', 'APPROVE', 'ann');
-- every way to write a duration
SELECT d, t.panel('due-' || d, jsonb_build_object('seats', '[{"name": "a", "roles": []}]'::jsonb, 'due', d)), t.open_panel('due-' || d, 'due-' || d) FROM unnest('{P1D,P1W,PT1H30M,P1DT12H,P1Y2M}'::text[]) d;
SELECT d, k.due_at = k.opened_at + d::interval AS so FROM unnest('{P1D,P1W,PT1H30M,P1DT12H,P1Y2M}'::text[]) d JOIN workflow.tasks k ON k.instance_id = t.i('due-' || d);
SELECT * FROM wf_verify();
