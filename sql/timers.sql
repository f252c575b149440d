-- What time does.

CREATE TABLE workflow.timers (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    entered_revision bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    due_at timestamptz NOT NULL,
    next_at timestamptz NOT NULL,
    attempts int NOT NULL,
    error text,
    PRIMARY KEY (tenant_id, instance_id, entered_revision, event)
) WITH (fillfactor = 80);
CREATE INDEX timers_next ON workflow.timers (tenant_id, next_at);
COMMENT ON TABLE workflow.timers IS 'Timers of after, one row per delay and entry into a state. One whose visit is over stays until it is due, and is then removed without effect.';
COMMENT ON COLUMN workflow.timers.entered_revision IS 'Revision of the entry into the state that it belongs to.';
COMMENT ON COLUMN workflow.timers.event IS 'after. and the delay as the definition writes it; event of the step that it takes.';
COMMENT ON COLUMN workflow.timers.due_at IS 'When it is due by the definition.';
COMMENT ON COLUMN workflow.timers.next_at IS 'When it is tried next: later than due_at after a failure.';
COMMENT ON COLUMN workflow.timers.attempts IS 'How often it has failed.';
COMMENT ON COLUMN workflow.timers.error IS 'How it failed last.';

SELECT pg_catalog.pg_extension_config_dump('workflow.timers', '');

CREATE FUNCTION wf_run_due(
    limit_rows int DEFAULT 100,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 100
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_run_due';
COMMENT ON FUNCTION wf_run_due IS 'Fires the timers of the caller''s tenant that are due, at most limit_rows (1 to 10000), earliest first: one outcome each. It never waits: an instance that somebody else has locked is left for the next call. A timer that fails (a guard that is unknown, an error of a trigger) gives an outcome that is not applied, keeps the others from nothing, and is tried again later; one whose guards are all false has had its turn (WF011). on_refusal is about the call itself. Call it in a loop, from a scheduler, until it gives fewer rows than limit_rows. On the way it puts work whose lease has run out back into its queue, or takes it to the state for exhausted work (an outcome each), and removes events that nobody waits for (workflow.outbox_retention), in bounded steps. Errors: WF007, 22023.';
REVOKE ALL ON FUNCTION wf_run_due FROM PUBLIC;
