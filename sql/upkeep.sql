-- For operators.

CREATE TYPE workflow.violation AS (
    invariant int,
    name text,
    tenant_id text,
    instance_id uuid,
    detail text
);
COMMENT ON TYPE workflow.violation IS 'An invariant that stored rows break: its number in the manual, its name, where, and what is wrong.';

CREATE FUNCTION wf_verify(
    instance uuid DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.violation ROWS 1
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_verify';
COMMENT ON FUNCTION wf_verify IS 'Checks the invariants of one instance, or of all of them, in one snapshot: one row per violation, none when all is well. For operators: without tenant it looks at all tenants.';
REVOKE ALL ON FUNCTION wf_verify FROM PUBLIC;

CREATE FUNCTION wf_version() RETURNS text
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'wf_version';
COMMENT ON FUNCTION wf_version() IS 'Version of the loaded library.';
REVOKE ALL ON FUNCTION wf_version() FROM PUBLIC;
