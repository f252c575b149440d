-- What operators do: end an instance, take one in that stands somewhere already, carry instances
-- over to another version, remove old ones.
--
-- A function does one bounded batch in the caller's transaction. The procedure of the same name with
-- _all commits after each batch, so it can't run inside a transaction block. While it works, it says
-- how far it is in application_name of pg_stat_activity, and by a NOTICE per batch.

CREATE FUNCTION wf_activate(
    definition text,
    version int,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.published ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_activate';
COMMENT ON FUNCTION wf_activate IS 'Makes a published version of the tenant''s own the one that wf_start takes. Running instances stay on theirs. Errors: WF005 no such version.';
REVOKE ALL ON FUNCTION wf_activate FROM PUBLIC;

CREATE FUNCTION wf_cancel(
    instance uuid,
    reason text,
    expected_revision bigint,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_cancel';
COMMENT ON FUNCTION wf_cancel IS 'Ends an instance in the state in which it stands: privileged. Its open tasks are CANCELLED, and history gets a step cancel with the reason. Errors: 22023 no reason, WF001, WF005, WF013.';
REVOKE ALL ON FUNCTION wf_cancel FROM PUBLIC;

CREATE FUNCTION wf_override(
    instance uuid,
    event text,
    reason text,
    expected_revision bigint,
    material_version int,
    payload jsonb DEFAULT NULL,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_override';
COMMENT ON FUNCTION wf_override IS 'Takes the edge of an event in the place of those who are asked: roles, seats and their votes, holders of tasks and separation of duties are set aside; revision, material, lease, guards and resources are not. History gets a step override with the operator and the reason, which must not be empty; open tasks are SUPERSEDED. Errors: 22023 no reason, WF001, WF002, WF003, WF004, WF005, WF008, WF009, WF011, WF012, WF013.';
REVOKE ALL ON FUNCTION wf_override FROM PUBLIC;

CREATE FUNCTION wf_adopt(
    definition text,
    business_key text,
    state text,
    material jsonb DEFAULT NULL,
    material_version int DEFAULT 1,
    version int DEFAULT NULL,
    dry_run boolean DEFAULT false,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_adopt';
COMMENT ON FUNCTION wf_adopt IS 'Takes in a business object that has reached a state without the engine: an instance that stands there, with the tasks of the state; a new application gets the material under material_version. dry_run: the outcome it would have, as an answer, never an error; nothing is written or locked. Errors: WF002 the material or its version differs from the one in force, WF004 no such state, WF005 no such definition, WF018.';
REVOKE ALL ON FUNCTION wf_adopt FROM PUBLIC;

CREATE INDEX instances_version ON workflow.instances (tenant_id, definition_id, id) WHERE NOT closed;

CREATE FUNCTION wf_migrate(
    definition text,
    from_version int,
    to_version int,
    state_map jsonb DEFAULT '{}',
    dry_run boolean DEFAULT true,
    limit_rows int DEFAULT 1000,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_migrate';
COMMENT ON FUNCTION wf_migrate IS 'Carries up to limit_rows (1 to 10000) open instances of one version over to another. state_map: {"old state": "new state"} where the names differ. Where a state keeps its name and its task, round, votes, claims and due dates stay; anywhere else the state is entered anew, with new tasks. detail: migrated, busy (in use by others for longer than workflow.wait_ms, left as they were), more. dry_run (default): how many would go where, or code WF017 with the instances in the way, as an answer, never an error. Errors: 22023, WF005, WF017.';
REVOKE ALL ON FUNCTION wf_migrate FROM PUBLIC;

CREATE PROCEDURE wf_migrate_all(
    definition text,
    from_version int,
    to_version int,
    state_map jsonb DEFAULT '{}',
    limit_rows int DEFAULT 1000,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) LANGUAGE plpgsql AS $procedure$
DECLARE
    answer workflow.outcome;
    total pg_catalog.int8;
    done pg_catalog.int8 := 0;
    patient pg_catalog.bool := false;
BEGIN
    SELECT * INTO answer FROM @extschema@.wf_migrate(definition, from_version, to_version, state_map, true,
        limit_rows, 'raise', tenant, actor, roles, identity_token);
    total := (answer.detail OPERATOR(pg_catalog.->>) 'instances')::pg_catalog.int8;
    LOOP
        PERFORM pg_catalog.set_config('application_name', pg_catalog.format('wf_migrate_all %s of %s', done, total), true);
        IF NOT patient THEN
            -- Instances in use come last; until then nobody is waited for.
            PERFORM pg_catalog.set_config('workflow.wait_ms', '0', true);
        END IF;
        SELECT * INTO answer FROM @extschema@.wf_migrate(definition, from_version, to_version, state_map, false,
            limit_rows, 'raise', tenant, actor, roles, identity_token);
        done := done OPERATOR(pg_catalog.+) (answer.detail OPERATOR(pg_catalog.->>) 'migrated')::pg_catalog.int8;
        COMMIT;
        RAISE NOTICE 'wf_migrate_all: % of % instances', done, total;
        IF (answer.detail OPERATOR(pg_catalog.->>) 'migrated')::pg_catalog.int8 OPERATOR(pg_catalog.=) 0 THEN
            EXIT WHEN patient OR (answer.detail OPERATOR(pg_catalog.->>) 'busy')::pg_catalog.int8 OPERATOR(pg_catalog.=) 0;
            patient := true;
        END IF;
    END LOOP;
    IF (answer.detail OPERATOR(pg_catalog.->>) 'busy')::pg_catalog.int8 OPERATOR(pg_catalog.>) 0 THEN
        RAISE WARNING 'wf_migrate_all: % instances were in use and stay on version %',
            answer.detail OPERATOR(pg_catalog.->>) 'busy', from_version;
    END IF;
END
$procedure$;
COMMENT ON PROCEDURE wf_migrate_all IS 'wf_migrate for all open instances of a version, limit_rows at a time, with a commit and a NOTICE after each batch; progress in application_name of pg_stat_activity. Not inside a transaction block. Call it again if it was interrupted. Errors: as wf_migrate.';
REVOKE ALL ON PROCEDURE wf_migrate_all FROM PUBLIC;

CREATE INDEX instances_closed ON workflow.instances (tenant_id, id) WHERE closed;
CREATE INDEX requests_at ON workflow.requests USING brin (at);

CREATE FUNCTION wf_purge(
    closed_before interval,
    limit_rows int DEFAULT 1000,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_purge';
COMMENT ON FUNCTION wf_purge IS 'Removes up to limit_rows (1 to 10000) instances of the tenant that closed longer ago than closed_before, whole: history, tasks, refusals; an application goes with its last instance, its material with it. What stays: instances with events in the outbox or in use by others, and request keys until workflow.request_retention is over. detail: instances, applications, request_keys, refusals (about no instance), more. Errors: 22023.';
REVOKE ALL ON FUNCTION wf_purge FROM PUBLIC;

CREATE PROCEDURE wf_purge_all(
    closed_before interval,
    limit_rows int DEFAULT 1000,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) LANGUAGE plpgsql AS $procedure$
DECLARE
    answer workflow.outcome;
    done pg_catalog.int8 := 0;
BEGIN
    LOOP
        PERFORM pg_catalog.set_config('application_name', pg_catalog.format('wf_purge_all %s', done), true);
        SELECT * INTO answer FROM @extschema@.wf_purge(closed_before, limit_rows, 'raise', tenant, actor, roles, identity_token);
        done := done OPERATOR(pg_catalog.+) (answer.detail OPERATOR(pg_catalog.->>) 'instances')::pg_catalog.int8;
        COMMIT;
        RAISE NOTICE 'wf_purge_all: % instances', done;
        EXIT WHEN NOT (answer.detail OPERATOR(pg_catalog.->>) 'more')::pg_catalog.bool;
    END LOOP;
END
$procedure$;
COMMENT ON PROCEDURE wf_purge_all IS 'wf_purge until nothing is left to remove, limit_rows at a time, with a commit and a NOTICE after each batch; progress in application_name of pg_stat_activity. Not inside a transaction block. Errors: as wf_purge.';
REVOKE ALL ON PROCEDURE wf_purge_all FROM PUBLIC;
