-- What the outbox costs a transition, beside the same transition with meta.publish: false; and what an
-- event costs its consumers. One session, inside the server, the best of several rounds each; the time
-- is that of the processor (Linux), so that whatever else runs on the machine counts little.
--
--   make psql PGVERSIONS=15 < tests/bench/outbox.sql
--
-- Ratios hold from machine to machine, absolute times do not.
\set QUIET on
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS workflow;
SELECT count(*) FROM wf_define('{"id": "loud", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"on": {"BACK": "A"}}}}') \g /dev/null
SELECT count(*) FROM wf_define('{"id": "quiet", "initial": "A", "states": {
    "A": {"on": {"GO": {"target": "B", "meta": {"publish": false}}}}, "B": {"on": {"BACK": {"target": "A", "meta": {"publish": false}}}}}}') \g /dev/null
SELECT count(o.applied) FROM generate_series(1, 200) n CROSS JOIN LATERAL unnest('{loud,quiet}'::text[]) d CROSS JOIN LATERAL wf_start(d, d || n, '{}') o \g /dev/null
CREATE TEMP TABLE took (what text, us float8);
-- Microseconds of the processor that this backend has had.
CREATE FUNCTION pg_temp.busy() RETURNS float8 LANGUAGE sql AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1000 $$;

-- Each instance there and back, `times` times: microseconds per transition.
CREATE PROCEDURE pg_temp.walk(machine text, what text, times int) LANGUAGE plpgsql AS $$
DECLARE
    began float8;
    ids uuid[] := ARRAY(SELECT id FROM workflow.instances WHERE definition = machine ORDER BY id);
    id uuid;
BEGIN
    began := pg_temp.busy();
    FOR n IN 1 .. times LOOP
        FOREACH id IN ARRAY ids LOOP
            PERFORM FROM wf_send(id, CASE n % 2 WHEN 1 THEN 'GO' ELSE 'BACK' END);
        END LOOP;
    END LOOP;
    INSERT INTO took VALUES (what, (pg_temp.busy() - began) / (times * cardinality(ids)));
    COMMIT;
END
$$;

-- Everything that waits is claimed and acknowledged: microseconds per event.
CREATE PROCEDURE pg_temp.consume(who text, what text, batch int) LANGUAGE plpgsql AS $$
DECLARE
    began float8;
    claim uuid;
    ids uuid[];
    events int := 0;
BEGIN
    began := pg_temp.busy();
    LOOP
        SELECT c.claim, array_agg(c.id) INTO claim, ids FROM wf_outbox_claim(who, batch) c GROUP BY 1;
        COMMIT;
        EXIT WHEN claim IS NULL;
        PERFORM FROM wf_outbox_ack(who, claim, ids);
        COMMIT;
        events := events + cardinality(ids);
    END LOOP;
    INSERT INTO took VALUES (what, (pg_temp.busy() - began) / nullif(events, 0));
    COMMIT;
END
$$;

CREATE PROCEDURE pg_temp.rounds(loud text, quiet text) LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1 .. 5 LOOP
        CALL pg_temp.walk('quiet', quiet, 10);
        CALL pg_temp.walk('loud', loud, 10);
    END LOOP;
END
$$;

VACUUM ANALYZE workflow.applications, workflow.instances;
CALL pg_temp.rounds('published, no consumer', 'not published');
SELECT count(*) FROM wf_outbox_subscribe('one') \g /dev/null
CALL pg_temp.rounds('published, one consumer', 'not published');
CALL pg_temp.consume('one', 'consumed by one, batches of 100', 100);
CALL pg_temp.rounds('published, one consumer', 'not published');
CALL pg_temp.consume('one', 'consumed by one, batches of 1000', 1000);
SELECT count(*) FROM wf_outbox_subscribe('two') \g /dev/null
CALL pg_temp.rounds('published, two consumers', 'not published');
CALL pg_temp.consume('one', 'consumed, first of two, batches of 100', 100);
CALL pg_temp.consume('two', 'consumed, last of two, batches of 100', 100);

SELECT format('%-40s %6s us   %s x', what, round(min(us)::numeric, 1), round((min(us) / min(min(us)) FILTER (WHERE what = 'not published') OVER ())::numeric, 2))
  FROM took GROUP BY what ORDER BY what LIKE 'consumed%', min(us);
