-- Nothing is PUBLIC's; wf_grant hands out EXECUTE by capability, to roles of any name, and nothing more:
-- no capability lets anybody write a table.
CREATE FUNCTION pg_temp.may(who text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT 'function ' || p.proname
      FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
      JOIN pg_proc p ON p.oid = d.objid
     WHERE e.extname = 'workflow' AND has_function_privilege(who, p.oid, 'EXECUTE')
    UNION ALL
    SELECT CASE k.relkind WHEN 'v' THEN 'view ' ELSE 'table ' END || k.relname
      FROM pg_class k
     WHERE k.relnamespace = 'workflow'::regnamespace AND k.relkind IN ('r', 'v', 'S') AND has_table_privilege(who, k.oid, 'SELECT')
$$;
CREATE ROLE "My Role" LOGIN;
SELECT pg_temp.may('My Role') AS without;
SELECT has_schema_privilege('My Role', 'workflow', 'USAGE') AS schema;
CREATE TEMP TABLE capability (n serial, name text);
INSERT INTO capability (name) VALUES ('reader'), ('participant'), ('backend'), ('worker'), ('operator'), ('designer');
CREATE TEMP TABLE right_of (capability text, object text);
CREATE TEMP TABLE right_left (LIKE right_of);
CREATE TEMP TABLE writable (LIKE right_of);
DO $$
DECLARE
    c text;
BEGIN
    FOR c IN SELECT name FROM capability ORDER BY n LOOP
        PERFORM wf_grant('My Role', c);
        INSERT INTO right_of SELECT c, pg_temp.may('My Role');
        INSERT INTO writable SELECT c, k.relname FROM pg_class k
         WHERE k.relnamespace = 'workflow'::regnamespace AND k.relkind IN ('r', 'v')
           AND has_table_privilege('My Role', k.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');
        PERFORM wf_revoke('My Role', c);
        INSERT INTO right_left SELECT c, pg_temp.may('My Role');
        INSERT INTO right_left SELECT c, 'schema' WHERE has_schema_privilege('My Role', 'workflow', 'USAGE');
        DROP OWNED BY "My Role";
    END LOOP;
END
$$;
SELECT * FROM writable;
-- wf_revoke leaves nothing behind
SELECT * FROM right_left;
-- The access lists are what workflow.capabilities says; it lists nothing that is not there, and docs/security.md
-- says the same. The documentation is made of the lines that stand here as missing.
SELECT capability, object FROM right_of EXCEPT SELECT capability, object_kind || ' ' || object_name FROM workflow.capabilities;
SELECT capability, object_kind || ' ' || object_name FROM workflow.capabilities EXCEPT SELECT capability, object FROM right_of;
CREATE VIEW pg_temp.documented AS
SELECT format('| %s `%s` | %s |', split_part(r.object, ' ', 1), split_part(r.object, ' ', 2),
              string_agg(CASE WHEN h.capability IS NULL THEN '' ELSE 'yes' END, ' | ' ORDER BY c.n)) AS line
  FROM (SELECT DISTINCT object FROM right_of) r CROSS JOIN capability c
  LEFT JOIN right_of h ON h.object = r.object AND h.capability = c.name
 GROUP BY r.object;
\set page `sed -n '/^| function\|^| view\|^| table/p' docs/security.md`
SELECT line AS missing_in_docs FROM pg_temp.documented EXCEPT SELECT unnest(string_to_array(:'page', E'\n')) ORDER BY 1;
SELECT line AS wrong_in_docs FROM unnest(string_to_array(:'page', E'\n')) line WHERE line <> '' EXCEPT SELECT line FROM pg_temp.documented ORDER BY 1;
-- Nobody but the owner calls what no capability lists.
SELECT p.proname
  FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
  JOIN pg_proc p ON p.oid = d.objid
 WHERE e.extname = 'workflow' AND 'function ' || p.proname NOT IN (SELECT object FROM right_of) ORDER BY p.proname COLLATE "C";
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
SELECT wf_cancel(gen_random_uuid(), 'a', 1);
SELECT wf_override(gen_random_uuid(), 'E', 'a', 1, 1);
SELECT wf_purge('0');
CALL wf_purge_all('0');
SELECT wf_grant('My Role', 'operator');
SELECT workflow.refuse_change();
\set VERBOSITY default
RESET SESSION AUTHORIZATION;
SELECT x, t.refusal(x) FROM unnest(ARRAY[$$SELECT wf_grant('My Role', 'king')$$, $$SELECT wf_grant('My Role', '')$$, $$SELECT wf_grant('My Role', 'READER')$$,
    $$SELECT wf_grant('regress_nobody', 'reader')$$]) x;
-- wf_revoke: what another capability gives as well stays; a part of a larger one is not taken alone.
CREATE FUNCTION pg_temp.holds() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(c.name, ' ' ORDER BY c.n) FROM capability c
     WHERE NOT EXISTS (SELECT FROM workflow.capabilities w WHERE w.capability = c.name
                          AND NOT w.object_kind || ' ' || w.object_name = ANY (SELECT pg_temp.may('My Role')))
$$;
SELECT wf_grant('My Role', 'operator'), wf_grant('My Role', 'designer');
SELECT pg_temp.holds();
SELECT wf_revoke('My Role', 'operator');
SELECT pg_temp.holds();
SELECT wf_grant('My Role', 'backend');
SELECT x, t.refusal(x) FROM unnest(ARRAY[$$SELECT wf_revoke('My Role', 'participant')$$, $$SELECT wf_revoke('My Role', 'reader')$$, $$SELECT wf_revoke('My Role', 'king')$$,
    $$SELECT wf_revoke('regress_nobody', 'reader')$$, $$SELECT wf_revoke('public', 'reader')$$]) x;
SELECT wf_revoke('My Role', 'backend');
SELECT pg_temp.holds();
-- not held: nothing to take away, and nothing taken
SELECT wf_revoke('My Role', 'operator');
SELECT pg_temp.holds();
SELECT wf_revoke('My Role', 'designer');
SELECT pg_temp.holds(), has_schema_privilege('My Role', 'workflow', 'USAGE') AS schema;
DROP OWNED BY "My Role";
DROP ROLE "My Role";
SELECT * FROM wf_verify();
