-- Who is calling.

CREATE TABLE workflow.members (
    tenant_id text COLLATE "C" NOT NULL,
    member text COLLATE "C" NOT NULL,
    roles text[] COLLATE "C" NOT NULL,
    valid_until timestamptz,
    PRIMARY KEY (tenant_id, member)
);
CREATE INDEX members_member ON workflow.members (member);
COMMENT ON TABLE workflow.members IS 'Who belongs to a tenant, with which roles.';
COMMENT ON COLUMN workflow.members.valid_until IS 'The membership counts before this time; NULL: without end.';

SELECT pg_catalog.pg_extension_config_dump('workflow.members', '');

CREATE TYPE workflow.identity AS (
    tenant text,
    actor text,
    roles text[],
    mode text,
    proof text
);
COMMENT ON TYPE workflow.identity IS 'Who is calling, as commands see it: tenant, actor, roles, the identity mode in force and how the actor was proved.';

CREATE FUNCTION wf_as(
    tenant text,
    actor text,
    roles text[] DEFAULT '{}'
) RETURNS SETOF workflow.identity ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_as';
COMMENT ON FUNCTION wf_as IS 'Names tenant, actor and roles for the rest of the transaction (identity mode setting). Needs capability backend. Errors: WF007.';
REVOKE ALL ON FUNCTION wf_as FROM PUBLIC;

CREATE FUNCTION wf_authenticate(
    identity_token text
) RETURNS SETOF workflow.identity ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_authenticate';
COMMENT ON FUNCTION wf_authenticate IS 'Verifies a signed token (JWT by EdDSA or HS256; claims sub, tenant, roles, aud, exp, nbf) and acts for its person to the end of the transaction, or until it expires; a rolled back savepoint takes it back (identity mode token). Errors: WF007, in the same words whatever is wrong with the token.';
REVOKE ALL ON FUNCTION wf_authenticate FROM PUBLIC;

CREATE FUNCTION wf_whoami(
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.identity ROWS 1
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_whoami';
COMMENT ON FUNCTION wf_whoami IS 'Who is calling, as commands see it.';
REVOKE ALL ON FUNCTION wf_whoami FROM PUBLIC;

CREATE FUNCTION wf_member_set(
    member text,
    member_roles text[],
    valid_until timestamptz DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_member_set';
COMMENT ON FUNCTION wf_member_set IS 'Puts a member into the caller''s tenant with these roles; replaces what was there.';
REVOKE ALL ON FUNCTION wf_member_set FROM PUBLIC;

CREATE FUNCTION wf_member_remove(
    member text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_member_remove';
COMMENT ON FUNCTION wf_member_remove IS 'Takes a member out of the caller''s tenant. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_member_remove FROM PUBLIC;

CREATE FUNCTION workflow.current_tenant() RETURNS text
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_current_tenant';
COMMENT ON FUNCTION workflow.current_tenant() IS 'Tenant of the caller, as commands see it; NULL, which equals nothing, where a command would be refused because the caller is not proved.';
CREATE FUNCTION workflow.current_actor() RETURNS text
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_current_actor';
COMMENT ON FUNCTION workflow.current_actor() IS 'The acting person, as commands see it; NULL where a command would be refused because the caller is not proved.';
REVOKE ALL ON FUNCTION workflow.current_tenant() FROM PUBLIC;
REVOKE ALL ON FUNCTION workflow.current_actor() FROM PUBLIC;
