-- No number is given twice, whatever becomes of the tenure that had it: savepoints, rollbacks, errors, a
-- restored dump. And what is undone holds nothing.
CREATE FUNCTION t.number(key text) RETURNS bigint LANGUAGE sql AS $$ SELECT fence FROM wf_lease_acquire(key, 60000) WHERE acquired $$;
-- a savepoint that is rolled back: the same transaction and another get higher ones
BEGIN;
SAVEPOINT s;
SELECT t.number('spoilt') AS first \gset
ROLLBACK TO s;
SELECT held FROM wf_lease_inspect('spoilt');
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid > 2;
SELECT t.number('spoilt') AS second \gset
SELECT :second > :first AS higher;
-- a release that is undone releases nothing
SAVEPOINT r;
SELECT released FROM workflow.leases l, wf_lease_release(l.key, l.token) WHERE l.key = 'spoilt';
ROLLBACK TO r;
SELECT held FROM wf_lease_inspect('spoilt');
-- nor is a key free that was released and is taken anew in the same transaction
SELECT released FROM workflow.leases l, wf_lease_release(l.key, l.token) WHERE l.key = 'spoilt';
SELECT t.number('spoilt') > :second AS higher_again;
ROLLBACK;
SELECT held FROM wf_lease_inspect('spoilt');
SELECT t.number('spoilt') > :second AS higher;
SELECT count(*) FROM workflow.lease_log WHERE key = 'spoilt';
-- a write under a lease that is then rolled back with it
SELECT version FROM wf_define('{"id": "undone", "initial": "A", "states": {"A": {"on": {"AGAIN": "A"}}}}');
SELECT o.instance_id AS i FROM wf_start('undone', 'undone', '{}') o \gset
BEGIN;
SAVEPOINT s;
SELECT t.number('fence') AS gone \gset
SELECT applied FROM wf_send(:'i', 'AGAIN', lease_key => 'fence', fence => :gone);
ROLLBACK TO s;
SELECT applied, code FROM wf_send(:'i', 'AGAIN', lease_key => 'fence', fence => :gone, on_refusal => 'return');
SELECT t.number('fence') > :gone AS higher;
SELECT applied, code FROM wf_send(:'i', 'AGAIN', lease_key => 'fence', fence => :gone, on_refusal => 'return');
COMMIT;
SELECT applied, code FROM wf_send(:'i', 'AGAIN', lease_key => 'fence', fence => :gone, on_refusal => 'return');
-- taken and undone so often that the log ends at every place of its pages
DO $$
BEGIN
    FOR n IN 1..4000 LOOP
        BEGIN
            PERFORM FROM wf_lease_acquire('often ' || n, 60000);
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
    END LOOP;
END
$$;
SELECT count(*), count(DISTINCT fence) FROM workflow.leases WHERE key LIKE 'often %';
-- A dump does not know what was given after it. Elsewhere the numbers leap: for keys that it has and for others,
-- and a rollback there gives none twice either.
SELECT last_value AS highest FROM workflow.lease_fence \gset
UPDATE workflow.leases SET cluster = cluster + 1;
SELECT setval('workflow.lease_place', last_value + 1) IS NOT NULL AS dumped FROM workflow.lease_place;
\connect -
SELECT held FROM wf_lease_inspect('spoilt');
BEGIN;
SELECT t.number('spoilt') AS known, t.number('elsewhere only') AS new \gset
SELECT :known - :highest > 1::bigint << 32 AS leaps, :new - :highest > 1::bigint << 32 AS leaps_too;
ROLLBACK;
SELECT t.number('spoilt') > :known AS higher, t.number('elsewhere only') > :new AS higher_too;
SELECT ended, count(*) FROM workflow.lease_log WHERE key = 'spoilt' GROUP BY ended ORDER BY ended;
-- the next session, and one that goes on, leap no more
SELECT last_value AS before FROM workflow.lease_fence \gset
\connect -
SELECT t.number('later') - :before AS step;
-- the same for a timeline on which fences began higher: those of a promoted server, dumped into one that never was
SELECT max(fence) AS highest FROM workflow.lease_log \gset
SELECT setval('workflow.lease_place', (3::bigint << 47) + 5) IS NOT NULL AS dumped;
\connect -
SELECT t.number('timeline') - :highest > (2::bigint << 40) AS leaps;
SELECT * FROM wf_verify();
