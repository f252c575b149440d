-- A refusal reaches its caller whole, with SQLSTATE, MESSAGE, DETAIL, HINT and CONSTRAINT NAME, in a plain
-- call, in a PL/pgSQL handler by code, and behind a savepoint, and the session goes on.
SELECT t.see(o) FROM wf_start('review', 'fidelity', '{}') o;
SELECT t.i('fidelity') AS i \gset
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1) o;
-- plain
\set VERBOSITY sqlstate
SELECT wf_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1);
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
-- in a handler
DO $$
DECLARE
    c text; n text; m text; d jsonb; h text;
BEGIN
    PERFORM wf_transition(t.i('fidelity'), 'SUBMITTED', 'REJECTED', 1, 1);
    RAISE 'it was not refused';
EXCEPTION WHEN SQLSTATE 'WF001' THEN
    GET STACKED DIAGNOSTICS c = RETURNED_SQLSTATE, n = CONSTRAINT_NAME, m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL,
        h = PG_EXCEPTION_HINT;
    RAISE NOTICE '% | % | % | %', c, n, m, h;
    RAISE NOTICE '%', (SELECT string_agg(k, ' ' ORDER BY k) FROM jsonb_object_keys(d) k);
    RAISE NOTICE '%', (SELECT string_agg(k, ' ' ORDER BY k) FROM jsonb_object_keys(d -> 'winner') k);
    RAISE NOTICE '% % % %', d ->> 'code', d ->> 'reason', d -> 'http_status', d -> 'retryable';
    RAISE NOTICE '% %', d ->> 'instance_id' = t.i('fidelity')::text, d ->> 'application_id' = t.a('fidelity')::text;
    RAISE NOTICE '% %', d -> 'expected', d -> 'actual';
    RAISE NOTICE '%', (d #>> '{winner,at}')::timestamptz =
        (SELECT h.at FROM workflow.history h WHERE h.instance_id = t.i('fidelity') AND h.revision = 2);
END
$$;
-- the code is no condition of another kind
DO $$
BEGIN
    BEGIN
        PERFORM wf_transition(t.i('fidelity'), 'SUBMITTED', 'REJECTED', 1, 1);
    EXCEPTION WHEN unique_violation OR serialization_failure OR lock_not_available OR raise_exception THEN
        RAISE NOTICE 'mistaken';
    END;
EXCEPTION WHEN SQLSTATE 'WF000' THEN
    RAISE NOTICE 'by class %', SQLSTATE;
WHEN OTHERS THEN
    RAISE NOTICE 'by its own code %', SQLSTATE;
END
$$;
-- behind a savepoint; the winner of the same transaction stays
BEGIN;
SELECT t.see(o) FROM wf_transition(:'i', 'APPROVED', 'SIGNED', 2, 1) o;
SAVEPOINT s;
\set VERBOSITY sqlstate
SELECT wf_transition(:'i', 'APPROVED', 'SIGNED', 2, 1);
SELECT 1;
\set VERBOSITY default
ROLLBACK TO s;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 3, 1)$$, :'i'));
COMMIT;
SELECT * FROM t.history('fidelity');

-- a caller that loops over refusals keeps its own work
CREATE TEMP TABLE tried (code text);
DO $$
BEGIN
    FOR n IN 1..200 LOOP
        BEGIN
            PERFORM wf_transition(t.i('fidelity'), 'SUBMITTED', 'REJECTED', 1, 1);
        EXCEPTION WHEN OTHERS THEN
            INSERT INTO tried VALUES (SQLSTATE);
        END;
    END LOOP;
END
$$;
SELECT code, count(*) FROM tried GROUP BY 1;
SELECT * FROM wf_verify();
