-- What the cases work on: enough rows for the longest of them, with room on their pages for one more
-- version of each, because the whole case is one transaction and nothing is pruned in it.
CREATE EXTENSION workflow;
ALTER TABLE workflow.instances SET (fillfactor = 30);
ALTER TABLE workflow.tasks SET (fillfactor = 30);
SELECT version FROM wf_define('{"id": "machine", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"on": {"GO": "A"}}}}');
SELECT version FROM wf_define('{"id": "human", "initial": "SUBMITTED", "states": {
    "SUBMITTED": {"meta": {"task": {"seats": [{"name": "reviewer"}]}},
                  "on": {"APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
                         "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}}}},
    "APPROVED": {"type": "final"}, "REJECTED": {"type": "final"}}}');
CREATE TABLE subject AS SELECT n, o.instance_id AS id FROM generate_series(1, 2000) n, wf_start('machine', 'machine ' || n, '{}') o;
CREATE TABLE work AS SELECT n, o.instance_id AS id, o.task_ids[1] AS task FROM generate_series(1, 2000) n, wf_start('human', 'human ' || n, '{}') o;

-- The peer: what a team writes by hand, on the same tables, with the same checks of the caller and the row.
CREATE FUNCTION peer(instance uuid, old_state text, new_state text, expected bigint, material int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    person text := session_user;
    tenant text;
    seen record;
    now timestamptz;
    event uuid;
BEGIN
    SELECT coalesce(min(m.tenant_id), 'default') INTO tenant
      FROM workflow.members m WHERE m.member = person AND (m.valid_until IS NULL OR m.valid_until > clock_timestamp());
    SELECT i.state, i.revision, i.material_version, i.round, i.application_id, i.closed,
           (SELECT count(*) FROM workflow.tasks t WHERE t.tenant_id = i.tenant_id AND t.instance_id = i.id AND t.round = i.round AND t.status = 'OPEN') AS open
      INTO seen
      FROM workflow.instances i WHERE i.tenant_id = tenant AND i.id = instance;
    IF NOT FOUND OR seen.closed OR seen.open > 0 OR seen.state <> old_state OR seen.revision <> expected OR seen.material_version <> material THEN
        RETURN false;
    END IF;
    UPDATE workflow.instances i
       SET state = new_state, revision = i.revision + 1, round = i.round + 1, entered_revision = i.revision + 1
     WHERE i.tenant_id = tenant AND i.id = instance AND i.state = old_state AND i.revision = expected AND i.material_version = material;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    now := clock_timestamp();
    INSERT INTO workflow.history (tenant_id, instance_id, revision, step, from_state, to_state, event, round, material_version,
                                  definition_version, actor, proof, at)
    VALUES (tenant, instance, expected + 1, 'edge', old_state, new_state, 'GO', seen.round, material, 1, person, 'session', now);
    event := gen_random_uuid();
    INSERT INTO workflow.outbox (tenant_id, id, aggregatetype, aggregateid, type, payload, revision, occurred_at)
    VALUES (tenant, event, 'machine', instance::text, 'GO',
            jsonb_build_object('instance_id', instance, 'application_id', seen.application_id, 'definition', 'machine', 'version', 1,
                'revision', expected + 1, 'step', 'edge', 'event', 'GO', 'from_state', old_state, 'to_state', new_state,
                'decision', NULL::text, 'round', seen.round, 'material_version', material, 'actor', person, 'payload', NULL::jsonb),
            expected + 1, now);
    INSERT INTO workflow.outbox_queue (tenant_id, instance_id, revision, id, occurred_at) VALUES (tenant, instance, expected + 1, event, now);
    RETURN true;
END
$$;

-- The floor: one statement that moves the same rows, writes the same and decides nothing.
CREATE FUNCTION set_based(n int) RETURNS bigint LANGUAGE sql AS $$
    WITH moved AS (
        UPDATE workflow.instances i
           SET state = 'B', revision = i.revision + 1, round = i.round + 1, entered_revision = i.revision + 1
          FROM subject s
         WHERE s.n <= set_based.n AND i.tenant_id = 'default' AND i.id = s.id AND i.state = 'A' AND i.revision = 1 AND i.material_version = 1
        RETURNING i.*
    ), recorded AS (
        INSERT INTO workflow.history (tenant_id, instance_id, revision, step, from_state, to_state, event, round, material_version,
                                      definition_version, actor, proof, at)
        SELECT tenant_id, id, revision, 'edge', 'A', state, 'GO', round - 1, material_version, 1, 'me', 'session', clock_timestamp() FROM moved
        RETURNING 1
    ), published AS (
        INSERT INTO workflow.outbox (tenant_id, id, aggregatetype, aggregateid, type, payload, revision, occurred_at)
        SELECT tenant_id, gen_random_uuid(), definition, id::text, 'GO',
               jsonb_build_object('instance_id', id, 'application_id', application_id, 'definition', definition, 'version', 1,
                   'revision', revision, 'step', 'edge', 'event', 'GO', 'from_state', 'A', 'to_state', state, 'decision', NULL::text,
                   'round', round - 1, 'material_version', material_version, 'actor', 'me', 'payload', NULL::jsonb),
               revision, clock_timestamp()
          FROM moved
        RETURNING tenant_id, aggregateid, revision, id, occurred_at
    ), queued AS (
        INSERT INTO workflow.outbox_queue (tenant_id, instance_id, revision, id, occurred_at)
        SELECT tenant_id, aggregateid::uuid, revision, id, occurred_at FROM published
        RETURNING 1
    )
    SELECT count(*) FROM queued
$$;
VACUUM ANALYZE;
