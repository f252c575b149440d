-- Nothing is PUBLIC's; wf_grant hands out EXECUTE by capability, to roles of any name, and nothing more:
-- no capability lets anybody write a table.
CREATE FUNCTION pg_temp.may(who text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(p.proname, ' ' ORDER BY p.proname COLLATE "C")
      FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
      JOIN pg_proc p ON p.oid = d.objid
     WHERE e.extname = 'workflow' AND has_function_privilege(who, p.oid, 'EXECUTE')
$$;
CREATE ROLE "My Role" LOGIN;
SELECT pg_temp.may('My Role') AS without;
SELECT has_schema_privilege('My Role', 'workflow', 'USAGE') AS schema;
CREATE TEMP TABLE capability (n serial, name text);
INSERT INTO capability (name) VALUES ('reader'), ('participant'), ('backend'), ('worker'), ('operator'), ('designer');
DO $$
DECLARE
    c text;
    writable text;
BEGIN
    FOR c IN SELECT name FROM capability ORDER BY n LOOP
        PERFORM wf_grant('My Role', c);
        SELECT string_agg(k.relname, ' ') INTO writable FROM pg_class k
         WHERE k.relnamespace = 'workflow'::regnamespace AND k.relkind = 'r'
           AND has_table_privilege('My Role', k.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');
        RAISE NOTICE '%: % | writes: %', c, pg_temp.may('My Role'), coalesce(writable, 'nothing');
        DROP OWNED BY "My Role";
    END LOOP;
END
$$;
SELECT wf_grant('My Role', 'participant'), wf_grant('My Role', 'participant') AS again;
SET SESSION AUTHORIZATION "My Role";
SELECT o.applied, o.state FROM wf_start('lamp', 'grants', '{}') o;
SELECT * FROM wf_whoami();
-- the views are for every capability
SELECT (SELECT count(*) FROM workflow.worklist w WHERE w.business_key = 'grants') AS worklist, (SELECT count(*) FROM workflow.worklist_counts c WHERE c.role = 'none') AS counts,
       (SELECT count(*) FROM workflow.timeline l WHERE l.actor = 'My Role') AS timeline,
       (SELECT count(*) FROM workflow.contention n WHERE n.definition = 'none') AS contention;
-- what it was not given
\set VERBOSITY sqlstate
SELECT wf_define('{}');
SELECT wf_verify();
SELECT wf_as('a', 'b');
SELECT wf_task_assign(gen_random_uuid(), 'a');
SELECT wf_seat_add(gen_random_uuid(), '{}', 1);
SELECT wf_seat_remove(gen_random_uuid(), 'a', 1);
SELECT count(*) FROM workflow.tasks;
SELECT count(*) FROM workflow.task_log;
SELECT count(*) FROM workflow.refusals;
SELECT wf_member_set('a', '{}');
SELECT wf_grant('My Role', 'operator');
SELECT workflow.refuse_change();
\set VERBOSITY default
RESET SESSION AUTHORIZATION;
SELECT x, t.refusal(x) FROM unnest(ARRAY[$$SELECT wf_grant('My Role', 'king')$$, $$SELECT wf_grant('My Role', '')$$, $$SELECT wf_grant('My Role', 'READER')$$,
    $$SELECT wf_grant('regress_nobody', 'reader')$$]) x;
DROP OWNED BY "My Role";
DROP ROLE "My Role";
SELECT * FROM wf_verify();
