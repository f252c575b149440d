-- Row-level security on every table of the extension, whichever part made it: enabled, forced for the
-- owner too, one policy. The engine's statements name the tenant themselves and run without it; this is
-- for whoever was given a right to read a table. Set up here, by the script: pg_dump leaves policies of
-- an extension's tables out, so what the script makes is what a restore has.

CREATE TYPE workflow.repair AS (
    relation text,
    finding text
);
COMMENT ON TYPE workflow.repair IS 'Something wrong with a table''s row-level security, put right.';

CREATE FUNCTION wf_enable_tenancy() RETURNS SETOF workflow.repair
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    -- As the server shows them. A tenant that is not known is NULL, and equals nothing.
    own constant text := '(tenant_id = ( SELECT workflow.current_tenant() AS current_tenant))';
    shared constant text := '(tenant_id = ''*''::text)';
    kept record;
    foreign_policy record;
    broken_in text;
    found text;
BEGIN
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION USING
            ERRCODE = 'read_only_sql_transaction',
            MESSAGE = 'cannot execute wf_enable_tenancy() in a read-only transaction';
    END IF;
    FOR kept IN
        SELECT c.oid AS relation, c.relname, c.relrowsecurity, c.relforcerowsecurity,
               EXISTS (SELECT FROM pg_attribute a
                        WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped) AS has_tenant
          FROM pg_extension e
          JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
                          AND d.classid = 'pg_class'::regclass AND d.deptype = 'e'
          JOIN pg_class c ON c.oid = d.objid AND c.relkind IN ('r', 'p')
         WHERE e.extname = 'workflow'
         ORDER BY c.relname
    LOOP
        broken_in := kept.relname;
        IF NOT kept.relrowsecurity THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', kept.relation::regclass);
            found := 'row-level security was not enabled';
            RETURN QUERY SELECT broken_in, found;
        END IF;
        IF NOT kept.relforcerowsecurity THEN
            EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', kept.relation::regclass);
            found := 'row-level security was not forced';
            RETURN QUERY SELECT broken_in, found;
        END IF;
        -- A restrictive policy of somebody else only takes away; a permissive one would open the table.
        FOR foreign_policy IN
            SELECT p.polname
              FROM pg_policy p
             WHERE p.polrelid = kept.relation
               AND (p.polname IN ('tenant', 'shared') OR p.polpermissive)
               AND NOT (p.polname = 'tenant' AND kept.has_tenant AND p.polpermissive AND p.polcmd = '*'
                        AND p.polroles = '{0}' AND p.polwithcheck IS NULL
                        AND pg_get_expr(p.polqual, p.polrelid) = own)
               AND NOT (p.polname = 'shared' AND kept.relname = 'definitions' AND p.polpermissive AND p.polcmd = 'r'
                        AND p.polroles = '{0}' AND pg_get_expr(p.polqual, p.polrelid) = shared)
             ORDER BY p.polname
        LOOP
            EXECUTE format('DROP POLICY %I ON %s', foreign_policy.polname, kept.relation::regclass);
            found := format('policy %I was not the extension''s', foreign_policy.polname);
            RETURN QUERY SELECT broken_in, found;
        END LOOP;
        IF kept.has_tenant AND NOT EXISTS (SELECT FROM pg_policy p
                                            WHERE p.polrelid = kept.relation AND p.polname = 'tenant') THEN
            EXECUTE format('CREATE POLICY tenant ON %s USING '
                           '(tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant()))',
                           kept.relation::regclass);
            EXECUTE format('COMMENT ON POLICY tenant ON %s IS %L', kept.relation::regclass,
                           'The caller''s tenant only, read and written.');
            found := 'policy tenant was missing';
            RETURN QUERY SELECT broken_in, found;
        END IF;
        IF kept.relname = 'definitions' AND NOT EXISTS (SELECT FROM pg_policy p
                                                         WHERE p.polrelid = kept.relation AND p.polname = 'shared') THEN
            EXECUTE format('CREATE POLICY shared ON %s FOR SELECT USING (tenant_id OPERATOR(pg_catalog.=) ''*'')',
                           kept.relation::regclass);
            EXECUTE format('COMMENT ON POLICY shared ON %s IS %L', kept.relation::regclass,
                           'Everybody reads the definitions that serve all tenants.');
            found := 'policy shared was missing';
            RETURN QUERY SELECT broken_in, found;
        END IF;
    END LOOP;
END
$function$;
COMMENT ON FUNCTION wf_enable_tenancy IS 'Looks whether row-level security of every table of the extension is as the install script made it, and puts right what is not: one row per repair, none when all is well. A permissive policy of somebody else is removed; restrictive ones stay. For the owner of the tables.';
REVOKE ALL ON FUNCTION wf_enable_tenancy FROM PUBLIC;

SELECT pg_catalog.count(*) FROM @extschema@.wf_enable_tenancy();
