-- Who may call what. Rights live in the functions' own access lists, so that they are dumped,
-- shown by \df+ and revoked like any other right. A capability includes those listed with it.
CREATE FUNCTION wf_grant(role_name name, capability text) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    reader constant text[] := ARRAY['contention_counts', 'current_actor', 'current_tenant', 'wf_check', 'wf_explain',
        'wf_export', 'wf_get', 'wf_validate', 'wf_version', 'wf_whoami', 'wf_worklist'];
    participant constant text[] := reader || ARRAY['wf_decide', 'wf_lock', 'wf_send', 'wf_start',
        'wf_supersede_material', 'wf_task_claim', 'wf_task_delegate', 'wf_task_release',
        'wf_task_transfer', 'wf_transition', 'wf_try_transition', 'wf_withdraw'];
    privileged constant text[] := ARRAY['wf_seat_add', 'wf_seat_remove', 'wf_task_assign'];
    granted text[];
    call record;
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
    granted := CASE capability
        WHEN 'reader' THEN reader
        WHEN 'participant' THEN participant
        WHEN 'backend' THEN participant || privileged || ARRAY['wf_as']
        WHEN 'worker' THEN reader
        WHEN 'operator' THEN reader || privileged || ARRAY['wf_member_remove', 'wf_member_set', 'wf_verify']
        WHEN 'designer' THEN reader || ARRAY['wf_define']
    END;
    IF granted IS NULL THEN
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
    FOR call IN
        SELECT p.oid::regprocedure AS signature
          FROM pg_extension e
          JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
                          AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
          JOIN pg_proc p ON p.oid = d.objid
         WHERE e.extname = 'workflow' AND p.proname = ANY (granted)
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', call.signature, role_name);
        -- A GRANT by somebody who may not grant is only a warning.
        IF NOT has_function_privilege(role_name, call.signature, 'EXECUTE') THEN
            RAISE EXCEPTION USING
                ERRCODE = 'insufficient_privilege',
                MESSAGE = format('%I may not grant EXECUTE on %s', current_user, call.signature);
        END IF;
    END LOOP;
    EXECUTE format('GRANT USAGE ON SCHEMA workflow TO %I', role_name);
    EXECUTE format('GRANT SELECT ON workflow.worklist, workflow.worklist_counts, workflow.timeline, workflow.contention TO %I',
                   role_name);
    IF capability = 'operator' THEN
        EXECUTE format('GRANT SELECT ON workflow.refusals TO %I', role_name);
    END IF;
    RETURN capability;
END
$function$;
COMMENT ON FUNCTION wf_grant IS 'Gives a database role a capability: reader (wf_get, wf_check and other readers), participant (commands), backend (participant, and naming the person it calls for), worker, operator (members, wf_verify), designer (wf_define). For the owner of the functions. Gives the capability back. Errors: 22004, 22023 no such capability, 42704 no such role, 42501.';
REVOKE ALL ON FUNCTION wf_grant FROM PUBLIC;
