-- A claim that has run out holds nothing: no reader shows its holder as one, or its task as held.
SELECT t.panel('expired', '{"seats": [{"name": "fin", "roles": ["expired-fin"]}, {"name": "law", "roles": ["expired-law"]}]}');
SELECT t.open_panel('expired', 'expired');
SELECT t.task('expired', 'fin') AS fin \gset
SELECT o.applied FROM wf_task_claim(:'fin', 50, actor => 'exe', roles => '{expired-fin}') o;
SELECT pg_sleep(0.1);
SELECT w.holder FROM wf_worklist(role => 'expired-fin') w WHERE w.task_id = :'fin';
SELECT count(*) FROM wf_worklist(assignee => 'exe') w;
SELECT w.holder, w.held_until FROM workflow.worklist w WHERE w.task_id = :'fin';
SELECT k ->> 'holder' AS holder FROM wf_get(t.i('expired')) g CROSS JOIN jsonb_array_elements(g.open_tasks) k WHERE k ->> 'seat' = 'fin';
SELECT k ->> 'holder' AS holder FROM jsonb_array_elements(wf_explain(t.i('expired')) -> 'seats') k WHERE k ->> 'seat' = 'fin';
SELECT c.role, c.open, c.free FROM workflow.worklist_counts c WHERE c.role LIKE 'expired-%' ORDER BY 1;
-- what was delegated is the delegator's again, not everybody's
SELECT o.applied FROM wf_task_delegate(t.task('expired', 'law'), 'bob', actor => 'ann', roles => '{expired-law}') o;
SELECT o.applied FROM wf_task_claim(t.task('expired', 'law'), 50, actor => 'bob') o;
SELECT pg_sleep(0.1);
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'eve', roles => '{expired-law}')$$, t.task('expired', 'law')));
SELECT * FROM wf_verify();
