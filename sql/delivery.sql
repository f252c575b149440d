-- Events that leave with their transaction, and who has received them.
--
-- The writer of an event adds a row to outbox and one to outbox_queue, and that is all it does for
-- delivery. Rows are a queue: whoever claims first moves what has been committed from outbox_queue to
-- the deliveries of each consumer. No position is kept and no clock or transaction id decides, so a
-- late commit is not passed over, and an open transaction delays its own instance only.
--
-- Per instance outbox_queue holds the last events, deliveries of a consumer the ones before them, and
-- what a consumer has acknowledged comes before both: whatever moves, moves from the front.

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
-- To find what is old, without a cost to who writes.
CREATE INDEX outbox_occurred_at ON workflow.outbox USING brin (occurred_at) WITH (pages_per_range = 16, autosummarize = on);
COMMENT ON TABLE workflow.outbox IS 'Events that left with their transaction, INSERT and DELETE only; columns as the Debezium outbox event router reads them. An event stays until every consumer has acknowledged it; one that nobody waits for, for workflow.outbox_retention.';
COMMENT ON COLUMN workflow.outbox.aggregatetype IS 'Name of the definition.';
COMMENT ON COLUMN workflow.outbox.aggregateid IS 'Id of the instance.';
COMMENT ON COLUMN workflow.outbox.type IS 'Event of the edge, or the administrative step.';
COMMENT ON COLUMN workflow.outbox.tracingspancontext IS 'W3C trace context of the command: payload key traceparent, or the setting workflow.traceparent.';

CREATE TABLE workflow.outbox_queue (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    revision bigint NOT NULL,
    id uuid NOT NULL,
    occurred_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, instance_id, revision)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_insert_threshold = -1);
COMMENT ON TABLE workflow.outbox_queue IS 'Events of the outbox that have not been handed to the consumers yet. INSERT and DELETE only.';

CREATE TABLE workflow.consumers (
    tenant_id text COLLATE "C" NOT NULL,
    consumer text COLLATE "C" NOT NULL,
    subscribed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, consumer)
);
COMMENT ON TABLE workflow.consumers IS 'Who receives the events of a tenant: each consumer gets every event. A service for several tenants subscribes in each.';

CREATE TABLE workflow.deliveries (
    tenant_id text COLLATE "C" NOT NULL,
    consumer text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    revision bigint NOT NULL,
    id uuid NOT NULL,
    occurred_at timestamptz NOT NULL,
    available_at timestamptz NOT NULL,
    attempt int NOT NULL,
    claim uuid,
    dead boolean NOT NULL,
    failed_at timestamptz,
    error text,
    PRIMARY KEY (tenant_id, consumer, instance_id, revision)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
CREATE INDEX deliveries_available ON workflow.deliveries (tenant_id, consumer, available_at, occurred_at) WHERE NOT dead;
CREATE INDEX deliveries_claim ON workflow.deliveries (tenant_id, claim) WHERE claim IS NOT NULL;
CREATE INDEX deliveries_dead ON workflow.deliveries (tenant_id, id) WHERE dead;
COMMENT ON TABLE workflow.deliveries IS 'Events that a consumer has yet to acknowledge, one row each. The row goes when the event is acknowledged or skipped.';
COMMENT ON COLUMN workflow.deliveries.available_at IS 'Not handed out before this time: -infinity for what is new, so that no clock decides about it; the end of its claim, or of the delay asked for by wf_outbox_nack; infinity: a dead letter.';
COMMENT ON COLUMN workflow.deliveries.attempt IS 'How often it was handed out.';
COMMENT ON COLUMN workflow.deliveries.claim IS 'The claim that it was handed out with, over once available_at has passed; NULL: not handed out.';
COMMENT ON COLUMN workflow.deliveries.dead IS 'A dead letter: it and what follows it in its instance wait for wf_outbox_requeue or wf_outbox_skip.';
COMMENT ON COLUMN workflow.deliveries.error IS 'What the consumer said when it failed last.';

CREATE TABLE workflow.outbox_removed (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    revision bigint NOT NULL,
    PRIMARY KEY (tenant_id, instance_id, revision)
);
COMMENT ON TABLE workflow.outbox_removed IS 'How far the events of an instance have been removed from the outbox; the highest revision of an instance counts. Evidence for wf_verify().';

CREATE TABLE workflow.outbox_unremoved (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    revision bigint NOT NULL,
    claim uuid NOT NULL,
    PRIMARY KEY (tenant_id, instance_id, revision, claim)
);
COMMENT ON TABLE workflow.outbox_unremoved IS 'Events that two consumers acknowledged at the same moment, so that neither could see that nobody else waits for them. The next claim looks again.';

CREATE TABLE workflow.inbox (
    tenant_id text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    accepted_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, source, message_id)
);
COMMENT ON TABLE workflow.inbox IS 'Messages that were accepted, so that one delivered twice is carried out once.';

SELECT pg_catalog.pg_extension_config_dump('workflow.outbox', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.outbox_queue', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.consumers', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.deliveries', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.outbox_removed', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.outbox_unremoved', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.inbox', '');

