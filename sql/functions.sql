-- The public surface. Nothing is STRICT: a NULL where a value is needed raises 22004.
-- Nothing is granted to PUBLIC; wf_grant hands out EXECUTE by capability.

-- Definitions

CREATE FUNCTION wf_define(
    spec jsonb,
    activate boolean DEFAULT true,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.published ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_define';
COMMENT ON FUNCTION wf_define IS 'Publishes a definition under its id for the caller''s tenant and gives its version; the same spec again gives the version it has, and activates nothing. activate: wf_start takes this version from now on. Errors: WF014 invalid_definition with a JSON pointer.';
REVOKE ALL ON FUNCTION wf_define FROM PUBLIC;

CREATE FUNCTION wf_validate(
    spec jsonb,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.finding ROWS 10
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_validate';
COMMENT ON FUNCTION wf_validate IS 'Everything wf_define would say of a spec: severity (error or warning), JSON pointer, message. No row: it is sound.';
REVOKE ALL ON FUNCTION wf_validate FROM PUBLIC;

CREATE FUNCTION wf_export(
    definition text,
    version int DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS jsonb
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_export';
COMMENT ON FUNCTION wf_export IS 'The spec of a definition as it was published; without version the active one. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_export FROM PUBLIC;

-- Running

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
COMMENT ON FUNCTION wf_transition IS 'Takes the edge from_state to to_state if the instance still is as the caller saw it: expected_revision and material_version as the page showed them. wait_ms: total time to wait for locks in milliseconds, 0 for not at all, default workflow.wait_ms. Errors: any of the catalogue (docs/refusals.md), 55P03 busy.';
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
COMMENT ON FUNCTION wf_send IS 'Sends an event to an instance in whatever state it is. Decisions need expected_revision and material_version. lock_mode: optimistic or pessimistic, default as the definition says. Errors: WF003 the event belongs to another state, WF004 to none, and the rest of the catalogue.';
REVOKE ALL ON FUNCTION wf_send FROM PUBLIC;

CREATE FUNCTION wf_supersede_material(
    application uuid,
    expected_material_version int,
    material jsonb,
    request_id text DEFAULT NULL,
    on_refusal text DEFAULT 'raise',
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.superseded ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_supersede_material';
COMMENT ON FUNCTION wf_supersede_material IS 'Puts a new material in force: its version is one higher, open instances take it, their open tasks are SUPERSEDED. Errors: WF002 the material in force is another version, WF005, WF020 a state does not take new material.';
REVOKE ALL ON FUNCTION wf_supersede_material FROM PUBLIC;

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
COMMENT ON FUNCTION wf_get IS 'All a page needs, by instance, or by definition and business key (the open instance, else the latest). actions: for each event of the state, where it leads, whether the caller may take it now, and what stands in the way. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_get FROM PUBLIC;

-- Human tasks

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

CREATE FUNCTION wf_explain(
    instance uuid,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS jsonb
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_explain';
COMMENT ON FUNCTION wf_explain IS 'Why an instance stands where it stands: state, actions and who may take them, seats and votes, the last step, recent refusals (one''s own, or all for those who may read workflow.refusals), and the backends that hold or await its row lock. Errors: WF005.';
REVOKE ALL ON FUNCTION wf_explain FROM PUBLIC;

-- Who is calling, and upkeep

CREATE FUNCTION wf_as(
    tenant text,
    actor text,
    roles text[] DEFAULT '{}'
) RETURNS SETOF workflow.identity ROWS 1
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wf_as';
COMMENT ON FUNCTION wf_as IS 'Names tenant, actor and roles for the rest of the transaction (identity mode setting). Needs capability backend. Errors: WF007.';
REVOKE ALL ON FUNCTION wf_as FROM PUBLIC;

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

CREATE FUNCTION wf_verify(
    instance uuid DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS SETOF workflow.violation ROWS 1
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_verify';
COMMENT ON FUNCTION wf_verify IS 'Checks the invariants of one instance, or of all of them, in one snapshot: one row per violation, none when all is well. For operators: without tenant it looks at all tenants.';
REVOKE ALL ON FUNCTION wf_verify FROM PUBLIC;

CREATE FUNCTION wf_version() RETURNS text
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'wf_version';
COMMENT ON FUNCTION wf_version() IS 'Version of the loaded library.';
REVOKE ALL ON FUNCTION wf_version() FROM PUBLIC;
