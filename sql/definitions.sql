-- Published state machines.

CREATE TABLE workflow.definitions (
    tenant_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    version int NOT NULL,
    spec jsonb NOT NULL,
    active boolean NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, name, version),
    UNIQUE (tenant_id, id)
);
CREATE UNIQUE INDEX definitions_active ON workflow.definitions (tenant_id, name) WHERE active;
COMMENT ON TABLE workflow.definitions IS 'Published state machines, immutable but for which version is active. Tenant * serves all tenants.';
COMMENT ON COLUMN workflow.definitions.spec IS 'The machine as it was given to wf_define.';
COMMENT ON COLUMN workflow.definitions.active IS 'Whether wf_start takes this version when none is named.';

SELECT pg_catalog.pg_extension_config_dump('workflow.definitions', '');

CREATE TYPE workflow.published AS (
    definition text,
    version int
);
COMMENT ON TYPE workflow.published IS 'A published definition: its name and version.';

CREATE TYPE workflow.finding AS (
    severity text,
    path text,
    message text
);
COMMENT ON TYPE workflow.finding IS 'One remark on a definition: error or warning, JSON pointer (RFC 6901) to the place, words for its author.';

CREATE FUNCTION wf_define(
    spec jsonb,
    activate boolean DEFAULT true,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.published ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_define';
COMMENT ON FUNCTION wf_define IS 'Publishes a definition under its id for the caller''s tenant and gives its version; the same spec again gives the version it has, and activates nothing. activate: wf_start takes this version from now on. Errors: WF014 invalid_definition with a JSON pointer.';
REVOKE ALL ON FUNCTION wf_define FROM PUBLIC;

CREATE FUNCTION wf_validate(
    spec jsonb,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.finding ROWS 10
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_validate';
COMMENT ON FUNCTION wf_validate IS 'Everything wf_define would say of a spec: severity (error or warning), JSON pointer, message. No row: it is sound.';
REVOKE ALL ON FUNCTION wf_validate FROM PUBLIC;

CREATE FUNCTION wf_export(
    definition text,
    version int DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS jsonb
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_export';
COMMENT ON FUNCTION wf_export IS 'The spec of a definition as it was published; without version the active one. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_export FROM PUBLIC;
