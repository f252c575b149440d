-- wf_verify is no ornament: each kind of damage that a superuser can do behind the engine's back is named,
-- with the instances that have it, and nothing else is.
SELECT * FROM wf_define('{"id": "verify", "initial": "A", "states": {
    "A": {"meta": {"task": {"seats": [{"name": "s"}]}, "on_supersede": "stay"}, "on": {"YES": {"target": "B", "meta": {"decision": "approve"}}, "PASS": {"target": "B", "meta": {"publish": false}}}},
    "B": {"meta": {"on_supersede": "stay"}, "on": {"BACK": "A", "END": "C"}}, "C": {"type": "final"}}}');
SELECT o.applied FROM wf_outbox_subscribe('verify') o;
SELECT o.applied FROM wf_start('verify', 'verify', '{}') o;
SELECT count(*) FROM wf_outbox_claim('verify');
SELECT o.applied FROM wf_send(t.i('verify'), 'YES', NULL, 1, 1) o;
SELECT o.applied FROM wf_send(t.i('verify'), 'BACK') o;
SELECT o.applied FROM wf_start('verify', 'verify-2', '{}') o;
SELECT count(*) FROM wf_verify(t.i('verify'));
CREATE FUNCTION pg_temp.after(damage text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
    strangers int;
BEGIN
    BEGIN
        SET LOCAL session_replication_role = replica;
        EXECUTE replace(damage, '$i', quote_literal(t.i('verify')));
        SELECT string_agg(DISTINCT v.invariant || ' ' || v.name, ', ' ORDER BY v.invariant || ' ' || v.name), count(*) FILTER (WHERE v.instance_id = t.i('verify-2'))
          INTO found, strangers FROM wf_verify() v;
        RAISE SQLSTATE 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN concat(coalesce(found, 'nothing found'), CASE WHEN strangers > 0 THEN ', also of the other instance' END);
    END;
END
$$;
SELECT what, pg_temp.after(damage) FROM (VALUES
    (1, 'revision', 'UPDATE workflow.instances SET revision = 9 WHERE id = $i'),
    (2, 'state', 'UPDATE workflow.instances SET state = ''B'' WHERE id = $i'),
    (3, 'history row gone', 'DELETE FROM workflow.history WHERE instance_id = $i AND revision = 2'),
    (4, 'last history row gone', 'DELETE FROM workflow.history WHERE instance_id = $i AND revision = 3'),
    (5, 'path', 'UPDATE workflow.history SET from_state = ''C'' WHERE instance_id = $i AND revision = 3'),
    (6, 'no edge', 'UPDATE workflow.history SET event = ''NO'' WHERE instance_id = $i AND revision = 3'),
    (7, 'decision invented', 'UPDATE workflow.history SET decision = ''reject'' WHERE instance_id = $i AND revision = 3'),
    (8, 'decision hidden', 'UPDATE workflow.history SET decision = NULL WHERE instance_id = $i AND revision = 2'),
    (9, 'two open tasks', 'DROP INDEX workflow.tasks_open; UPDATE workflow.tasks SET status = ''OPEN'', material_version = 1, round = 3 WHERE instance_id = $i'),
    (10, 'open task of an old material', 'UPDATE workflow.tasks SET material_version = 7 WHERE instance_id = $i AND status = ''OPEN'''),
    (11, 'open task of an old round', 'UPDATE workflow.tasks SET round = 1 WHERE instance_id = $i AND status = ''OPEN'''),
    (12, 'open task of another state', 'UPDATE workflow.tasks SET state = ''B'' WHERE instance_id = $i AND status = ''OPEN'''),
    (13, 'open task, closed instance', 'UPDATE workflow.instances SET closed = true WHERE id = $i'),
    (14, 'superseded without reason', 'UPDATE workflow.tasks SET status = ''SUPERSEDED'', closed_revision = 3 WHERE instance_id = $i AND status = ''OPEN'''),
    (15, 'event gone', 'DELETE FROM workflow.outbox WHERE aggregateid = $i AND revision = 2'),
    (16, 'event of nothing', 'UPDATE workflow.outbox SET revision = 77 WHERE aggregateid = $i AND revision = 2'),
    (17, 'history of another tenant', 'UPDATE workflow.history SET tenant_id = ''other'' WHERE instance_id = $i'),
    (18, 'task of another tenant', 'UPDATE workflow.tasks SET tenant_id = ''other'' WHERE instance_id = $i'),
    (19, 'application gone', 'DELETE FROM workflow.applications WHERE business_key = ''verify'''),
    (20, 'material gone', 'DELETE FROM workflow.materials WHERE application_id = t.a(''verify'')'),
    (21, 'material version', 'UPDATE workflow.instances SET material_version = 2 WHERE id = $i'),
    (22, 'definition gone', 'DELETE FROM workflow.definitions WHERE name = ''verify'''),
    (23, 'final but open', 'UPDATE workflow.instances SET state = ''C'' WHERE id = $i'),
    (24, 'two decisions in a round', 'DROP INDEX workflow.history_decision; UPDATE workflow.history SET decision = ''approve'', round = 1 WHERE instance_id = $i AND revision = 3'),
    (26, 'queued event gone', 'DELETE FROM workflow.outbox_queue WHERE instance_id = $i AND revision = 3'),
    (27, 'delivered event gone', 'DELETE FROM workflow.deliveries WHERE instance_id = $i AND revision = 1'),
    (28, 'event of a delivery gone', 'DELETE FROM workflow.outbox WHERE aggregateid = $i AND revision = 1'),
    (29, 'delivered before those before it', 'INSERT INTO workflow.outbox_queue SELECT tenant_id, instance_id, revision, id, occurred_at FROM workflow.deliveries WHERE instance_id = $i AND revision = 1'),
    (30, 'delivery of nobody', 'UPDATE workflow.deliveries SET consumer = ''nobody'' WHERE instance_id = $i AND revision = 1'),
    (31, 'delivery of another event', 'UPDATE workflow.deliveries SET id = gen_random_uuid() WHERE instance_id = $i AND revision = 1'),
    (32, 'removed as acknowledged', 'DELETE FROM workflow.outbox_queue WHERE instance_id = $i; DELETE FROM workflow.deliveries WHERE instance_id = $i; DELETE FROM workflow.outbox WHERE aggregateid = $i; INSERT INTO workflow.outbox_removed VALUES (''default'', $i, 3)'),
    (33, 'removed, but not so far', 'DELETE FROM workflow.outbox_queue WHERE instance_id = $i; DELETE FROM workflow.deliveries WHERE instance_id = $i; DELETE FROM workflow.outbox WHERE aggregateid = $i; INSERT INTO workflow.outbox_removed VALUES (''default'', $i, 2)'),
    (25, 'no damage', 'SELECT 1')) x(n, what, damage) ORDER BY n;
SELECT o.applied FROM wf_outbox_unsubscribe('verify') o;
SELECT * FROM wf_verify();
