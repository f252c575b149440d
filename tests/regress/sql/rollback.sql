-- All of a command or nothing of it: a rollback to a savepoint and an error in the middle (a user's
-- trigger, a user's unique index) leave no history, no event, no task; and the error is the trigger's
-- own, with SQLSTATE, constraint and context, not one of ours.
SELECT t.see(o) FROM wf_start('review', 'rollback', '{"v": 1}') o;
SELECT t.i('rollback') AS i \gset
SELECT t.world() AS before \gset
-- A9
BEGIN;
SAVEPOINT s;
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'REWORK', 1, 1, request_id => 'rollback-1') o;
SELECT t.see(o) FROM wf_transition(:'i', 'REWORK', 'SUBMITTED', 2, 1) o;
SELECT u.applied FROM wf_supersede_material(t.a('rollback'), 1, '{"v": 2}') u;
SELECT t.see(o) FROM wf_start('lamp', 'rollback-other', '{}') o;
ROLLBACK TO s;
COMMIT;
SELECT t.world() = :'before' AS nothing_happened;

-- A10
CREATE FUNCTION t.raise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'XY123', MESSAGE = 'not on my watch', DETAIL = 'a detail', HINT = 'a hint',
        CONSTRAINT = 'my_rule', TABLE = 'my_table', SCHEMA = 'my_schema', COLUMN = 'my_column', DATATYPE = 'my_type';
END
$$;
CREATE FUNCTION t.fields(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f text[] = '{}';
    c text; n text; m text; d text; h text; t text; s text; k text; y text; x text;
BEGIN
    EXECUTE command;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS c = RETURNED_SQLSTATE, n = CONSTRAINT_NAME, m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL,
        h = PG_EXCEPTION_HINT, t = TABLE_NAME, s = SCHEMA_NAME, k = COLUMN_NAME, y = PG_DATATYPE_NAME,
        x = PG_EXCEPTION_CONTEXT;
    RETURN concat_ws(' | ', c, n, m, nullif(h, ''), s, t, nullif(k, ''), nullif(y, ''),
        CASE WHEN x LIKE '%PL/pgSQL function t.raise() line 3 at RAISE%' THEN 'context' END);
END
$$;
CREATE TRIGGER raise AFTER INSERT ON workflow.history FOR EACH ROW EXECUTE FUNCTION t.raise();
SELECT t.fields(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, request_id => 'rollback-2')$$, :'i'));
SELECT t.fields(format($$SELECT wf_try_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'i'));
SELECT t.fields($$SELECT wf_start('lamp', 'rollback-other', '{}')$$);
SELECT t.fields(format($$SELECT wf_supersede_material(%L, 1, '{"v": 2}')$$, t.a('rollback')));
\set VERBOSITY sqlstate
SELECT wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1);
\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE
\set VERBOSITY default
DROP TRIGGER raise ON workflow.history;
SELECT t.world() = :'before' AS nothing_happened;

-- the same from every other table of the command
CREATE TRIGGER raise AFTER INSERT ON workflow.outbox FOR EACH ROW EXECUTE FUNCTION t.raise();
SELECT t.fields(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'i'));
DROP TRIGGER raise ON workflow.outbox;
CREATE TRIGGER raise BEFORE UPDATE ON workflow.instances FOR EACH ROW EXECUTE FUNCTION t.raise();
SELECT t.fields(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'i'));
DROP TRIGGER raise ON workflow.instances;
CREATE TRIGGER raise AFTER UPDATE ON workflow.tasks FOR EACH ROW EXECUTE FUNCTION t.raise();
SELECT t.fields(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'i'));
DROP TRIGGER raise ON workflow.tasks;
CREATE TRIGGER raise AFTER INSERT ON workflow.requests FOR EACH ROW EXECUTE FUNCTION t.raise();
SELECT t.fields(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, request_id => 'rollback-3')$$, :'i'));
DROP TRIGGER raise ON workflow.requests;
SELECT t.world() = :'before' AS nothing_happened;

-- a unique violation below us keeps the name of its constraint
CREATE UNIQUE INDEX rollback_one_comment ON workflow.history (comment) WHERE comment = 'only once';
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'REWORK', 1, 1, comment => 'only once') o;
SELECT split_part(t.fields(format($$SELECT wf_transition(%L, 'REWORK', 'SUBMITTED', 2, 1, comment => 'only once')$$, :'i')), ' | ', 1) AS code,
       split_part(t.fields(format($$SELECT wf_transition(%L, 'REWORK', 'SUBMITTED', 2, 1, comment => 'only once')$$, :'i')), ' | ', 2) AS constraint,
       split_part(t.fields(format($$SELECT wf_transition(%L, 'REWORK', 'SUBMITTED', 2, 1, comment => 'only once')$$, :'i')), ' | ', 5) AS "table";
DROP INDEX workflow.rollback_one_comment;
-- and the next command of the session goes on as if nothing had been
SELECT t.see(o) FROM wf_transition(:'i', 'REWORK', 'SUBMITTED', 2, 1) o;
SELECT * FROM t.count('rollback');
DROP FUNCTION t.raise(), t.fields(text);
SELECT * FROM wf_verify();
