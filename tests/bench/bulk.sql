-- What one command of a call of many costs, beside the floor: one statement that moves the same rows,
-- writes the same history and the same events, under the same conditions, and decides nothing. Both
-- run in turn, so that drift hits both alike; the figure is the ratio of the best runs.
--   make psql PGVERSIONS=15 < tests/bench/bulk.sql
\set QUIET on
\set n 10000
SELECT version FROM wf_define('{"id": "bench", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"on": {"GO": "A"}}}}') \gset
CREATE TABLE subject AS SELECT g, o.instance_id AS id FROM generate_series(1, :n) g, wf_start('bench', 'bench ' || g, '{}') o;
VACUUM ANALYZE subject;
VACUUM ANALYZE workflow.instances;

CREATE FUNCTION bulk(from_state text, to_state text, revision bigint, n int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    commands jsonb;
    began timestamptz;
    applied int;
BEGIN
    SELECT jsonb_agg(jsonb_build_object('instance', id, 'from_state', from_state, 'to_state', to_state,
                                        'expected_revision', revision, 'material_version', 1))
      INTO commands FROM subject WHERE g <= n;
    began := clock_timestamp();
    SELECT count(*) INTO applied FROM wf_transition_many(commands) o WHERE o.applied;
    ASSERT applied = n;
    RETURN extract(epoch FROM clock_timestamp() - began) * 1e6 / n;
END
$$;

CREATE FUNCTION floor(from_state text, to_state text, seen bigint, n int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    ids uuid[];
    began timestamptz;
    applied int;
BEGIN
    SELECT array_agg(id) INTO ids FROM subject WHERE g <= n;
    began := clock_timestamp();
    WITH locked AS (
        SELECT i.* FROM workflow.instances i
         WHERE tenant_id = 'default' AND id = ANY (ids) ORDER BY id FOR NO KEY UPDATE
    ), moved AS (
        UPDATE workflow.instances i
           SET state = to_state, revision = i.revision + 1, round = i.round + 1, entered_revision = i.revision + 1
          FROM locked l
         WHERE i.tenant_id = l.tenant_id AND i.id = l.id AND i.state = from_state AND i.revision = seen
           AND i.material_version = 1 AND i.work = l.work
        RETURNING i.*
    ), recorded AS (
        INSERT INTO workflow.history (tenant_id, instance_id, revision, step, from_state, to_state, event, round,
                                      material_version, definition_version, actor, proof, at)
        SELECT tenant_id, id, revision, 'edge', from_state, to_state, 'GO', round - 1, material_version, 1, 'me', 'session', clock_timestamp()
          FROM moved
        RETURNING 1
    ), published AS (
        INSERT INTO workflow.outbox (tenant_id, id, aggregatetype, aggregateid, type, payload, revision, occurred_at)
        SELECT tenant_id, gen_random_uuid(), definition, id::text, 'GO',
               jsonb_build_object('instance_id', id, 'application_id', application_id, 'definition', definition,
                   'version', 1, 'revision', revision, 'step', 'edge', 'event', 'GO', 'from_state', from_state,
                   'to_state', to_state, 'decision', NULL::text, 'round', round - 1,
                   'material_version', material_version, 'actor', 'me', 'payload', NULL::jsonb),
               revision, clock_timestamp()
          FROM moved
        RETURNING tenant_id, aggregateid, revision, id, occurred_at
    ), queued AS (
        INSERT INTO workflow.outbox_queue (tenant_id, instance_id, revision, id, occurred_at)
        SELECT tenant_id, aggregateid::uuid, revision, id, occurred_at FROM published
        RETURNING 1
    )
    SELECT count(*) INTO applied FROM queued;
    ASSERT applied = n;
    RETURN extract(epoch FROM clock_timestamp() - began) * 1e6 / n;
END
$$;

CREATE TABLE figure (way text, n int, us float8);
CREATE PROCEDURE measure(n int, rounds int) LANGUAGE plpgsql AS $$
DECLARE
    revision bigint;
BEGIN
    FOR round IN 1..rounds LOOP
        SELECT i.revision INTO revision FROM workflow.instances i JOIN subject s USING (id) WHERE s.g = 1;
        INSERT INTO figure VALUES ('wf_transition_many', n, bulk('A', 'B', revision, n));
        COMMIT;
        INSERT INTO figure VALUES ('floor', n, floor('B', 'A', revision + 1, n));
        COMMIT;
    END LOOP;
END
$$;
-- The most first: then those of the next ones stand at one revision as well.
CALL measure(10000, 6);
VACUUM workflow.instances;
CALL measure(1000, 10);
VACUUM workflow.instances;
CALL measure(100, 50);
VACUUM workflow.instances;
CALL measure(10, 200);
SELECT n AS commands, round(min(us) FILTER (WHERE way <> 'floor')::numeric, 1) AS "µs each",
       round(min(us) FILTER (WHERE way = 'floor')::numeric, 1) AS "floor µs",
       round((min(us) FILTER (WHERE way <> 'floor') / min(us) FILTER (WHERE way = 'floor'))::numeric, 2) AS ratio
  FROM figure GROUP BY n ORDER BY n;
SELECT count(*) AS violations FROM wf_verify();
