-- A command may be called wherever a set may: what it does is done once per row, never once per column, and
-- a place that cannot take a set refuses it rather than run it half.
SELECT t.see(o) FROM wf_start('lamp', 'places', '{}') o;
SELECT t.i('places') AS i \gset
-- spread into columns: once
SELECT (wf_transition(:'i', 'OFF', 'ON', 1, 1)).applied, (wf_transition(:'i', 'OFF', 'ON', 1, 1)).revision;
SELECT applied, code, state, revision FROM (SELECT (wf_send(:'i', 'PRESS')).*) x;
SELECT h.revision, h.event FROM workflow.history h WHERE h.instance_id = :'i' ORDER BY 1;
-- twice in one statement: one after the other, each sees what the one before did
SELECT a.revision, b.revision, b.state FROM wf_send(:'i', 'PRESS') a, wf_send(:'i', 'PRESS', '{"second": true}') b;
SELECT a.code, b.code, b.revision FROM wf_try_transition(:'i', 'OFF', 'ON', 5, 1) a, wf_try_transition(:'i', 'OFF', 'BROKEN', 5, 1) b;
SELECT h.revision, h.event FROM workflow.history h WHERE h.instance_id = :'i' ORDER BY 1;
-- for many rows in one SELECT
SELECT count(o.applied) FROM generate_series(1, 100) n CROSS JOIN LATERAL wf_start('lamp', 'places-' || n, '{}') o;
SELECT o.state, count(*), min(o.revision), max(o.revision)
  FROM generate_series(1, 100) n CROSS JOIN LATERAL wf_send(t.i('places-' || n), CASE WHEN n % 2 = 0 THEN 'PRESS' ELSE 'BREAK' END) o GROUP BY 1 ORDER BY 1;
-- one refusal among many rows undoes the statement, unless it is returned
SELECT t.refusal($$SELECT o.applied FROM generate_series(1, 100) n CROSS JOIN LATERAL wf_send(t.i('places-' || n), 'PRESS') o$$);
SELECT i.state, count(*), max(i.revision) FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id
 WHERE a.business_key ~ '^places-' GROUP BY 1 ORDER BY 1;
SELECT o.applied, o.code, o.state, count(*) FROM generate_series(1, 100) n
 CROSS JOIN LATERAL wf_send(t.i('places-' || n), 'PRESS', on_refusal => 'return') o GROUP BY 1, 2, 3 ORDER BY 1;
-- in the select list of a table
SELECT count(*) FROM (SELECT (wf_send(t.i(a.business_key), 'PRESS')).revision FROM workflow.applications a WHERE a.business_key IN ('places-2', 'places-4')) x;
-- in an INSERT … SELECT, in a CTE that nobody reads, in a subquery
CREATE TEMP TABLE kept AS SELECT o.state, o.revision FROM wf_send(t.i('places-6'), 'PRESS') o;
INSERT INTO kept SELECT o.state, o.revision FROM wf_send(t.i('places-6'), 'PRESS') o RETURNING *;
WITH x AS MATERIALIZED (SELECT * FROM wf_send(t.i('places-6'), 'PRESS')) SELECT state FROM x;
SELECT (SELECT o.state FROM wf_send(t.i('places-6'), 'PRESS') o);
-- no set there: refused before anything is done
SELECT x, t.refusal(x) FROM unnest(ARRAY[
    $$SELECT 1 WHERE wf_send(t.i('places-8'), 'PRESS') IS NOT NULL$$,
    $$SELECT 1 WHERE (wf_send(t.i('places-8'), 'PRESS')).applied$$,
    $$SELECT CASE WHEN true THEN wf_send(t.i('places-8'), 'PRESS') END$$,
    $$UPDATE kept SET state = (wf_send(t.i('places-8'), 'PRESS')).state$$,
    $$SELECT coalesce((wf_send(t.i('places-8'), 'PRESS')).state, 'x')$$,
    $$SELECT 1 FROM kept HAVING count(wf_send(t.i('places-8'), 'PRESS')) > 0$$]) x;
SELECT i.revision FROM workflow.instances i WHERE i.id = t.i('places-8');
-- in PL/pgSQL
DO $$
DECLARE
    o workflow.outcome;
    r record;
BEGIN
    SELECT * INTO o FROM wf_send(t.i('places-10'), 'PRESS');
    RAISE NOTICE '% %', o.state, o.revision;
    SELECT * INTO STRICT r FROM wf_send(t.i('places-10'), 'PRESS');
    RAISE NOTICE '% %', r.state, r.revision;
    PERFORM wf_send(t.i('places-10'), 'PRESS');
    FOR r IN SELECT * FROM wf_send(t.i('places-10'), 'PRESS') LOOP
        RAISE NOTICE '% %', r.state, r.revision;
    END LOOP;
END
$$;
SELECT * FROM wf_verify();
