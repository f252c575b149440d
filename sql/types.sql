-- Enums rather than CHECK constraints: the executor parses a CHECK again at every start.
CREATE TYPE workflow.step AS ENUM ('start', 'edge', 'supersede', 'seat', 'cancel', 'migrate');
COMMENT ON TYPE workflow.step IS 'Kind of a history row: an edge of the definition, or a marked administrative step.';

CREATE TYPE workflow.decision AS ENUM ('approve', 'reject', 'return');
COMMENT ON TYPE workflow.decision IS 'What a verdict says: for, against, or sent back to be mended.';

CREATE TYPE workflow.task_status AS ENUM ('OPEN', 'COMPLETED', 'SUPERSEDED', 'CANCELLED');
COMMENT ON TYPE workflow.task_status IS 'OPEN until decided. SUPERSEDED: outdated by new material, by another seat, or by leaving the state. CANCELLED: the instance was cancelled.';

CREATE TYPE workflow.proof AS ENUM ('setting', 'session', 'token', 'claims');
COMMENT ON TYPE workflow.proof IS 'How an actor was proved: named by a trusted backend (setting), by the database login (session), by a signed token, or by a gateway''s claims.';

CREATE TYPE workflow.outcome AS (
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
COMMENT ON TYPE workflow.outcome IS 'Answer of every command. Applied: state, revision and material_version after it, task_ids opened by it. Refused: the same columns as they are now, code and reason from the catalogue (docs/refusals.md), detail as in the DETAIL of the error.';

CREATE TYPE workflow.superseded AS (
    applied boolean,
    code text,
    reason text,
    application_id uuid,
    material_version int,
    instances int,
    tasks int,
    replayed boolean,
    attempts int,
    retryable boolean,
    retry_after_ms int,
    detail jsonb
);
COMMENT ON TYPE workflow.superseded IS 'Answer of wf_supersede_material: the material version now in force, how many open instances took it, how many open tasks it outdated.';

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
    actions jsonb
);
COMMENT ON TYPE workflow.page IS 'All that a page needs to show an instance and to send a command about exactly what it showed.';

CREATE TYPE workflow.published AS (
    definition text,
    version int
);
COMMENT ON TYPE workflow.published IS 'A published definition: its name and version.';

CREATE TYPE workflow.finding AS (
    severity text,
    path text,
    message text
);
COMMENT ON TYPE workflow.finding IS 'One remark on a definition: error or warning, JSON pointer (RFC 6901) to the place, words for its author.';

CREATE TYPE workflow.identity AS (
    tenant text,
    actor text,
    roles text[],
    mode text,
    proof text
);
COMMENT ON TYPE workflow.identity IS 'Who is calling, as commands see it: tenant, actor, roles, the identity mode in force and how the actor was proved.';

CREATE TYPE workflow.violation AS (
    invariant int,
    name text,
    tenant_id text,
    instance_id uuid,
    detail text
);
COMMENT ON TYPE workflow.violation IS 'An invariant that stored rows break: its number in the manual, its name, where, and what is wrong.';

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
