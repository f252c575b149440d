-- tenant_id leads every key: isolation now, sharding by tenant later. Every name is COLLATE "C",
-- so that Rust and SQL sort and compare alike. No foreign keys on the hot tables: integrity comes
-- from the engine, which alone writes, and is shown by wf_verify().

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

CREATE TABLE workflow.tasks (
    tenant_id text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    seat text COLLATE "C" NOT NULL,
    status workflow.task_status NOT NULL,
    state text COLLATE "C" NOT NULL,
    round int NOT NULL,
    material_version int NOT NULL,
    roles text[] COLLATE "C" NOT NULL,
    veto boolean NOT NULL,
    one_vote_each boolean NOT NULL,
    opened_revision bigint NOT NULL,
    opened_at timestamptz NOT NULL,
    due_at timestamptz,
    holder text COLLATE "C",
    held_until timestamptz,
    claimed boolean NOT NULL DEFAULT false,
    delegated_by text COLLATE "C",
    closed_revision bigint,
    closed_at timestamptz,
    reason text,
    decision text COLLATE "C",
    in_favour boolean,
    decided_by text COLLATE "C",
    on_behalf_of text COLLATE "C",
    PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX tasks_open ON workflow.tasks (tenant_id, instance_id, seat)
    WHERE status OPERATOR(pg_catalog.=) 'OPEN';
CREATE UNIQUE INDEX tasks_seat_vote ON workflow.tasks (tenant_id, instance_id, material_version, round, seat)
    WHERE in_favour IS NOT NULL;
CREATE UNIQUE INDEX tasks_person_vote ON workflow.tasks (tenant_id, instance_id, material_version, round, decided_by)
    WHERE in_favour IS NOT NULL AND one_vote_each;
CREATE INDEX tasks_round ON workflow.tasks (tenant_id, instance_id, round);
CREATE INDEX tasks_worklist ON workflow.tasks (tenant_id, id)
    WHERE status OPERATOR(pg_catalog.=) 'OPEN';
CREATE INDEX tasks_holder ON workflow.tasks (tenant_id, holder, id)
    WHERE status OPERATOR(pg_catalog.=) 'OPEN' AND holder IS NOT NULL;
CREATE INDEX tasks_roles ON workflow.tasks (tenant_id, roles, id)
    WHERE status OPERATOR(pg_catalog.=) 'OPEN';
CREATE INDEX tasks_roles_due ON workflow.tasks (tenant_id, roles, COALESCE(due_at, 'infinity'), id)
    WHERE status OPERATOR(pg_catalog.=) 'OPEN';
CREATE INDEX tasks_due ON workflow.tasks (tenant_id, COALESCE(due_at, 'infinity'), id)
    WHERE status OPERATOR(pg_catalog.=) 'OPEN';
COMMENT ON TABLE workflow.tasks IS 'Human work: one row per seat and entry into a state.';
COMMENT ON COLUMN workflow.tasks.roles IS 'Roles of which the decider must hold one; empty admits everybody.';
COMMENT ON COLUMN workflow.tasks.veto IS 'Whether this seat''s rejection alone decides the round.';
COMMENT ON COLUMN workflow.tasks.one_vote_each IS 'Whether one person has one vote in the round.';
COMMENT ON COLUMN workflow.tasks.holder IS 'Who has claimed it, or had it assigned, delegated or transferred: only they may decide it.';
COMMENT ON COLUMN workflow.tasks.held_until IS 'End of a claim with a lease; NULL: until released.';
COMMENT ON COLUMN workflow.tasks.claimed IS 'Whether it was claimed by its holder (or by who delegated it), who then needs a role of the seat to decide.';
COMMENT ON COLUMN workflow.tasks.delegated_by IS 'For whom the holder acts; a release gives the task back to them.';
COMMENT ON COLUMN workflow.tasks.reason IS 'Why a SUPERSEDED or CANCELLED task was closed.';
COMMENT ON COLUMN workflow.tasks.decision IS 'Event by which a COMPLETED task was decided.';
COMMENT ON COLUMN workflow.tasks.in_favour IS 'Its counted vote, where several seats speak.';

CREATE TYPE workflow.task_step AS ENUM ('vote', 'claim', 'release', 'assign', 'delegate', 'transfer');
COMMENT ON TYPE workflow.task_step IS 'What happened to a task without outdating the page that shows its instance.';

CREATE TABLE workflow.task_log (
    tenant_id text COLLATE "C" NOT NULL,
    instance_id uuid NOT NULL,
    work bigint NOT NULL,
    step workflow.task_step NOT NULL,
    task_id uuid NOT NULL,
    seat text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    round int NOT NULL,
    material_version int NOT NULL,
    event text COLLATE "C",
    in_favour boolean,
    actor text COLLATE "C" NOT NULL,
    on_behalf_of text COLLATE "C",
    to_actor text COLLATE "C",
    proof workflow.proof NOT NULL,
    comment text,
    payload jsonb,
    request_id text COLLATE "C",
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, instance_id, work)
);
COMMENT ON TABLE workflow.task_log IS 'One row per unit of work of an instance, append-only: votes and changes of hands.';
COMMENT ON COLUMN workflow.task_log.work IS 'Count of the instance''s work after this row.';
COMMENT ON COLUMN workflow.task_log.to_actor IS 'Who holds the task afterwards.';

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
    fence bigint,
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, instance_id, revision)
);
-- Round is that of the state in which the decision was taken.
CREATE UNIQUE INDEX history_decision ON workflow.history (tenant_id, instance_id, material_version, round) WHERE decision IS NOT NULL;
COMMENT ON TABLE workflow.history IS 'One row per revision of an instance, append-only.';
COMMENT ON COLUMN workflow.history.step IS 'edge: a step along the definition; anything else is an administrative step.';
COMMENT ON COLUMN workflow.history.event IS 'Event of the edge; NULL for always edges and administrative steps.';
COMMENT ON COLUMN workflow.history.round IS 'Round of the state that was left (of the first state for the start).';
COMMENT ON COLUMN workflow.history.proof IS 'How strongly the actor was proved.';
COMMENT ON COLUMN workflow.history.at IS 'Clock time taken under the instance''s lock.';

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
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX refusals_instance ON workflow.refusals (tenant_id, instance_id);
COMMENT ON TABLE workflow.refusals IS 'Commands refused with on_refusal => ''return'', as they stood at that moment.';
COMMENT ON COLUMN workflow.refusals.detail IS 'What the DETAIL of the error says: expected, actual, winner.';

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

CREATE FUNCTION workflow.refuse_change() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'wf_refuse_change';
COMMENT ON FUNCTION workflow.refuse_change() IS 'Raises 42501: the table is append-only, for its owner as well.';
REVOKE ALL ON FUNCTION workflow.refuse_change() FROM PUBLIC;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.history
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.task_log
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.materials
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();