CREATE TYPE workflow.delivery AS (
    id uuid,
    aggregatetype text,
    aggregateid text,
    type text,
    payload jsonb,
    revision bigint,
    occurred_at timestamptz,
    attempt int,
    claim uuid
);
COMMENT ON TYPE workflow.delivery IS 'An event handed to a consumer: as it stands in the outbox, the number of this attempt, and the claim to acknowledge it with.';

CREATE TYPE workflow.acceptance AS (
    accepted boolean
);
COMMENT ON TYPE workflow.acceptance IS 'Whether a message is new.';

CREATE FUNCTION wf_outbox_subscribe(
    consumer text,
    from_start boolean DEFAULT false,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_subscribe';
COMMENT ON FUNCTION wf_outbox_subscribe IS 'Makes a consumer of the tenant''s events known: it receives every event that is committed from now on. from_start: and before them all that the outbox still holds. A consumer that is known already stays as it is (replayed). Waits for claims and acknowledgements in progress, no longer than workflow.wait_ms; never for a writer. Errors: 55P03 busy.';
REVOKE ALL ON FUNCTION wf_outbox_subscribe FROM PUBLIC;

CREATE FUNCTION wf_outbox_unsubscribe(
    consumer text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_unsubscribe';
COMMENT ON FUNCTION wf_outbox_unsubscribe IS 'Forgets a consumer and what it has not acknowledged; detail.events says how many events that were. Errors: WF005 no such consumer, 55P03 busy.';
REVOKE ALL ON FUNCTION wf_outbox_unsubscribe FROM PUBLIC;

CREATE FUNCTION wf_outbox_claim(
    consumer text,
    limit_rows int DEFAULT 100,
    lease_ms int DEFAULT 30000,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.delivery ROWS 100
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_claim';
COMMENT ON FUNCTION wf_outbox_claim IS 'Hands events to a consumer for lease_ms milliseconds (1 to 86400000): of each instance the lowest ones not acknowledged, in order; never events of an instance of which another claim still holds some. limit_rows: 1 to 10000. Commit, work, then acknowledge with the claim. No row: there is nothing to do now. Waits for nobody. Errors: WF005 not subscribed.';
REVOKE ALL ON FUNCTION wf_outbox_claim FROM PUBLIC;

CREATE FUNCTION wf_outbox_ack(
    consumer text,
    claim uuid,
    ids uuid[],
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_ack';
COMMENT ON FUNCTION wf_outbox_ack IS 'Acknowledges events of a claim: this consumer will not see them again. detail.events says how many; detail.ignored names the others: of a claim that is over, or behind an event of the same instance that is not acknowledged. None acknowledged: applied is false, code WF009, and that is no error. Waits for nobody. Errors: WF005 not subscribed.';
REVOKE ALL ON FUNCTION wf_outbox_ack FROM PUBLIC;

CREATE FUNCTION wf_outbox_nack(
    consumer text,
    claim uuid,
    ids uuid[],
    delay_ms int,
    error text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_nack';
COMMENT ON FUNCTION wf_outbox_nack IS 'Gives events of a claim back as failed, not to be handed out again for delay_ms milliseconds (0 to 86400000); with them what the claim holds of the same instances behind them, which does not count as an attempt. After workflow.outbox_max_attempts attempts an event becomes a dead letter. error is kept (its first 8000 characters) and shown. detail as in wf_outbox_ack, and dead: how many became dead letters. Errors: WF005 not subscribed.';
REVOKE ALL ON FUNCTION wf_outbox_nack FROM PUBLIC;

CREATE FUNCTION wf_outbox_requeue(
    consumer text,
    ids uuid[],
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_requeue';
COMMENT ON FUNCTION wf_outbox_requeue IS 'Lets dead letters be handed out again, counting attempts anew. detail.events says how many, detail.ignored names what is no dead letter of this consumer. Errors: WF005 not subscribed.';
REVOKE ALL ON FUNCTION wf_outbox_requeue FROM PUBLIC;

CREATE FUNCTION wf_outbox_skip(
    consumer text,
    ids uuid[],
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_outbox_skip';
COMMENT ON FUNCTION wf_outbox_skip IS 'Gives up dead letters: this consumer goes on with what follows them, as if it had acknowledged them. detail as in wf_outbox_requeue. Errors: WF005 not subscribed.';
REVOKE ALL ON FUNCTION wf_outbox_skip FROM PUBLIC;

CREATE FUNCTION wf_inbox_accept(
    source text,
    message_id text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.acceptance ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_inbox_accept';
COMMENT ON FUNCTION wf_inbox_accept IS 'True for the first transaction that accepts this message of this source and commits, false for every other. Call it in the transaction that carries the message out. While another transaction is at the same message it waits, no longer than workflow.wait_ms. Errors: 55P03 busy; with on_refusal => ''return'' busy is no row.';
REVOKE ALL ON FUNCTION wf_inbox_accept FROM PUBLIC;
