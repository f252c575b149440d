-- wf_check gives the outcome that wf_transition would have now, and writes and locks nothing: not a row,
-- not a refusal, not a transaction id.
SELECT t.see(o) FROM wf_start('review', 'check', '{"v": 1}', actor => 'ann') o;
SELECT t.i('check') AS i \gset
CREATE TEMP TABLE tried (n int, from_state text, to_state text, r bigint, m int, event text, actor text);
INSERT INTO tried VALUES (1, 'SUBMITTED', 'APPROVED', 1, 1, NULL, 'rob'), (2, 'SUBMITTED', 'APPROVED', 2, 1, NULL, 'rob'),
    (3, 'SUBMITTED', 'APPROVED', 1, 2, NULL, 'rob'), (4, 'APPROVED', 'SIGNED', 1, 1, NULL, 'rob'), (5, 'SUBMITTED', 'MARS', 1, 1, NULL, 'rob'),
    (6, 'SUBMITTED', 'REWORK', 1, 1, 'RETURN', 'rob');
SELECT t.world() AS before \gset
BEGIN;
SELECT n, t.see(o), t.told(o.detail) FROM tried CROSS JOIN LATERAL wf_check(:'i', from_state, to_state, r, m, event, actor => tried.actor) o ORDER BY 1;
SELECT t.see(o) FROM wf_check(gen_random_uuid(), 'SUBMITTED', 'APPROVED', 1, 1) o;
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS row_locks FROM pg_locks WHERE pid = pg_backend_pid() AND (locktype IN ('tuple', 'advisory') OR mode LIKE 'Row%');
COMMIT;
SELECT t.world() = :'before' AS nothing_happened;
-- the same as the real thing, each on its own
CREATE FUNCTION pg_temp.real(which int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    BEGIN
        SELECT concat(t.see(o) , ' ', t.told(o.detail)) INTO answer
          FROM tried x CROSS JOIN LATERAL wf_try_transition(t.i('check'), x.from_state, x.to_state, x.r, x.m, x.event, actor => x.actor) o
         WHERE n = which;
        RAISE SQLSTATE 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN answer;
    END;
END
$$;
SELECT n, concat(t.see(o), ' ', t.told(o.detail)) = pg_temp.real(n) AS same, pg_temp.real(n) AS real
  FROM tried CROSS JOIN LATERAL wf_check(:'i', from_state, to_state, r, m, event, actor => tried.actor) o
 ORDER BY 1;
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'eve') o;
-- it reads where nothing may be written
BEGIN READ ONLY;
SELECT t.see(o) FROM wf_check(:'i', 'SUBMITTED', 'APPROVED', 2, 1) o;
COMMIT;
SELECT * FROM wf_verify();
