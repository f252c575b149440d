-- Business objects under review, and their material.

CREATE TABLE workflow.applications (
    tenant_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    business_key text COLLATE "C" NOT NULL,
    material_version int NOT NULL,
    starts bigint NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, business_key)
);
COMMENT ON TABLE workflow.applications IS 'Business objects under review.';
COMMENT ON COLUMN workflow.applications.business_key IS 'The caller''s own name of the object, unique per tenant.';
COMMENT ON COLUMN workflow.applications.material_version IS 'Version of the material in force, from 1.';
COMMENT ON COLUMN workflow.applications.starts IS 'Instances ever started. wf_start writes it to conflict with a supersede at every isolation level.';

CREATE TABLE workflow.materials (
    tenant_id text COLLATE "C" NOT NULL,
    application_id uuid NOT NULL,
    version int NOT NULL,
    content jsonb NOT NULL,
    author text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, application_id, version)
);
COMMENT ON TABLE workflow.materials IS 'Content of an application at each version; rows are only ever added.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.materials
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();

SELECT pg_catalog.pg_extension_config_dump('workflow.applications', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.materials', '');

CREATE TYPE workflow.superseded AS (
    applied boolean,
    code text,
    reason text,
    application_id uuid,
    material_version int,
    instances int,
    tasks int,
    replayed boolean,
    attempts int,
    retryable boolean,
    retry_after_ms int,
    detail jsonb
);
COMMENT ON TYPE workflow.superseded IS 'Answer of wf_supersede_material: the material version now in force, how many open instances took it, how many open tasks it outdated.';

CREATE FUNCTION wf_supersede_material(
    application uuid,
    expected_material_version int,
    material jsonb,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.superseded ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_supersede_material';
COMMENT ON FUNCTION wf_supersede_material IS 'Puts a new material in force: its version is one higher, open instances take it, their open tasks are SUPERSEDED. Errors: WF002 the material in force is another version, WF005, WF020 a state does not take new material.';
REVOKE ALL ON FUNCTION wf_supersede_material FROM PUBLIC;
