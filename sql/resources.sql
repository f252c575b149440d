-- Guarded quantities (stock, budgets, quotas), and the ledger that adds up to them.

CREATE DOMAIN workflow.balance AS bigint CONSTRAINT not_below_zero CHECK (VALUE OPERATOR(pg_catalog.>=) 0);
COMMENT ON DOMAIN workflow.balance IS 'What is left of a resource: never below zero. The engine asks before it writes; this is the last line.';

CREATE TYPE workflow.resource_step AS ENUM ('set', 'consume', 'restock');
COMMENT ON TYPE workflow.resource_step IS 'Why a balance changed: it was counted, something was taken, something was given back.';

-- A hot row: narrow, and no column that a move changes is indexed.
CREATE TABLE workflow.resources (
    tenant_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    balance workflow.balance NOT NULL,
    moves bigint NOT NULL,
    PRIMARY KEY (tenant_id, key)
) WITH (fillfactor = 50);
COMMENT ON TABLE workflow.resources IS 'Guarded quantities: stock, budgets, quotas.';
COMMENT ON COLUMN workflow.resources.key IS 'The caller''s own name of the resource, unique per tenant.';
COMMENT ON COLUMN workflow.resources.balance IS 'What is left, in the caller''s own unit; equals the sum of the quantities of its moves.';
COMMENT ON COLUMN workflow.resources.moves IS 'Number of its rows in workflow.resource_moves.';

CREATE TABLE workflow.resource_moves (
    tenant_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    move bigint NOT NULL,
    step workflow.resource_step NOT NULL,
    quantity bigint NOT NULL,
    balance bigint NOT NULL,
    instance_id uuid,
    revision bigint,
    actor text COLLATE "C" NOT NULL,
    proof workflow.proof NOT NULL,
    request_id text COLLATE "C",
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, key, move)
);
CREATE INDEX resource_moves_instance ON workflow.resource_moves (tenant_id, instance_id) WHERE instance_id IS NOT NULL;
COMMENT ON TABLE workflow.resource_moves IS 'The ledger of resources, append-only: quantities add up to the balance.';
COMMENT ON COLUMN workflow.resource_moves.move IS 'Number of the move of this resource, from 1 without a gap.';
COMMENT ON COLUMN workflow.resource_moves.quantity IS 'What was added; negative for what was taken. 0: counted, and found right.';
COMMENT ON COLUMN workflow.resource_moves.balance IS 'What was left after it.';
COMMENT ON COLUMN workflow.resource_moves.instance_id IS 'The instance whose step moved it; NULL for a direct call.';
COMMENT ON COLUMN workflow.resource_moves.revision IS 'The step, as the revision in the history of that instance.';
COMMENT ON COLUMN workflow.resource_moves.at IS 'Clock time taken under the lock of the resource.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.resource_moves
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();

SELECT pg_catalog.pg_extension_config_dump('workflow.resources', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.resource_moves', '');

CREATE TYPE workflow.resource_outcome AS (
    applied boolean,
    code text,
    reason text,
    key text,
    remaining bigint,
    replayed boolean,
    attempts int,
    retryable boolean,
    retry_after_ms int,
    detail jsonb
);
COMMENT ON TYPE workflow.resource_outcome IS 'What became of a command about a resource: done; or refused, by code and reason (WF012 insufficient: remaining says how much there is; 55P03 busy: somebody else is about to change it, try again).';

CREATE FUNCTION wf_resource_set(
    key text,
    balance bigint,
    expected bigint DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.resource_outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_resource_set';
COMMENT ON FUNCTION wf_resource_set IS 'Sets what is left of a resource after a count, and makes the resource if there is none. balance: 0 to 9223372036854775807. expected: the balance that was counted against; if it has changed since, nothing is set, so that a count does not overwrite what was taken meanwhile. key: up to 200 bytes. Errors: WF001 the balance is not the expected one, WF005 expected given and no such resource, 55P03 busy.';
REVOKE ALL ON FUNCTION wf_resource_set FROM PUBLIC;

CREATE FUNCTION wf_resource_consume(
    key text,
    quantity bigint,
    request_id text DEFAULT NULL,
    wait_ms int DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.resource_outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_resource_consume';
COMMENT ON FUNCTION wf_resource_consume IS 'Takes a quantity (at least 1) of a resource, or nothing. wait_ms: total time to wait for others in milliseconds, 0 for not at all, default workflow.wait_ms. Errors: WF005 no such resource, WF008, WF012 not enough of it, 55P03 busy: somebody else is about to change it, so that whether there is enough is not known yet.';
REVOKE ALL ON FUNCTION wf_resource_consume FROM PUBLIC;

CREATE FUNCTION wf_resource_restock(
    key text,
    quantity bigint,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.resource_outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_resource_restock';
COMMENT ON FUNCTION wf_resource_restock IS 'Gives a quantity (at least 1) to a resource. Errors: WF005 no such resource, WF008, WF019 the balance would exceed 9223372036854775807, 55P03 busy.';
REVOKE ALL ON FUNCTION wf_resource_restock FROM PUBLIC;

CREATE FUNCTION wf_resource_consume_many(
    items jsonb,
    request_id text DEFAULT NULL,
    wait_ms int DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.resource_outcome ROWS 10
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_resource_consume_many';
COMMENT ON FUNCTION wf_resource_consume_many IS 'Takes from several resources, all or nothing. items: [{"resource": key, "quantity": at least 1}, …], 1 to 1000 of them; those of one key are summed. One row per key in the order of keys; a refusal is one row, whose detail lists everything that is short. wait_ms and errors as in wf_resource_consume.';
REVOKE ALL ON FUNCTION wf_resource_consume_many FROM PUBLIC;
