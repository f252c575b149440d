-- Runs of a definition over an application, and their history.

CREATE TYPE workflow.step AS ENUM ('start', 'edge', 'supersede', 'seat', 'cancel', 'migrate', 'exhaust', 'override');
COMMENT ON TYPE workflow.step IS 'Kind of a history row: an edge of the definition, or a marked administrative step.';

CREATE TYPE workflow.decision AS ENUM ('approve', 'reject', 'return');
COMMENT ON TYPE workflow.decision IS 'What a verdict says: for, against, or sent back to be mended.';

-- The hot row: narrow, and no column that a transition changes is indexed while the instance is open.
CREATE TABLE workflow.instances (
    tenant_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    application_id uuid NOT NULL,
    definition_id uuid NOT NULL,
    definition text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    work bigint NOT NULL,
    round int NOT NULL,
    material_version int NOT NULL,
    entered_revision bigint NOT NULL,
    concurrent boolean NOT NULL,
    closed boolean NOT NULL,
    started_by text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 60);
CREATE UNIQUE INDEX instances_open ON workflow.instances (tenant_id, application_id, definition) WHERE NOT closed AND NOT concurrent;
CREATE INDEX instances_application ON workflow.instances (tenant_id, application_id);
COMMENT ON TABLE workflow.instances IS 'Runs of a definition over an application.';
COMMENT ON COLUMN workflow.instances.revision IS 'Starts at 1, rises by 1 with every change that outdates what a page shows; equals the number of history rows.';
COMMENT ON COLUMN workflow.instances.work IS 'Rises by 1 with everything else that a decision can rest on: votes, claims, facts.';
COMMENT ON COLUMN workflow.instances.round IS 'Rises by 1 with every entry into a state.';
COMMENT ON COLUMN workflow.instances.material_version IS 'Version of the application''s material that decisions are about.';
COMMENT ON COLUMN workflow.instances.entered_revision IS 'Revision at which the present state was entered.';

CREATE TABLE workflow.history (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    revision bigint NOT NULL,
    step workflow.step NOT NULL,
    from_state text COLLATE "C",
    to_state text COLLATE "C" NOT NULL,
    event text COLLATE "C",
    decision workflow.decision,
    round int NOT NULL,
    material_version int NOT NULL,
    definition_version int NOT NULL,
    task_id uuid,
    actor text COLLATE "C" NOT NULL,
    on_behalf_of text COLLATE "C",
    proof workflow.proof NOT NULL,
    comment text,
    payload jsonb,
    request_id text COLLATE "C",
    lease_key text COLLATE "C",
    fence bigint,
    at timestamptz NOT NULL,
    session_role text COLLATE "C" NOT NULL DEFAULT SESSION_USER,
    outer_role text COLLATE "C" DEFAULT workflow.outer_role(),
    application_name text COLLATE "C" DEFAULT CASE WHEN pg_catalog.length(pg_catalog.current_setting('application_name')) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.current_setting('application_name') END,
    client_addr inet DEFAULT pg_catalog.inet_client_addr(),
    PRIMARY KEY (tenant_id, instance_id, revision)
);
-- Round is that of the state in which the decision was taken.
CREATE UNIQUE INDEX history_decision ON workflow.history (tenant_id, instance_id, material_version, round) WHERE decision IS NOT NULL;
COMMENT ON TABLE workflow.history IS 'One row per revision of an instance, append-only.';
COMMENT ON COLUMN workflow.history.session_role IS 'The login that sent the command.';
COMMENT ON COLUMN workflow.history.outer_role IS 'The role that SET ROLE had made of it; NULL: the login itself.';
COMMENT ON COLUMN workflow.history.application_name IS 'As the client calls itself; proves nothing.';
COMMENT ON COLUMN workflow.history.client_addr IS 'Address of the client, of a pooler the pooler''s; NULL: a local socket.';
COMMENT ON COLUMN workflow.history.step IS 'edge: a step along the definition; anything else is an administrative step.';
COMMENT ON COLUMN workflow.history.event IS 'Event of the edge; NULL for always edges and administrative steps.';
COMMENT ON COLUMN workflow.history.round IS 'Round of the state that was left (of the first state for the start).';
COMMENT ON COLUMN workflow.history.proof IS 'How strongly the actor was proved.';
COMMENT ON COLUMN workflow.history.fence IS 'Fence of the lease that the command presented, whose key is lease_key.';
COMMENT ON COLUMN workflow.history.at IS 'Clock time taken under the instance''s lock.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.history
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();

