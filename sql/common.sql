-- What every part uses. Rules that hold in all of them:
--
-- tenant_id leads every key: isolation now, sharding by tenant later. Every name is COLLATE "C", so
-- that Rust and SQL sort and compare alike. No foreign keys on the hot tables: integrity comes from
-- the engine, which alone writes, and is shown by wf_verify(). Enums rather than CHECK constraints:
-- the executor parses a CHECK again at every start.
--
-- No function is STRICT: a NULL where a value is needed raises 22004. Nothing is granted to PUBLIC;
-- wf_grant hands out EXECUTE by capability. Every table is marked for pg_dump, which would leave
-- the rows of an extension's tables behind.

CREATE TYPE workflow.proof AS ENUM ('setting', 'session', 'token', 'claims', 'engine');
COMMENT ON TYPE workflow.proof IS 'How an actor was proved: named by a trusted backend (setting), by the database login (session), by a signed token, by a gateway''s claims, or nobody, because time acted (engine).';

CREATE TYPE workflow.outcome AS (
    applied boolean,
    code text,
    reason text,
    instance_id uuid,
    application_id uuid,
    state text,
    revision bigint,
    material_version int,
    event text,
    task_ids uuid[],
    replayed boolean,
    attempts int,
    retryable boolean,
    retry_after_ms int,
    detail jsonb
);
COMMENT ON TYPE workflow.outcome IS 'Answer of every command. Applied: state, revision and material_version after it, task_ids opened by it. Refused: the same columns as they are now, code and reason from the catalogue (docs/refusals.md), detail as in the DETAIL of the error.';

CREATE FUNCTION workflow.refuse_change() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'wf_refuse_change';
COMMENT ON FUNCTION workflow.refuse_change() IS 'Raises 42501: the table is append-only, for its owner as well.';
REVOKE ALL ON FUNCTION workflow.refuse_change() FROM PUBLIC;

CREATE FUNCTION workflow.outer_role() RETURNS text
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_outer_role';
COMMENT ON FUNCTION workflow.outer_role() IS 'The role that SET ROLE made of the login, also inside SECURITY DEFINER functions; NULL: the login itself.';
REVOKE ALL ON FUNCTION workflow.outer_role() FROM PUBLIC;
