-- The worklist at size: 1 000 000 completed and 100 000 open tasks. Shows the plan of each page that
-- wf_worklist can be asked for, and how long it takes.
--
--   createdb scratch && psql -X -d scratch -f tests/bench/worklist.sql
--
-- As a superuser, in an empty database of a server with the extension and auto_explain; a minute and 700 MB.
\set ON_ERROR_STOP on
\pset pager off
\timing off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS workflow;

-- Ids in order of time, as those that the engine makes.
CREATE FUNCTION pg_temp.id(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(1700000000000 + n), 12, '0') || '7000' || '8000' || lpad(to_hex(kind), 12, '0'))::uuid
$$;

\echo building …
INSERT INTO workflow.applications (tenant_id, id, business_key, material_version, starts, created_at, created_by)
SELECT CASE WHEN n % 5 = 0 THEN 'other' ELSE 'default' END, pg_temp.id(1, n * 11), 'order-' || n, 1, 1, now(), 'sue'
  FROM generate_series(1, 100000) n;
INSERT INTO workflow.instances (tenant_id, id, application_id, definition_id, definition, state, revision, work, round, material_version, entered_revision, concurrent, closed, started_by)
SELECT CASE WHEN n % 5 = 0 THEN 'other' ELSE 'default' END, pg_temp.id(2, n * 11), pg_temp.id(1, n * 11), pg_temp.id(3, 0), 'purchase', 'VOTE', 11, 0, 11, 1, 11, false, false, 'sue'
  FROM generate_series(1, 100000) n;
-- Ten rounds of each order are over, one is open. Of the open tasks nine in ten are finance's, a tenth is
-- legal's, and ten are the auditor's. A thousand people hold one in five of them; Rita holds three. One in
-- two has a due date, in no order.
INSERT INTO workflow.tasks (tenant_id, id, instance_id, seat, status, state, round, material_version, roles, veto, one_vote_each, opened_revision, opened_at,
            due_at, holder, closed_revision, closed_at, decision, in_favour, decided_by)
SELECT CASE WHEN n % 5 = 0 THEN 'other' ELSE 'default' END, pg_temp.id(4, n * 11 + r), pg_temp.id(2, n * 11), 'reviewer',
       CASE WHEN open THEN 'OPEN' ELSE 'COMPLETED' END::workflow.task_status, 'VOTE', r, 1,
       CASE WHEN n % 10007 = 1 THEN '{audit}' WHEN n % 10 = 1 THEN '{law,boss}' ELSE '{fin}' END::text[], false, true, r, now() - (1100000 - n * 11 - r) * interval '1 s',
       CASE WHEN n % 2 = 0 THEN now() + (n::bigint * 7919 % 100000 - 5000) * interval '1 min' END,
       CASE WHEN n IN (7, 50002, 99996) THEN 'Rita' WHEN n % 5 = 1 THEN 'person-' || n % 1000 END,
       CASE WHEN NOT open THEN r + 1 END, CASE WHEN NOT open THEN now() END, CASE WHEN NOT open THEN 'APPROVE' END, CASE WHEN NOT open THEN true END, CASE WHEN NOT open THEN 'ann' END
  FROM generate_series(1, 100000) n CROSS JOIN generate_series(1, 11) r CROSS JOIN LATERAL (SELECT r = 11) o(open);
VACUUM (ANALYZE) workflow.tasks, workflow.instances, workflow.applications;
SELECT k.status, count(*), count(*) FILTER (WHERE k.tenant_id = 'default') AS of_this_tenant, count(*) FILTER (WHERE 'audit' = ANY (k.roles)) AS audit, count(*) FILTER (WHERE k.holder = 'Rita') AS rita
  FROM workflow.tasks k GROUP BY 1;
SELECT c.relname, pg_size_pretty(pg_relation_size(c.oid)) AS size FROM pg_class c WHERE c.relnamespace = 'workflow'::regnamespace AND c.relname LIKE 'tasks%' ORDER BY 1;

SELECT k.id AS middle FROM workflow.tasks k WHERE k.id = pg_temp.id(4, 50002 * 11 + 11) \gset

-- The plans of the statements as the engine runs them, as notices.
LOAD 'auto_explain';
SELECT count(*) FROM wf_worklist();
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on;
SET auto_explain.log_level = notice;
SET client_min_messages = notice;
\timing on
\echo 'first page, oldest first'
SELECT count(*) FROM wf_worklist();
\echo 'a page in the middle'
SELECT count(*) FROM wf_worklist(after => :'middle');
\echo 'a role that many have: nine in ten tasks'
SELECT count(*) FROM wf_worklist(role => 'fin');
\echo 'one task in ten'
SELECT count(*) FROM wf_worklist(role => 'law');
\echo 'ten tasks of all'
SELECT count(*) FROM wf_worklist(role => 'audit');
\echo 'no task at all'
SELECT count(*) FROM wf_worklist(role => 'nobody');
\echo 'a person who holds some eighty'
SELECT count(*) FROM wf_worklist(assignee => 'person-1');
\echo 'a person who holds three'
SELECT count(*) FROM wf_worklist(assignee => 'Rita');
\echo 'first page by due date'
SELECT count(*) FROM wf_worklist(overdue_first => true);
\echo 'a page in the middle by due date'
SELECT count(*) FROM wf_worklist(overdue_first => true, after => :'middle');
\echo 'by due date, one task in ten'
SELECT count(*) FROM wf_worklist(overdue_first => true, role => 'law');
\echo 'by due date, ten tasks of all'
SELECT count(*) FROM wf_worklist(overdue_first => true, role => 'audit');
\echo 'by due date, a person who holds three'
SELECT count(*) FROM wf_worklist(overdue_first => true, assignee => 'Rita');
\echo 'counts per role'
SELECT * FROM workflow.worklist_counts;
