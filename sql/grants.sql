-- Hands out what workflow.capabilities lists. Rights live in the access lists of the functions, views
-- and tables themselves, so that they are dumped, shown by \df+ and revoked like any other right.
CREATE FUNCTION wf_grant(role_name name, capability text) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    given record;
BEGIN
    -- Before anything else, as every writer says it; a standby's transactions are read-only.
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION USING
            ERRCODE = 'read_only_sql_transaction',
            MESSAGE = 'cannot execute wf_grant() in a read-only transaction';
    END IF;
    IF role_name IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'role_name must not be null';
    END IF;
    IF capability IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'capability must not be null';
    END IF;
    IF NOT EXISTS (SELECT FROM workflow.capabilities c WHERE c.capability = wf_grant.capability) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'capability must be reader, participant, backend, worker, operator or designer';
    END IF;
    -- Not by name alone: GRANT takes the word public for everybody.
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role_name) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'undefined_object',
            MESSAGE = format('there is no database role %s', quote_literal(role_name));
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA workflow TO %I', role_name);
    FOR given IN
        SELECT p.oid AS routine, p.oid::regprocedure AS signature
          FROM workflow.capabilities c
          JOIN pg_proc p ON p.proname = c.object_name
          JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                          AND d.refclassid = 'pg_extension'::regclass
          JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'workflow'
         WHERE c.capability = wf_grant.capability AND c.object_kind = 'function'
         ORDER BY p.proname
    LOOP
        EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %I', given.signature, role_name);
        -- A GRANT by somebody who may not grant is only a warning.
        IF NOT has_function_privilege(role_name, given.routine, 'EXECUTE') THEN
            RAISE EXCEPTION USING
                ERRCODE = 'insufficient_privilege',
                MESSAGE = format('%I may not grant EXECUTE on %s', current_user, given.signature);
        END IF;
    END LOOP;
    FOR given IN
        SELECT DISTINCT c.object_name AS relation
          FROM workflow.capabilities c
         WHERE c.capability = wf_grant.capability AND c.object_kind <> 'function'
         ORDER BY c.object_name
    LOOP
        EXECUTE format('GRANT SELECT ON workflow.%I TO %I', given.relation, role_name);
    END LOOP;
    RETURN capability;
END
$function$;
COMMENT ON FUNCTION wf_grant IS 'Gives a database role a capability: reader (wf_get, wf_check and other readers), participant (commands), backend (participant, and naming the person it calls for), worker (consumes events), operator (members, consumers, dead letters, wf_verify), designer (wf_define); workflow.capabilities lists what each may do. For the owner of the functions. Gives the capability back. Errors: 22004, 22023 no such capability, 42704 no such role, 42501.';
REVOKE ALL ON FUNCTION wf_grant FROM PUBLIC;

CREATE FUNCTION wf_revoke(role_name name, capability text) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    keeps text[];
    holder oid;
    lost record;
BEGIN
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION USING
            ERRCODE = 'read_only_sql_transaction',
            MESSAGE = 'cannot execute wf_revoke() in a read-only transaction';
    END IF;
    IF role_name IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'role_name must not be null';
    END IF;
    IF capability IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'capability must not be null';
    END IF;
    IF NOT EXISTS (SELECT FROM workflow.capabilities c WHERE c.capability = wf_revoke.capability) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'capability must be reader, participant, backend, worker, operator or designer';
    END IF;
    SELECT r.oid INTO holder FROM pg_roles r WHERE r.rolname = role_name;
    IF holder IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'undefined_object',
            MESSAGE = format('there is no database role %s', quote_literal(role_name));
    END IF;
    -- The other capabilities that the role was given, by the functions that only they give.
    SELECT array_agg(DISTINCT c.capability) INTO keeps
      FROM workflow.capabilities c
      JOIN pg_proc p ON p.proname = c.object_name
      JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                      AND d.refclassid = 'pg_extension'::regclass
      JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'workflow'
      CROSS JOIN LATERAL aclexplode(p.proacl) a
     WHERE c.telling AND c.object_kind = 'function' AND a.grantee = holder AND a.privilege_type = 'EXECUTE'
       AND c.capability <> wf_revoke.capability
       -- What the revoked capability includes came with it.
       AND NOT EXISTS (SELECT FROM workflow.capabilities i
                        WHERE i.capability = wf_revoke.capability AND i.inherited
                          AND i.object_kind = c.object_kind AND i.object_name = c.object_name);
    IF EXISTS (SELECT FROM workflow.capabilities k
                WHERE k.capability = ANY (keeps) AND k.inherited AND k.object_kind = 'function'
                  AND EXISTS (SELECT FROM workflow.capabilities c
                               WHERE c.capability = wf_revoke.capability AND c.telling
                                 AND c.object_kind = 'function' AND c.object_name = k.object_name)) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'dependent_objects_still_exist',
            MESSAGE = format('%I holds another capability, which includes %s', role_name, capability),
            DETAIL = format('It holds %s.', array_to_string(keeps, ', ')),
            HINT = 'Revoke that one.';
    END IF;
    FOR lost IN
        SELECT p.oid::regprocedure AS signature
          FROM workflow.capabilities c
          JOIN pg_proc p ON p.proname = c.object_name
          JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                          AND d.refclassid = 'pg_extension'::regclass
          JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'workflow'
         WHERE c.capability = wf_revoke.capability AND c.object_kind = 'function'
           AND NOT EXISTS (SELECT FROM workflow.capabilities k
                            WHERE k.capability = ANY (keeps) AND k.object_kind = c.object_kind
                              AND k.object_name = c.object_name)
         ORDER BY p.proname
    LOOP
        EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM %I', lost.signature, role_name);
        -- A REVOKE by somebody who did not grant takes nothing away.
        IF EXISTS (SELECT FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a
                    WHERE p.oid = lost.signature AND a.grantee = holder) THEN
            RAISE EXCEPTION USING
                ERRCODE = 'insufficient_privilege',
                MESSAGE = format('%I may not revoke EXECUTE on %s', current_user, lost.signature);
        END IF;
    END LOOP;
    FOR lost IN
        SELECT DISTINCT c.object_name AS relation
          FROM workflow.capabilities c
         WHERE c.capability = wf_revoke.capability AND c.object_kind <> 'function'
           AND NOT EXISTS (SELECT FROM workflow.capabilities k
                            WHERE k.capability = ANY (keeps) AND k.object_kind = c.object_kind
                              AND k.object_name = c.object_name)
         ORDER BY c.object_name
    LOOP
        EXECUTE format('REVOKE SELECT ON workflow.%I FROM %I', lost.relation, role_name);
    END LOOP;
    IF keeps IS NULL THEN
        EXECUTE format('REVOKE USAGE ON SCHEMA workflow FROM %I', role_name);
    END IF;
    RETURN capability;
END
$function$;
COMMENT ON FUNCTION wf_revoke IS 'Takes a capability from a database role, with all that came with it; what another capability of the role gives as well it keeps. For the owner of the functions. Gives the capability back. Errors: 22004, 22023 no such capability, 42704 no such role, 2BP01 the role holds a capability that includes this one, 42501.';
REVOKE ALL ON FUNCTION wf_revoke FROM PUBLIC;
