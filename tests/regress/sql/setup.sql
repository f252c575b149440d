-- What the other files share: the extension, two machines, and helpers that say in one stable line
-- what came out (no ids, no times), so that the expected files hold on every major.
SET client_min_messages = warning;
CREATE EXTENSION workflow;
CREATE SCHEMA t;

-- A command's answer.
CREATE FUNCTION t.see(o workflow.outcome) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ',
        CASE WHEN o.applied THEN 'applied' ELSE concat(o.code, ' ', o.reason) END,
        o.state, 'r' || o.revision, 'm' || o.material_version,
        'by ' || o.event,
        'opened ' || nullif(cardinality(o.task_ids), 0),
        CASE WHEN o.replayed THEN 'replayed' END,
        CASE WHEN o.retryable THEN 'retryable' END)
$$;

-- DETAIL without what differs from run to run.
CREATE FUNCTION t.place(p jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT nullif(concat_ws(' ', p ->> 'state', 'r' || (p ->> 'revision'), 'm' || (p ->> 'material_version')), '')
$$;
CREATE FUNCTION t.told(d jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(', ',
        'expected ' || t.place(d -> 'expected'),
        'actual ' || t.place(d -> 'actual'),
        CASE WHEN d ? 'winner' THEN concat('winner r', w ->> 'revision', ' ' || (w ->> 'event'), ' to ',
            w ->> 'to_state', ' by ' || CASE w ->> 'actor' WHEN session_user THEN 'me' ELSE w ->> 'actor' END,
            CASE WHEN (w ->> 'same_command')::boolean THEN ', the same command' END) END,
        CASE WHEN (d ->> 'already_in_target')::boolean THEN 'already in target' END,
        nullif(d - '{code,reason,http_status,retryable,instance_id,application_id,task_id,expected,actual,winner,already_in_target}'::text[], '{}')::text)
      FROM (SELECT d -> 'winner') x(w)
$$;

-- How a statement fails. A refusal must say the same thing in every field that it has.
CREATE FUNCTION t.refusal(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    code text;
    message text;
    detail text;
    hint text;
    name text;
BEGIN
    EXECUTE command;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, name = CONSTRAINT_NAME;
    IF code NOT LIKE 'WF%' THEN
        RETURN concat_ws(' ', code, nullif(name, ''), '|', message);
    END IF;
    IF NOT starts_with(message, name || ': ') OR hint = '' OR detail LIKE E'%\n%'
       OR detail::jsonb ->> 'code' <> code OR detail::jsonb ->> 'reason' <> name THEN
        RETURN concat_ws(' ', 'INCONSISTENT', code, name, '|', message, '|', detail, '|', hint);
    END IF;
    RETURN concat(code, ' ', name, ': ' || nullif(t.told(detail::jsonb), ''));
END
$$;

-- The latest instance of a business key, and its application.
CREATE FUNCTION t.i(key text, tenant text DEFAULT 'default') RETURNS uuid LANGUAGE sql AS $$
    SELECT i.id
      FROM workflow.applications a
      JOIN workflow.instances i ON i.tenant_id = a.tenant_id AND i.application_id = a.id
     WHERE a.tenant_id = tenant AND a.business_key = key
     ORDER BY i.id DESC LIMIT 1
$$;
CREATE FUNCTION t.a(key text, tenant text DEFAULT 'default') RETURNS uuid LANGUAGE sql AS $$
    SELECT a.id FROM workflow.applications a WHERE a.tenant_id = tenant AND a.business_key = key
$$;

CREATE FUNCTION t.history(key text, tenant text DEFAULT 'default')
    RETURNS TABLE (r bigint, step text, from_state text, to_state text, event text, decision text,
                   round int, m int, v int, actor text, comment text)
    LANGUAGE sql AS $$
    SELECT h.revision, h.step, h.from_state, h.to_state, h.event, h.decision, h.round,
           h.material_version, h.definition_version,
           CASE WHEN h.actor = session_user THEN 'me' ELSE h.actor END, h.comment
      FROM workflow.history h
     WHERE h.tenant_id = tenant AND h.instance_id = t.i(key, tenant)
     ORDER BY 1
$$;

CREATE FUNCTION t.tasks(key text, tenant text DEFAULT 'default')
    RETURNS TABLE (seat text, state text, status text, round int, m int, opened bigint, closed bigint,
                   decision text, by text, has_reason boolean)
    LANGUAGE sql AS $$
    SELECT k.seat, k.state, k.status, k.round, k.material_version, k.opened_revision,
           k.closed_revision, k.decision,
           CASE WHEN k.decided_by = session_user THEN 'me' ELSE k.decided_by END,
           k.reason IS NOT NULL
      FROM workflow.tasks k
     WHERE k.tenant_id = tenant AND k.instance_id = t.i(key, tenant)
     ORDER BY k.id
$$;

-- Rows of a business key beside its instance.
CREATE FUNCTION t.count(key text, tenant text DEFAULT 'default')
    RETURNS TABLE (history bigint, outbox bigint, tasks bigint, open_tasks bigint, requests bigint,
                   refusals bigint)
    LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM workflow.history h WHERE h.tenant_id = tenant AND h.instance_id = i),
           (SELECT count(*) FROM workflow.outbox o WHERE o.tenant_id = tenant AND o.aggregateid = i::text),
           (SELECT count(*) FROM workflow.tasks k WHERE k.tenant_id = tenant AND k.instance_id = i),
           (SELECT count(*) FROM workflow.tasks k
             WHERE k.tenant_id = tenant AND k.instance_id = i AND k.status = 'OPEN'),
           (SELECT count(*) FROM workflow.requests q
             WHERE q.tenant_id = tenant AND q.outcome ->> 'instance_id' = i::text),
           (SELECT count(*) FROM workflow.refusals f WHERE f.tenant_id = tenant AND f.instance_id = i)
      FROM t.i(key, tenant) i
$$;

-- Every row of every table, with who wrote it: equal before and after means that nothing happened.
CREATE FUNCTION t.world() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    name text;
    part text;
    whole text := '';
BEGIN
    FOR name IN SELECT relname FROM pg_class
                 WHERE relnamespace = 'workflow'::regnamespace AND relkind = 'r' ORDER BY 1
    LOOP
        EXECUTE format('SELECT md5(string_agg(x.line, E''\n'' ORDER BY x.line))
                          FROM (SELECT concat(r.xmin, r.ctid, r::text) AS line FROM workflow.%I r) x', name)
           INTO part;
        whole := concat(whole, part, ' ');
    END LOOP;
    RETURN md5(whole);
END
$$;

-- The latest task of a seat.
CREATE FUNCTION t.task(key text, seat text DEFAULT 'reviewer', tenant text DEFAULT 'default') RETURNS uuid LANGUAGE sql AS $$
    SELECT k.id FROM workflow.tasks k
     WHERE k.tenant_id = $3 AND k.instance_id = t.i(key, tenant) AND k.seat = $2
     ORDER BY k.id DESC LIMIT 1
$$;

-- What a person decides for a seat, about the instance as it stands; a refusal is stored.
CREATE FUNCTION t.vote(key text, seat text, decision text, who text, roles text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', t.see(o), CASE WHEN o.applied AND o.detail IS NOT NULL THEN
               concat('| for ', o.detail ->> 'for', ' against ', o.detail ->> 'against', ' open ', o.detail ->> 'open', ' needed ', o.detail ->> 'needed') END)
      FROM workflow.instances i
     CROSS JOIN LATERAL wf_decide(t.task(key, seat), decision, i.revision, i.material_version, on_refusal => 'return', actor => who, roles => roles) o
     WHERE i.id = t.i(key)
$$;

-- Who spoke and who did not, task by task.
CREATE FUNCTION t.seats(key text)
    RETURNS TABLE (seat text, round int, m int, status text, closed bigint, decision text, favour boolean, by text, behalf text, holder text,
                   delegator text, reason text)
    LANGUAGE sql AS $$
    SELECT k.seat, k.round, k.material_version, k.status, k.closed_revision, k.decision, k.in_favour, k.decided_by, k.on_behalf_of, k.holder,
           k.delegated_by, k.reason
      FROM workflow.tasks k WHERE k.instance_id = t.i(key) ORDER BY k.id
$$;

-- What bumped the work.
CREATE FUNCTION t.log(key text)
    RETURNS TABLE (work bigint, step text, seat text, r bigint, round int, m int, event text, favour boolean, actor text, behalf text, to_actor text, comment text)
    LANGUAGE sql AS $$
    SELECT l.work, l.step, l.seat, l.revision, l.round, l.material_version, l.event, l.in_favour, l.actor, l.on_behalf_of, l.to_actor, l.comment
      FROM workflow.task_log l WHERE l.instance_id = t.i(key) ORDER BY 1
$$;

-- What people read, in order.
CREATE FUNCTION t.timeline(key text)
    RETURNS TABLE (kind text, r bigint, work bigint, actor text, behalf text, what text, comment text)
    LANGUAGE sql AS $$
    SELECT l.kind, l.revision, l.work, CASE WHEN l.actor = session_user THEN 'me' ELSE l.actor END, l.on_behalf_of, l.what, l.comment
      FROM workflow.timeline l WHERE l.instance_id = t.i(key) ORDER BY l.at, l.revision, l.work
$$;

-- A machine with one question, put to the seats of a task.
CREATE FUNCTION t.panel(name text, task jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT d.definition || ' v' || d.version FROM wf_define(jsonb_set(jsonb_build_object('id', name) || '{
      "initial": "VOTE",
      "states": {
        "VOTE": {
          "meta": {"on_supersede": "stay"},
          "on": {
            "APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
            "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
            "RETURN": {"target": "REWORK", "meta": {"decision": "return"}},
            "NOTE": "VOTE"}},
        "REWORK": {"meta": {"on_supersede": "stay"}, "on": {"RESUBMIT": "VOTE"}},
        "APPROVED": {"type": "final"},
        "REJECTED": {"type": "final"}}}', '{states,VOTE,meta,task}', task)) d
$$;
CREATE FUNCTION t.open_panel(name text, key text, actor text DEFAULT 'sue') RETURNS text LANGUAGE sql AS $$
    SELECT t.see(o) FROM wf_start(name, key, '{}', actor => $3) o
$$;

-- One reviewer; an approval is not the end, and does not outlive its material.
SELECT * FROM wf_define('{
  "id": "review", "initial": "SUBMITTED",
  "states": {
    "SUBMITTED": {
      "meta": {"task": {"seats": [{"name": "reviewer", "roles": []}]}, "on_supersede": "stay"},
      "on": {
        "APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
        "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
        "RETURN": {"target": "REWORK", "meta": {"decision": "return"}},
        "WITHDRAW": "WITHDRAWN"}},
    "REWORK": {"meta": {"on_supersede": "stay"}, "on": {"RESUBMIT": "SUBMITTED", "WITHDRAW": "WITHDRAWN"}},
    "APPROVED": {"meta": {"on_supersede": "SUBMITTED"}, "on": {"SIGN": "SIGNED"}},
    "SIGNED": {"type": "final"},
    "REJECTED": {"type": "final"},
    "WITHDRAWN": {"type": "final"}}}');

-- No people, no verdicts.
SELECT * FROM wf_define('{
  "id": "lamp", "initial": "OFF",
  "states": {
    "OFF": {"on": {"PRESS": "ON", "BREAK": "BROKEN"}},
    "ON": {"on": {"PRESS": "OFF", "BREAK": "BROKEN"}},
    "BROKEN": {"type": "final"}}}');

SELECT wf_version() = extversion AS library_is_of_this_version FROM pg_extension WHERE extname = 'workflow';
SELECT * FROM wf_verify();
