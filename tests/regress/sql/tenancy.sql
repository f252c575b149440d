-- Row-level security: on every table, forced, by one policy; wf_enable_tenancy() puts right what is not. Who was
-- given a right to read a table sees the own tenant, and nobody who is not proved sees anything.
-- No table of the extension, whichever part made it, is without.
SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity, p.polname
  FROM pg_extension e
  JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_class'::regclass
  JOIN pg_class c ON c.oid = d.objid AND c.relkind IN ('r', 'p')
  LEFT JOIN pg_policy p ON p.polrelid = c.oid AND p.polname = 'tenant' AND p.polpermissive AND p.polcmd = '*'
 WHERE e.extname = 'workflow'
   AND NOT (c.relrowsecurity AND c.relforcerowsecurity
            AND (p.polname IS NOT NULL
                 OR NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')));
SELECT DISTINCT pg_get_expr(p.polqual, p.polrelid), p.polroles FROM pg_policy p WHERE p.polname = 'tenant';
-- every view is a barrier
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'workflow'::regnamespace AND c.relkind = 'v'
   AND NOT coalesce('security_barrier=true' = ANY (c.reloptions), false) AND NOT coalesce('security_barrier=on' = ANY (c.reloptions), false)
   AND NOT coalesce('security_barrier' = ANY (c.reloptions), false);
SELECT * FROM wf_enable_tenancy();

-- A login with a right that no capability gives: SELECT on every table.
SELECT o.applied FROM wf_start('lamp', 'tenancy', '{}') o;
SELECT e.version FROM wf_define(wf_export('lamp'), tenant => 'tenancy-b') e;
SELECT o.applied FROM wf_start('lamp', 'tenancy', '{}', tenant => 'tenancy-b', actor => 'ann') o;
SELECT o.applied FROM wf_member_set('regress_tenancy', '{}', tenant => 'tenancy-b') o;
CREATE ROLE regress_tenancy LOGIN;
SELECT wf_grant('regress_tenancy', 'reader');
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA workflow TO regress_tenancy;
CREATE FUNCTION pg_temp.tenants() RETURNS TABLE (relation name, tenants text[]) LANGUAGE plpgsql AS $$
BEGIN
    FOR relation IN SELECT c.table_name FROM information_schema.columns c JOIN pg_class k ON k.relname = c.table_name AND k.relnamespace = 'workflow'::regnamespace AND k.relkind = 'r'
                     WHERE c.table_schema = 'workflow' AND c.column_name = 'tenant_id' ORDER BY c.table_name COLLATE "C" LOOP
        EXECUTE format('SELECT array_agg(DISTINCT tenant_id) FROM workflow.%I', relation) INTO tenants;
        CONTINUE WHEN tenants IS NULL;
        RETURN NEXT;
    END LOOP;
END
$$;
SELECT cardinality(tenants) > 1 AS control FROM pg_temp.tenants() WHERE relation = 'instances';
SET SESSION AUTHORIZATION regress_tenancy;
SELECT tenant FROM wf_whoami();
SELECT relation FROM pg_temp.tenants() WHERE NOT tenants <@ CASE relation WHEN 'definitions' THEN '{*,tenancy-b}' ELSE '{tenancy-b}'::text[] END;
SELECT tenants FROM pg_temp.tenants() WHERE relation = 'instances';
-- nor does it write for another one
INSERT INTO workflow.members VALUES ('default', 'regress_tenancy', '{boss}');
UPDATE workflow.members SET tenant_id = 'default';
UPDATE workflow.applications SET business_key = 'x' WHERE tenant_id = 'default' RETURNING business_key;
-- what it says it is counts for nothing: it is no backend
SET workflow.tenant = 'default';
SELECT tenants FROM pg_temp.tenants() WHERE relation = 'instances';
RESET workflow.tenant;
RESET SESSION AUTHORIZATION;
-- not proved: nothing, in tables and views
SELECT o.applied FROM wf_member_set('regress_tenancy', '{}', tenant => 'tenancy-c') o;
SET SESSION AUTHORIZATION regress_tenancy;
SELECT wf_whoami();
\echo :LAST_ERROR_SQLSTATE
SELECT workflow.current_tenant() IS NULL AS tenant, workflow.current_actor() IS NULL AS actor;
SELECT * FROM pg_temp.tenants() WHERE NOT (relation = 'definitions' AND tenants = '{*}');
SELECT (SELECT count(*) FROM workflow.worklist) + (SELECT count(*) FROM workflow.timeline) AS seen;
RESET SESSION AUTHORIZATION;
SELECT o.applied FROM wf_member_remove('regress_tenancy', tenant => 'tenancy-c') o;

-- Taken apart, and put right.
ALTER TABLE workflow.tasks DISABLE ROW LEVEL SECURITY;
ALTER TABLE workflow.history NO FORCE ROW LEVEL SECURITY;
DROP POLICY tenant ON workflow.members;
DROP POLICY shared ON workflow.definitions;
CREATE POLICY all_of_it ON workflow.instances USING (true);
CREATE POLICY "less of it" ON workflow.outbox AS RESTRICTIVE USING (true);
ALTER POLICY tenant ON workflow.materials USING (true);
ALTER POLICY tenant ON workflow.refusals TO regress_tenancy;
SET SESSION AUTHORIZATION regress_tenancy;
SELECT relation FROM pg_temp.tenants() WHERE relation <> 'tasks' AND NOT tenants <@ CASE relation WHEN 'definitions' THEN '{*,tenancy-b}' ELSE '{tenancy-b}'::text[] END;
SELECT wf_enable_tenancy();
RESET SESSION AUTHORIZATION;
SELECT * FROM wf_enable_tenancy();
SELECT * FROM wf_enable_tenancy();
SET SESSION AUTHORIZATION regress_tenancy;
SELECT relation FROM pg_temp.tenants() WHERE NOT tenants <@ CASE relation WHEN 'definitions' THEN '{*,tenancy-b}' ELSE '{tenancy-b}'::text[] END;
RESET SESSION AUTHORIZATION;
DROP POLICY "less of it" ON workflow.outbox;
BEGIN READ ONLY;
SELECT wf_enable_tenancy();
ROLLBACK;

-- An owner who is no superuser is under the policies as well; the engine, which acts as the owner, is not, for it
-- names the tenant in every statement.
CREATE ROLE regress_owner NOLOGIN;
BEGIN;
GRANT USAGE, CREATE ON SCHEMA workflow TO regress_owner;
SELECT wf_grant('regress_owner', 'reader');
DO $$
DECLARE
    relation regclass;
BEGIN
    FOR relation IN SELECT oid FROM pg_class WHERE relnamespace = 'workflow'::regnamespace AND relkind IN ('r', 'v') LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO regress_owner', relation);
    END LOOP;
END
$$;
SELECT t.see(o) FROM wf_start('lamp', 'tenancy-owned', '{}', tenant => 'tenancy-b', actor => 'ann') o;
SELECT t.see(o) FROM wf_send(t.i('tenancy', 'tenancy-b'), 'PRESS', tenant => 'tenancy-b', actor => 'ann') o;
SET ROLE regress_owner;
SELECT DISTINCT tenant_id FROM workflow.instances;
SET LOCAL row_security = off;
SELECT count(*) FROM workflow.instances;
ROLLBACK;
REVOKE ALL ON ALL TABLES IN SCHEMA workflow FROM regress_tenancy;
DROP OWNED BY regress_tenancy, regress_owner;
DROP ROLE regress_tenancy, regress_owner;
SELECT * FROM wf_verify();
