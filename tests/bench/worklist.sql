-- The worklist at size: 1 000 000 completed and 100 000 open tasks. Shows the plan of each page that
-- wf_worklist can be asked for, and how long it takes.
--
--   createdb scratch && psql -X -d scratch -f tests/bench/worklist.sql
--
-- As a superuser, in an empty database of a server with the extension; a minute and 700 MB. The statements
-- are copies of WORKLIST and WORKLIST_BY_DUE in src/store/statements.rs, planned with their arguments known
-- as the engine has them planned.
\set ON_ERROR_STOP on
\pset pager off
\timing off
SET client_min_messages = warning;
CREATE EXTENSION workflow;

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

SET plan_cache_mode = force_custom_plan;
SET jit = off;
-- parameters: tenant, role, assignee, after, limit
PREPARE worklist (text, text, text, uuid, int) AS
SELECT t.id, t.seat, t.roles, t.veto,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.holder END,
            t.delegated_by, t.opened_at, t.due_at,
            COALESCE(t.due_at OPERATOR(pg_catalog.<) pg_catalog.clock_timestamp(), false),
            t.instance_id, i.application_id, a.business_key, i.definition, t.state, t.round,
            i.revision, t.material_version
       FROM workflow.tasks t
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
        AND i.id OPERATOR(pg_catalog.=) t.instance_id
       JOIN workflow.applications a
         ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
        AND a.id OPERATOR(pg_catalog.=) i.application_id
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
        AND ($2 IS NULL OR t.roles OPERATOR(pg_catalog.=) '{}'
             OR $2 OPERATOR(pg_catalog.=) ANY (t.roles))
        AND ($3 IS NULL OR t.holder OPERATOR(pg_catalog.=) $3)
        AND ($4 IS NULL OR t.id OPERATOR(pg_catalog.>) $4)
         ORDER BY t.id
         LIMIT $5;
-- and due date of the last one
PREPARE by_due (text, text, text, uuid, int, timestamptz) AS
SELECT t.id, t.seat, t.roles, t.veto,
            CASE WHEN t.held_until IS NULL
                   OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                 THEN t.holder END,
            t.delegated_by, t.opened_at, t.due_at,
            COALESCE(t.due_at OPERATOR(pg_catalog.<) pg_catalog.clock_timestamp(), false),
            t.instance_id, i.application_id, a.business_key, i.definition, t.state, t.round,
            i.revision, t.material_version
       FROM workflow.tasks t
       JOIN workflow.instances i
         ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
        AND i.id OPERATOR(pg_catalog.=) t.instance_id
       JOIN workflow.applications a
         ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
        AND a.id OPERATOR(pg_catalog.=) i.application_id
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
        AND t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
        AND ($2 IS NULL OR t.roles OPERATOR(pg_catalog.=) '{}'
             OR $2 OPERATOR(pg_catalog.=) ANY (t.roles))
        AND ($3 IS NULL OR t.holder OPERATOR(pg_catalog.=) $3)
        AND ($4 IS NULL
              OR ROW(COALESCE(t.due_at, 'infinity'), t.id) OPERATOR(pg_catalog.>) ROW($6, $4))
         ORDER BY COALESCE(t.due_at, 'infinity'), t.id
         LIMIT $5;
SELECT k.id AS middle, COALESCE(k.due_at, 'infinity') AS middle_due FROM workflow.tasks k WHERE k.id = pg_temp.id(4, 50002 * 11 + 11) \gset

\echo
\echo 'first page, oldest first'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', NULL, NULL, NULL, 50);
\echo 'a page in the middle'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', NULL, NULL, :'middle', 50);
\echo 'a role that many have: nine in ten tasks'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', 'fin', NULL, NULL, 50);
\echo 'one task in ten'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', 'law', NULL, NULL, 50);
\echo 'ten tasks of all'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', 'audit', NULL, NULL, 50);
\echo 'no task at all'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', 'nobody', NULL, NULL, 50);
\echo 'a person who holds some eighty'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', NULL, 'person-1', NULL, 50);
\echo 'a person who holds three'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE worklist('default', NULL, 'Rita', NULL, 50);
\echo 'first page by due date'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE by_due('default', NULL, NULL, NULL, 50, NULL);
\echo 'a page in the middle by due date'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE by_due('default', NULL, NULL, :'middle', 50, :'middle_due');
\echo 'by due date, one task in ten'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE by_due('default', 'law', NULL, NULL, 50, NULL);
\echo 'by due date, ten tasks of all'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE by_due('default', 'audit', NULL, NULL, 50, NULL);
\echo 'by due date, a person who holds three'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE by_due('default', NULL, 'Rita', NULL, 50, NULL);
\echo 'counts per role'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) SELECT * FROM workflow.worklist_counts;

-- The function as it is called, with all that goes round the statement.
\timing on
SELECT count(*) FROM wf_worklist();
SELECT count(*) FROM wf_worklist();
SELECT count(*) FROM wf_worklist(role => 'fin');
SELECT count(*) FROM wf_worklist(role => 'audit');
SELECT count(*) FROM wf_worklist(assignee => 'Rita');
SELECT count(*) FROM wf_worklist(overdue_first => true);
\timing off
