-- wf_verify names what is wrong with timers, and with steps that time took or did not take.
SELECT * FROM wf_define('{"id": "timers-verify", "initial": "A", "states": {
    "A": {"on": {"GO": "B"}, "after": {"PT1H": "B"}}, "B": {"on": {"BACK": "A", "END": "C"}}, "C": {"type": "final"}}}');
SELECT o.applied FROM wf_start('timers-verify', 'timers-verify', '{}') o;
SELECT o.applied FROM wf_send(t.i('timers-verify'), 'GO') o;
SELECT o.applied FROM wf_send(t.i('timers-verify'), 'BACK') o;
CREATE FUNCTION pg_temp.after(damage text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    SET LOCAL session_replication_role = replica;
    EXECUTE replace(damage, '$i', quote_literal(t.i('timers-verify')));
    SELECT string_agg(DISTINCT v.invariant || ' ' || v.name, ', ' ORDER BY v.invariant || ' ' || v.name) INTO found FROM wf_verify() v;
    RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
    RETURN coalesce(found, 'nothing found');
END
$$;
SELECT what, pg_temp.after(damage) FROM (VALUES
    (1, 'somebody in the name of time', 'UPDATE workflow.history SET actor = ''workflow.timer'' WHERE instance_id = $i AND revision = 2'),
    (2, 'time in the name of somebody', 'UPDATE workflow.history SET event = ''after.PT1H'' WHERE instance_id = $i AND revision = 2'),
    (3, 'no such delay', 'UPDATE workflow.history SET event = ''after.PT2H'', actor = ''workflow.timer'', proof = ''engine'' WHERE instance_id = $i AND revision = 2'),
    (4, 'timer of no entry', 'UPDATE workflow.timers SET entered_revision = 9 WHERE instance_id = $i AND entered_revision = 3'),
    (5, 'timer that has fired', 'UPDATE workflow.history SET event = ''after.PT1H'', actor = ''workflow.timer'', proof = ''engine'' WHERE instance_id = $i AND revision = 2'),
    (6, 'timer of another tenant', 'UPDATE workflow.timers SET tenant_id = ''other'' WHERE instance_id = $i'),
    (7, 'timer of a visit that is over', 'SELECT 1')) x(n, what, damage) ORDER BY n;
SELECT * FROM wf_verify();
