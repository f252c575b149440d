-- Work that machines do: instances that stand in a state, handed out one by one under a lease and a
-- fence.
--
-- One index is the whole queue. available_at is when an item can be taken; while it is in work that is
-- the end of its lease, and infinity once its attempts are used up. So what is in work or exhausted lies
-- behind everything that is looked at. A row is made and removed by who holds the instance's row, but one
-- that is in work stays until its worker or the end of the lease has settled it.

CREATE TABLE workflow.work_items (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    entered_revision bigint NOT NULL,
    definition text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    available_at timestamptz NOT NULL,
    waiting_since timestamptz NOT NULL,
    attempt int NOT NULL,
    worker text COLLATE "C",
    fence bigint,
    revision bigint,
    material_version int,
    error text,
    exhausted_at timestamptz,
    exhausted_revision bigint,
    PRIMARY KEY (tenant_id, instance_id, entered_revision)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX work_items_available ON workflow.work_items (tenant_id, definition, state, available_at, instance_id);
CREATE INDEX work_items_in_work ON workflow.work_items (tenant_id, available_at) WHERE worker IS NOT NULL;
CREATE INDEX work_items_exhausted ON workflow.work_items (tenant_id, exhausted_at) WHERE exhausted_at IS NOT NULL;
COMMENT ON TABLE workflow.work_items IS 'Instances that machines have work with, one row per entry into the state. States with meta.retry or meta.lease get theirs on entry, others when somebody asks for their work.';
COMMENT ON COLUMN workflow.work_items.entered_revision IS 'Revision of the entry into the state: an item of an earlier one is over.';
COMMENT ON COLUMN workflow.work_items.available_at IS 'Not handed out before this time: the entry into the state, the end of the lease while somebody works, the end of the delay after a failure, or infinity when the attempts are used up. The oldest goes first.';
COMMENT ON COLUMN workflow.work_items.waiting_since IS 'available_at before it was taken, and after it is given back.';
COMMENT ON COLUMN workflow.work_items.attempt IS 'How often it was taken and not given back; counts anew with new material.';
COMMENT ON COLUMN workflow.work_items.worker IS 'Who has it in work; NULL: nobody. Over once available_at has passed.';
COMMENT ON COLUMN workflow.work_items.fence IS 'Fence of the last take.';
COMMENT ON COLUMN workflow.work_items.revision IS 'The instance''s revision at the last take.';
COMMENT ON COLUMN workflow.work_items.material_version IS 'The instance''s material at the last take.';
COMMENT ON COLUMN workflow.work_items.error IS 'How it failed last.';
COMMENT ON COLUMN workflow.work_items.exhausted_at IS 'When its attempts were used up.';
COMMENT ON COLUMN workflow.work_items.exhausted_revision IS 'Revision at which the instance entered the state for exhausted work; NULL: there is none, it stays.';

SELECT pg_catalog.pg_extension_config_dump('workflow.work_items', '');

CREATE TYPE workflow.work AS (
    instance_id uuid,
    business_key text,
    revision bigint,
    material_version int,
    material jsonb,
    context jsonb,
    attempt int,
    lease_key text,
    fence bigint,
    expires_at timestamptz
);
COMMENT ON TYPE workflow.work IS 'An instance in the hands of a worker. attempt: from 1; fence: proves to wf_work_finish and its like that the worker still has it; expires_at: when somebody else gets it, by the clock of the database.';

CREATE FUNCTION wf_work_take(
    definition text,
    from_state text,
    event text,
    worker text,
    limit_rows int DEFAULT 1,
    lease_ms int DEFAULT 30000,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.work ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_work_take';
COMMENT ON FUNCTION wf_work_take IS 'Hands out up to limit_rows (1 to 1000) instances that stand in from_state, the longest waiting first, to be finished with event. Each is the worker''s (a name for people) for lease_ms milliseconds (1 to workflow.lease_max_ttl); then somebody else gets it. It never waits: what others have locked or hold is passed over. No row: nothing to do now. Call it in autocommit: others see an instance as taken, and its fence counts, once the transaction is committed. Errors: 22004, 22023, WF005 no such definition, WF004 no such event in that state, WF007 the event is not for the caller.';
REVOKE ALL ON FUNCTION wf_work_take FROM PUBLIC;

CREATE FUNCTION wf_work_finish(
    instance uuid,
    fence bigint,
    event text,
    payload jsonb DEFAULT NULL,
    material_version int DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_work_finish';
COMMENT ON FUNCTION wf_work_finish IS 'Takes the edge of event, of an instance that wf_work_take has handed out under this fence, and gives up its lease. material_version: the one worked on; default the one handed out. Errors: WF009 the lease has run out, somebody else has the work, or it is settled; WF002 the material has changed since the take; WF001 the instance has moved on without the worker; and those of wf_send.';
REVOKE ALL ON FUNCTION wf_work_finish FROM PUBLIC;

CREATE FUNCTION wf_work_fail(
    instance uuid,
    fence bigint,
    error text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_work_fail';
COMMENT ON FUNCTION wf_work_fail IS 'Says that an attempt has failed: the instance is handed out again after a delay that doubles with each attempt, as meta.retry of its state says (attempts and retry_after_ms of the answer), or is exhausted (detail.exhausted), which takes it to the state that meta.retry names. error is kept for people. Errors: 22004, WF009 as for wf_work_finish.';
REVOKE ALL ON FUNCTION wf_work_fail FROM PUBLIC;

CREATE FUNCTION wf_work_extend(
    instance uuid,
    fence bigint,
    lease_ms int,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_work_extend';
COMMENT ON FUNCTION wf_work_extend IS 'Prolongs the lease of work to lease_ms milliseconds from now (detail.expires_at); one that has run out cannot be prolonged. Call it at a third of lease_ms. Errors: 22004, 22023, WF009 as for wf_work_finish.';
REVOKE ALL ON FUNCTION wf_work_extend FROM PUBLIC;

CREATE FUNCTION wf_work_give_back(
    instance uuid,
    fence bigint,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_work_give_back';
COMMENT ON FUNCTION wf_work_give_back IS 'Puts work back where it was taken from, as if it had not been taken: no attempt is counted. Errors: 22004, WF009 as for wf_work_finish.';
REVOKE ALL ON FUNCTION wf_work_give_back FROM PUBLIC;

CREATE VIEW workflow.machine_work WITH (security_barrier) AS
SELECT w.instance_id, a.business_key, w.definition, w.state,
       CASE WHEN w.exhausted_at IS NOT NULL THEN 'exhausted'
            WHEN w.available_at OPERATOR(pg_catalog.>) n.now AND w.worker IS NOT NULL THEN 'in_work'
            WHEN w.available_at OPERATOR(pg_catalog.>) n.now THEN 'delayed'
            ELSE 'ready' END AS status,
       w.attempt, w.available_at,
       CASE WHEN w.available_at OPERATOR(pg_catalog.>) n.now THEN w.worker END AS worker,
       w.fence, w.error
  FROM workflow.work_items w
  JOIN workflow.instances i
    ON i.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
   AND i.id OPERATOR(pg_catalog.=) w.instance_id
   AND i.entered_revision OPERATOR(pg_catalog.=) w.entered_revision
   AND NOT i.closed
  JOIN workflow.applications a
    ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
   AND a.id OPERATOR(pg_catalog.=) i.application_id
 CROSS JOIN (SELECT pg_catalog.clock_timestamp()) n(now)
 WHERE w.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.machine_work IS 'Instances of the caller''s tenant that machines have work with.';
COMMENT ON COLUMN workflow.machine_work.status IS 'ready: the next take hands it out. in_work: until available_at, unless its worker is done before. delayed: after a failure, until available_at. exhausted: its attempts are used up, and its state names no other state for that.';
COMMENT ON COLUMN workflow.machine_work.attempt IS 'How often it was tried, the present attempt included.';

CREATE VIEW workflow.exhausted_work WITH (security_barrier) AS
SELECT w.instance_id, a.business_key, w.definition, w.state AS worked_in, i.state, i.revision,
       w.attempt AS attempts, w.error, w.exhausted_at
  FROM workflow.work_items w
  JOIN workflow.instances i
    ON i.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
   AND i.id OPERATOR(pg_catalog.=) w.instance_id
   AND i.entered_revision OPERATOR(pg_catalog.=) COALESCE(w.exhausted_revision, w.entered_revision)
  JOIN workflow.applications a
    ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
   AND a.id OPERATOR(pg_catalog.=) i.application_id
 WHERE w.exhausted_at IS NOT NULL
   AND (NOT i.closed OR w.exhausted_revision IS NOT NULL)
   AND w.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.exhausted_work IS 'Instances of the caller''s tenant whose work was tried as often as meta.retry allows, and that still stand where that has taken them: in the state that it names, or where they were.';
COMMENT ON COLUMN workflow.exhausted_work.worked_in IS 'The state whose work it was.';
COMMENT ON COLUMN workflow.exhausted_work.error IS 'How the last attempt failed.';
