-- Commands are PARALLEL UNSAFE: a query with one has no parallel plan, however much the session wants one;
-- readers are no more than RESTRICTED, for identity lives in the leader.
\pset footer off
\pset format unaligned
SELECT p.proname, p.provolatile, p.proparallel, p.proisstrict, p.proretset
  FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
  JOIN pg_proc p ON p.oid = d.objid
 WHERE e.extname = 'workflow' AND p.proname LIKE 'wf\_%' ORDER BY p.proname COLLATE "C";
\pset footer on
-- no overloads
SELECT count(*) - count(DISTINCT p.proname) AS overloads FROM pg_proc p WHERE p.proname LIKE 'wf\_%';
SELECT o.applied FROM wf_start('lamp', 'parallel', '{}') o;
SELECT set_config(name, CASE WHEN name ~ 'cost' THEN '0' WHEN name ~ 'size' THEN '0' WHEN name ~ 'workers' THEN '4' ELSE 'on' END, false) IS NOT NULL AS set
  FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query', 'parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size', 'max_parallel_workers_per_gather') ORDER BY name;
CREATE TABLE t.parallel AS SELECT n FROM generate_series(1, 2000) n;
ANALYZE t.parallel;
CREATE FUNCTION pg_temp.parallel(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Gather|Parallel' THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END
$$;
SELECT pg_temp.parallel('SELECT count(*) FROM t.parallel WHERE n > 3') AS otherwise,
       pg_temp.parallel($$SELECT (SELECT o.revision FROM wf_send(t.i('parallel'), 'PRESS') o) FROM t.parallel$$) AS command,
       pg_temp.parallel($$SELECT o.revision FROM t.parallel CROSS JOIN LATERAL wf_send(t.i('parallel'), 'PRESS') o WHERE n = 7$$) AS lateral;
SELECT o.state, o.revision FROM t.parallel CROSS JOIN LATERAL wf_send(t.i('parallel'), 'PRESS') o WHERE n = 7;
SELECT g.state, count(*) FROM t.parallel CROSS JOIN LATERAL wf_get(t.i('parallel')) g WHERE n < 10 GROUP BY 1;
SELECT DISTINCT w.actor FROM t.parallel CROSS JOIN LATERAL wf_whoami(actor => 'ann') w;
DROP TABLE t.parallel;
SELECT * FROM wf_verify();
