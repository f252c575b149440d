-- Human work.

CREATE TYPE workflow.task_status AS ENUM ('OPEN', 'COMPLETED', 'SUPERSEDED', 'CANCELLED');
COMMENT ON TYPE workflow.task_status IS 'OPEN until decided. SUPERSEDED: outdated by new material, by another seat, or by leaving the state. CANCELLED: the instance was cancelled.';

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
    session_role text COLLATE "C" NOT NULL DEFAULT SESSION_USER,
    outer_role text COLLATE "C" DEFAULT workflow.outer_role(),
    application_name text COLLATE "C" DEFAULT CASE WHEN pg_catalog.length(pg_catalog.current_setting('application_name')) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.current_setting('application_name') END,
    client_addr inet DEFAULT pg_catalog.inet_client_addr(),
    PRIMARY KEY (tenant_id, instance_id, work)
);
COMMENT ON TABLE workflow.task_log IS 'One row per unit of work of an instance, append-only: votes and changes of hands.';
COMMENT ON COLUMN workflow.task_log.session_role IS 'The login that sent the command.';
COMMENT ON COLUMN workflow.task_log.outer_role IS 'The role that SET ROLE had made of it; NULL: the login itself.';
COMMENT ON COLUMN workflow.task_log.application_name IS 'As the client calls itself; proves nothing.';
COMMENT ON COLUMN workflow.task_log.client_addr IS 'Address of the client, of a pooler the pooler''s; NULL: a local socket.';
COMMENT ON COLUMN workflow.task_log.work IS 'Count of the instance''s work after this row.';
COMMENT ON COLUMN workflow.task_log.to_actor IS 'Who holds the task afterwards.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON workflow.task_log
    FOR EACH STATEMENT EXECUTE FUNCTION workflow.refuse_change();

SELECT pg_catalog.pg_extension_config_dump('workflow.tasks', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.task_log', '');

CREATE TYPE workflow.work_item AS (
    task_id uuid,
    seat text,
    roles text[],
    veto boolean,
    holder text,
    delegated_by text,
    opened_at timestamptz,
    due_at timestamptz,
    overdue boolean,
    instance_id uuid,
    application_id uuid,
    business_key text,
    definition text,
    state text,
    round int,
    revision bigint,
    material_version int
);
COMMENT ON TYPE workflow.work_item IS 'An open task, with what a page needs to decide it.';

CREATE FUNCTION wf_decide(
    task uuid,
    decision text,
    expected_revision bigint,
    material_version int,
    comment text DEFAULT NULL,
    payload jsonb DEFAULT NULL,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_decide';
COMMENT ON FUNCTION wf_decide IS 'The verdict of a task''s seat; decision is the name of an event of the state. Where several seats speak it is a vote: detail has for, against, open and needed, and the vote that makes the outcome certain moves the instance. Errors: WF006 the task is over, WF007, WF010 this person or seat has voted, and the rest of the catalogue.';
REVOKE ALL ON FUNCTION wf_decide FROM PUBLIC;

CREATE FUNCTION wf_task_claim(
    task uuid,
    lease_ms int DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_task_claim';
COMMENT ON FUNCTION wf_task_claim IS 'Takes a task for the actor alone, until released, or for lease_ms milliseconds (1 to 604800000). The same person again: nothing changes, or the lease begins anew. Errors: WF006, WF007, WF016 another person holds it.';
REVOKE ALL ON FUNCTION wf_task_claim FROM PUBLIC;

CREATE FUNCTION wf_task_release(
    task uuid,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_task_release';
COMMENT ON FUNCTION wf_task_release IS 'Gives a task back: to the delegator, or else to everybody of the role. A task that nobody holds stays so. Errors: WF006, WF007 another person holds it.';
REVOKE ALL ON FUNCTION wf_task_release FROM PUBLIC;

CREATE FUNCTION wf_task_assign(
    task uuid,
    assignee text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_task_assign';
COMMENT ON FUNCTION wf_task_assign IS 'Gives a task to a person, whoever holds it: privileged. Errors: WF006.';
REVOKE ALL ON FUNCTION wf_task_assign FROM PUBLIC;

CREATE FUNCTION wf_task_delegate(
    task uuid,
    to_actor text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_task_delegate';
COMMENT ON FUNCTION wf_task_delegate IS 'Lets another person act for the actor; history names both. A release gives the task back. Errors: WF006, WF007 another person holds it.';
REVOKE ALL ON FUNCTION wf_task_delegate FROM PUBLIC;

CREATE FUNCTION wf_task_transfer(
    task uuid,
    to_actor text,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_task_transfer';
COMMENT ON FUNCTION wf_task_transfer IS 'Gives a task to another person for good. Errors: WF006, WF007 another person holds it.';
REVOKE ALL ON FUNCTION wf_task_transfer FROM PUBLIC;

CREATE FUNCTION wf_seat_add(
    instance uuid,
    seat jsonb,
    expected_revision bigint,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_seat_add';
COMMENT ON FUNCTION wf_seat_add IS 'Adds a seat, {"name", "roles", "veto"}, to the present round: privileged. Errors: 22023, WF001, WF003 the state has no seats, WF013.';
REVOKE ALL ON FUNCTION wf_seat_add FROM PUBLIC;

CREATE FUNCTION wf_seat_remove(
    instance uuid,
    seat text,
    expected_revision bigint,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_seat_remove';
COMMENT ON FUNCTION wf_seat_remove IS 'Takes an open seat out of the present round: privileged. If the seats that remain have decided, the round closes. Errors: 22023 the rest could not meet the rule, WF001, WF003, WF005 no such seat, WF010 the seat has voted.';
REVOKE ALL ON FUNCTION wf_seat_remove FROM PUBLIC;

CREATE FUNCTION wf_withdraw(
    instance uuid,
    expected_revision bigint,
    comment text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.outcome ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_withdraw';
COMMENT ON FUNCTION wf_withdraw IS 'Takes the question back: the submitter ends the instance while nobody has voted in this round. Errors: WF001, WF007 not the submitter, WF010 a seat has voted, WF013.';
REVOKE ALL ON FUNCTION wf_withdraw FROM PUBLIC;

CREATE FUNCTION wf_worklist(
    role text DEFAULT NULL,
    assignee text DEFAULT NULL,
    overdue_first boolean DEFAULT false,
    limit_rows int DEFAULT 50,
    after uuid DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.work_item ROWS 50
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_worklist';
COMMENT ON FUNCTION wf_worklist IS 'A page of open tasks, oldest first or by due date: those that role may decide, those that assignee holds, or all. limit_rows: 1 to 1000. after: task_id of the last row of the page before.';
REVOKE ALL ON FUNCTION wf_worklist FROM PUBLIC;
