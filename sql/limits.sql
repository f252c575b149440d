-- What a tenant may have at most.

CREATE TYPE workflow.limit_name AS ENUM ('open_instances', 'payload_bytes', 'seats', 'timers', 'commands');
COMMENT ON TYPE workflow.limit_name IS 'open_instances: instances that have not ended. payload_bytes: size of a payload or a material, as JSON text. seats: of one state of a definition, and open in one round. timers: of one state of a definition. commands: in one call of wf_transition_many.';

CREATE TABLE workflow.limits (
    tenant_id text COLLATE "C" NOT NULL,
    name workflow.limit_name NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
COMMENT ON TABLE workflow.limits IS 'Limits of tenants; those of tenant * hold for every tenant that has none of its own. No row: no limit.';
COMMENT ON COLUMN workflow.limits.value IS 'The most that is allowed; 0 or more.';

SELECT pg_catalog.pg_extension_config_dump('workflow.limits', '');

CREATE FUNCTION wf_limit_set(
    limit_name text,
    value bigint,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_limit_set';
COMMENT ON FUNCTION wf_limit_set IS 'Sets a limit (see workflow.limit_name) of the tenant, or with tenant => ''*'' of every tenant that has none of its own; -1 takes it away, so that the one of * holds. What is there already stays, whatever the limit. No capability gives this: it is for the owner of the extension, and whom the owner grants EXECUTE. Errors: 22023 no such limit, or a value below -1.';
REVOKE ALL ON FUNCTION wf_limit_set FROM PUBLIC;
