-- Request keys, and the refusals that were returned.

CREATE TABLE workflow.requests (
    tenant_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    command text NOT NULL,
    fingerprint bytea NOT NULL,
    outcome jsonb NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, request_id)
);
COMMENT ON TABLE workflow.requests IS 'Request keys of applied commands, each with the answer that a replay gets.';
COMMENT ON COLUMN workflow.requests.fingerprint IS 'SHA-256 over the command, tenant, actor and arguments: the same key with another fingerprint is WF008.';

CREATE TABLE workflow.refusals (
    tenant_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    at timestamptz NOT NULL,
    command text NOT NULL,
    code text NOT NULL,
    reason text NOT NULL,
    instance_id uuid,
    application_id uuid,
    task_id uuid,
    actor text COLLATE "C" NOT NULL,
    detail jsonb NOT NULL,
    session_role text COLLATE "C" NOT NULL DEFAULT SESSION_USER,
    outer_role text COLLATE "C" DEFAULT workflow.outer_role(),
    application_name text COLLATE "C" DEFAULT CASE WHEN pg_catalog.length(pg_catalog.current_setting('application_name')) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.current_setting('application_name') END,
    client_addr inet DEFAULT pg_catalog.inet_client_addr(),
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX refusals_instance ON workflow.refusals (tenant_id, instance_id);
COMMENT ON TABLE workflow.refusals IS 'Commands refused with on_refusal => ''return'', as they stood at that moment.';
COMMENT ON COLUMN workflow.refusals.session_role IS 'The login that sent the command.';
COMMENT ON COLUMN workflow.refusals.outer_role IS 'The role that SET ROLE had made of it; NULL: the login itself.';
COMMENT ON COLUMN workflow.refusals.application_name IS 'As the client calls itself; proves nothing.';
COMMENT ON COLUMN workflow.refusals.client_addr IS 'Address of the client, of a pooler the pooler''s; NULL: a local socket.';
COMMENT ON COLUMN workflow.refusals.detail IS 'What the DETAIL of the error says: expected, actual, winner.';

SELECT pg_catalog.pg_extension_config_dump('workflow.requests', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.refusals', '');