SELECT pg_catalog.pg_extension_config_dump('workflow.instances', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.history', '');

CREATE TYPE workflow.page AS (
    instance_id uuid,
    application_id uuid,
    business_key text,
    definition text,
    version int,
    state text,
    revision bigint,
    material_version int,
    material jsonb,
    context jsonb,
    facts jsonb,
    open_tasks jsonb,
    actions jsonb,
    timers jsonb
);
COMMENT ON TYPE workflow.page IS 'All that a page needs to show an instance and to send a command about exactly what it showed.';

CREATE FUNCTION wf_start(
    definition text,
    business_key text,
    material jsonb DEFAULT NULL,
    version int DEFAULT NULL,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_start';
COMMENT ON FUNCTION wf_start IS 'Starts an instance over the application of this business key, which is created when it is new (then material is needed). Without material the version in force is taken. Errors: WF002 the material differs from the one in force, WF005 no such definition, WF008, WF018 already running.';
REVOKE ALL ON FUNCTION wf_start FROM PUBLIC;

CREATE FUNCTION wf_transition(
    instance uuid,
    from_state text,
    to_state text,
    expected_revision bigint,
    material_version int,
    event text DEFAULT NULL,
    comment text DEFAULT NULL,
    payload jsonb DEFAULT NULL,
    request_id text DEFAULT NULL,
    lease_key text DEFAULT NULL,
    fence bigint DEFAULT NULL,
    wait_ms int DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_transition';
COMMENT ON FUNCTION wf_transition IS 'Takes the edge from_state to to_state if the instance still is as the caller saw it: expected_revision and material_version as the page showed them. wait_ms: total time to wait for locks in milliseconds, 0 for not at all, default workflow.wait_ms. lease_key and fence, of wf_lease_acquire: refused with WF009 unless that lease stands, to the end of the transaction. Errors: any of the catalogue (docs/refusals.md), 55P03 busy.';
REVOKE ALL ON FUNCTION wf_transition FROM PUBLIC;

CREATE FUNCTION wf_try_transition(
    instance uuid,
    from_state text,
    to_state text,
    expected_revision bigint,
    material_version int,
    event text DEFAULT NULL,
    comment text DEFAULT NULL,
    payload jsonb DEFAULT NULL,
    request_id text DEFAULT NULL,
    lease_key text DEFAULT NULL,
    fence bigint DEFAULT NULL,
    wait_ms int DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_try_transition';
COMMENT ON FUNCTION wf_try_transition IS 'wf_transition with on_refusal => ''return'': a refusal is an answer, stored in workflow.refusals, and no error.';
REVOKE ALL ON FUNCTION wf_try_transition FROM PUBLIC;

CREATE TYPE workflow.numbered_outcome AS (
    ordinal int,
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
COMMENT ON TYPE workflow.numbered_outcome IS 'Answer to one command of a call of many: its place in the call, from 1, and a workflow.outcome.';

CREATE FUNCTION wf_transition_many(
    commands jsonb,
    atomic boolean DEFAULT false,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.numbered_outcome ROWS 100
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_transition_many';
COMMENT ON FUNCTION wf_transition_many IS 'wf_transition for many instances: commands is an array of objects with the arguments of wf_transition as keys (instance, from_state, to_state, expected_revision, material_version, event, comment, payload, request_id, lease_key, fence), at most 100000. One row per command, in order; commands on one instance follow each other. A refused command is a row with its code and is stored in workflow.refusals; the others are carried out, or none of them with atomic => true: then a command that is not refused itself has applied = false, no code, and detail.withheld_by = ordinal of the first refused one. on_refusal says what becomes of a refusal of the whole call (WF007, WF019). Errors: those of wf_transition as rows; 22023, 22004 name the command.';
REVOKE ALL ON FUNCTION wf_transition_many FROM PUBLIC;

CREATE FUNCTION wf_check(
    instance uuid,
    from_state text,
    to_state text,
    expected_revision bigint,
    material_version int,
    event text DEFAULT NULL,
    comment text DEFAULT NULL,
    payload jsonb DEFAULT NULL,
    request_id text DEFAULT NULL,
    lease_key text DEFAULT NULL,
    fence bigint DEFAULT NULL,
    wait_ms int DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_check';
COMMENT ON FUNCTION wf_check IS 'The outcome that wf_transition would have now; applied says whether it would. Writes and locks nothing.';
REVOKE ALL ON FUNCTION wf_check FROM PUBLIC;

CREATE FUNCTION wf_send(
    instance uuid,
    event text,
    payload jsonb DEFAULT NULL,
    expected_revision bigint DEFAULT NULL,
    material_version int DEFAULT NULL,
    request_id text DEFAULT NULL,
    lock_mode text DEFAULT NULL,
    wait_ms int DEFAULT NULL,
    lease_key text DEFAULT NULL,
    fence bigint DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_send';
COMMENT ON FUNCTION wf_send IS 'Sends an event to an instance in whatever state it is. Decisions need expected_revision and material_version. lock_mode: optimistic, pessimistic or adaptive; default as the definition says, else adaptive. lease_key and fence as in wf_transition. Errors: WF003 the event belongs to another state, WF004 to none, and the rest of the catalogue.';
REVOKE ALL ON FUNCTION wf_send FROM PUBLIC;

CREATE FUNCTION wf_lock(
    instance uuid,
    wait_ms int DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_lock';
COMMENT ON FUNCTION wf_lock IS 'Locks an instance to the end of the caller''s transaction, so that nobody else changes it. wait_ms as in wf_transition. Errors: WF005, 55P03 busy.';
REVOKE ALL ON FUNCTION wf_lock FROM PUBLIC;

CREATE FUNCTION wf_get(
    instance uuid DEFAULT NULL,
    definition text DEFAULT NULL,
    business_key text DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.page ROWS 1
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_get';
COMMENT ON FUNCTION wf_get IS 'All a page needs, by instance, or by definition and business key (the open instance, else the latest). actions: for each event of the state, where it leads, whether the caller may take it now, and what stands in the way. timers: what time will do, and when. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_get FROM PUBLIC;

CREATE FUNCTION wf_explain(
    instance uuid,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS jsonb
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_explain';
COMMENT ON FUNCTION wf_explain IS 'Why an instance stands where it stands: state, actions and who may take them, seats and votes, the last step, timers and how they failed, machine work (attempt, worker, when it is available), recent refusals (one''s own, or all for those who may read workflow.refusals), and the backends that hold or await its row lock. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_explain FROM PUBLIC;
