-- The worklist: a page of open tasks, by role, by assignee, oldest first or by due date, and the next page
-- from where the last one ended.
CREATE TEMP TABLE due (n int, due text);
INSERT INTO due VALUES (1, NULL), (2, 'PT4H'), (3, 'PT1S'), (4, 'PT4H'), (5, NULL), (6, 'PT2H'), (7, 'PT8H');
SELECT n, d.version FROM due CROSS JOIN LATERAL wf_define(jsonb_build_object('id', 'list-' || n, 'initial', 'VOTE', 'states', jsonb_build_object(
    'VOTE', jsonb_build_object('on', '{"DONE": {"target": "END", "meta": {"decision": "approve"}}}'::jsonb, 'meta', jsonb_build_object('on_supersede', 'stay', 'task', jsonb_strip_nulls(jsonb_build_object('due', due,
        'seats', jsonb_build_array(jsonb_build_object('name', 's' || n, 'roles', CASE WHEN n = 7 THEN '[]' WHEN n % 2 = 1 THEN '["odd", "all"]' ELSE '["even", "all"]' END::jsonb)))))), 'END', '{"type": "final"}'::jsonb)), tenant => 'list') d ORDER BY n;
SELECT n, t.see(o) FROM due CROSS JOIN LATERAL wf_start('list-' || n, 'list-' || n, '{}', tenant => 'list', actor => 'sue') o ORDER BY n;
CREATE TEMP VIEW task AS SELECT k.seat, k.id FROM workflow.tasks k WHERE k.tenant_id = 'list';
-- a page after a page, until there is none; how: further arguments
CREATE FUNCTION pg_temp.pages(how text, size int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    last uuid;
    page text;
    pages text;
BEGIN
    FOR i IN 1..20 LOOP
        EXECUTE format('SELECT string_agg(x.seat, '' '' ORDER BY x.n), (array_agg(x.task_id ORDER BY x.n DESC))[1]
                          FROM (SELECT w.seat, w.task_id, row_number() OVER () AS n FROM wf_worklist(limit_rows => %s, after => %L, tenant => ''list''%s) w) x', size, last, ', ' || nullif(how, ''))
           INTO page, last;
        EXIT WHEN page IS NULL;
        pages := concat_ws(' | ', pages, page);
    END LOOP;
    RETURN pages;
END
$$;
SELECT pg_sleep(1.1);
SELECT how, pg_temp.pages(how, 3) AS pages FROM unnest(ARRAY['', 'overdue_first => true', $$"role" => 'odd'$$, $$"role" => 'even'$$, $$"role" => 'all'$$, $$"role" => 'none'$$, $$"role" => 'ODD'$$, $$"role" => 'odd', overdue_first => true$$]) how;
SELECT size, pg_temp.pages('', size) AS pages, pg_temp.pages('overdue_first => true', size) AS by_due FROM unnest('{1,2,6,7,8,1000}'::int[]) size;
-- by assignee: who holds it, however it came to them
SELECT o.applied FROM task CROSS JOIN LATERAL wf_task_claim(task.id, actor => 'ann', roles => '{all}', tenant => 'list') o WHERE task.seat IN ('s2', 's6');
SELECT o.applied FROM task CROSS JOIN LATERAL wf_task_assign(task.id, 'ann', tenant => 'list') o WHERE task.seat = 's4';
SELECT o.applied FROM task CROSS JOIN LATERAL wf_task_delegate(task.id, 'bob', actor => 'ann', roles => '{all}', tenant => 'list') o WHERE task.seat = 's5';
SELECT how, pg_temp.pages(how, 2) AS pages FROM unnest(ARRAY[$$assignee => 'ann'$$, $$assignee => 'ann', overdue_first => true$$, $$assignee => 'bob'$$, $$assignee => 'ann', "role" => 'odd'$$, $$assignee => 'bob', "role" => 'odd'$$, $$assignee => 'nobody'$$]) how;
-- everything about it that a page needs
SELECT w.seat, w.roles, w.veto, w.holder, w.delegated_by, w.due_at - w.opened_at AS due, w.overdue, w.business_key, w.definition, w.state, w.round, w.revision, w.material_version,
       w.task_id = task.id AS task, w.instance_id = t.i(w.business_key, 'list') AS instance, w.application_id = t.a(w.business_key, 'list') AS application
  FROM wf_worklist(tenant => 'list') w JOIN task USING (seat) ORDER BY 1;
-- what is decided is gone; its id still says where to go on
SELECT o.state FROM task CROSS JOIN LATERAL wf_decide(task.id, 'DONE', 1, 1, actor => 'bob', tenant => 'list', roles => '{all}') o WHERE task.seat = 's3';
SELECT id AS third FROM task WHERE seat = 's3' \gset
SELECT string_agg(w.seat, ' ') FROM wf_worklist(after => :'third', tenant => 'list') w;
SELECT string_agg(w.seat, ' ') FROM wf_worklist(after => :'third', overdue_first => true, tenant => 'list') w;
-- the views
BEGIN;
SELECT w.tenant FROM wf_as('list', 'ann') w;
SELECT w.seat, w.roles, w.holder, w.delegated_by, w.overdue, w.business_key, w.state, w.revision FROM workflow.worklist w ORDER BY 1;
SELECT * FROM workflow.worklist_counts ORDER BY role;
COMMIT;
-- limits, and what is no page
SELECT x, t.refusal(format($$SELECT count(*) FROM wf_worklist(%s, tenant => 'list')$$, x)) FROM unnest(ARRAY['limit_rows => 0', 'limit_rows => -1', 'limit_rows => 1001', 'limit_rows => NULL', 'overdue_first => NULL',
    $$"role" => ''$$, $$assignee => ''$$, $$after => gen_random_uuid(), overdue_first => true$$]) x;
-- nobody sees another tenant's, by whichever way in
SELECT count(*) FROM wf_worklist(tenant => 'list-2');
SELECT count(*) FROM wf_worklist(role => 'odd', assignee => 'ann', tenant => 'list-2');
SELECT t.refusal(format($$SELECT count(*) FROM wf_worklist(after => %L, overdue_first => true, tenant => 'list-2')$$, :'third'));
SELECT count(*) FROM workflow.worklist w WHERE w.business_key LIKE 'list-%';
SELECT * FROM wf_verify();
