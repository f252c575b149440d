-- Events that leave with their transaction.

CREATE TABLE workflow.outbox (
    tenant_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    aggregatetype text COLLATE "C" NOT NULL,
    aggregateid text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload jsonb NOT NULL,
    revision bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    tracingspancontext text,
    PRIMARY KEY (tenant_id, aggregateid, revision)
);
COMMENT ON TABLE workflow.outbox IS 'Events that left with their transaction, INSERT and DELETE only; columns as the Debezium outbox event router reads them.';
COMMENT ON COLUMN workflow.outbox.aggregatetype IS 'Name of the definition.';
COMMENT ON COLUMN workflow.outbox.aggregateid IS 'Id of the instance.';
COMMENT ON COLUMN workflow.outbox.type IS 'Event of the edge, or the administrative step.';
COMMENT ON COLUMN workflow.outbox.tracingspancontext IS 'W3C trace context of the command: payload key traceparent, or the setting workflow.traceparent.';

SELECT pg_catalog.pg_extension_config_dump('workflow.outbox', '');
