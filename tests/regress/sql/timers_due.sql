-- Escalation at the due date of the task; what keeps a timer and what begins it anew.
DELETE FROM workflow.timers; -- of other tests
SELECT t.panel('escalate', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}], "due": "PT48H"}');
CREATE FUNCTION t.escalation(name text, more jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT d.definition || ' v' || d.version FROM wf_define(jsonb_set(jsonb_set(jsonb_set(wf_export('escalate'), '{id}', to_jsonb(name)),
        '{states,VOTE,after}', more), '{states,BOSS}', '{"meta": {"on_supersede": "stay", "task": {"seats": [{"name": "boss", "roles": []}]}},
        "on": {"APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}}}}')) d
$$;
CREATE FUNCTION t.due(key text) RETURNS TABLE (what text, at text) LANGUAGE sql AS $$
    SELECT m.event, to_char(m.due_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI') FROM workflow.timers m
      JOIN workflow.instances i ON i.id = m.instance_id AND i.entered_revision = m.entered_revision WHERE m.instance_id = t.i(key)
    UNION ALL
    SELECT 'seat ' || k.seat, to_char(k.due_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI') FROM workflow.tasks k WHERE k.instance_id = t.i(key) AND k.status = 'OPEN'
    ORDER BY 1
$$;
SELECT t.escalation('keeps', '{"due": "BOSS", "P3D": "REJECTED"}');
SELECT t.escalation('restarts', '{"due": "BOSS", "P3D": "REJECTED", "restart": true}');
SET workflow.test_clock = '2200-01-01 00:00+00';
SELECT t.open_panel('keeps', 'keeps'), t.open_panel('restarts', 'restarts');
SELECT * FROM t.due('keeps');
SELECT * FROM t.due('restarts');
-- new material, and a seat more, a day later
SET workflow.test_clock = '2200-01-02 00:00+00';
SELECT o.applied, o.tasks FROM wf_supersede_material(t.a('keeps'), 1, '{"v": 2}') o;
SELECT o.applied, o.tasks FROM wf_supersede_material(t.a('restarts'), 1, '{"v": 2}') o;
SELECT * FROM t.due('keeps');
SELECT * FROM t.due('restarts');
SET workflow.test_clock = '2200-01-02 12:00+00';
SELECT o.applied FROM wf_seat_add(t.i('keeps'), '{"name": "c", "roles": []}', 2) o;
SELECT o.applied FROM wf_seat_add(t.i('restarts'), '{"name": "c", "roles": []}', 2) o;
SELECT * FROM t.due('keeps');
SELECT * FROM t.due('restarts');
SET workflow.test_clock = '2200-01-02 18:00+00';
SELECT o.applied FROM wf_seat_remove(t.i('keeps'), 'c', 3) o;
SELECT o.applied FROM wf_seat_remove(t.i('restarts'), 'c', 3) o;
SELECT * FROM t.due('keeps');
SELECT * FROM t.due('restarts');
-- a vote changes nothing about time
SELECT t.vote('keeps', 'a', 'APPROVE', 'ann');
SELECT t.vote('restarts', 'a', 'APPROVE', 'ann');
SELECT * FROM t.due('restarts');
-- at the due date the open seats are superseded, the vote stays, and somebody else is asked
SET workflow.test_clock = '2200-01-03 00:00+00';
SELECT t.see(o) FROM wf_run_due() o;
SELECT seat, m, status, closed, decision, by, reason FROM t.seats('keeps');
SELECT r, step, from_state, to_state, event, decision, m, actor FROM t.history('keeps');
SELECT t.vote('keeps', 'boss', 'APPROVE', 'max');
SET workflow.test_clock = '2200-01-04 18:00+00';
SELECT t.see(o) FROM wf_run_due() o;
SELECT seat, m, status, closed, decision, by FROM t.seats('restarts');
-- going back for new material is an entry: the clock begins anew, whatever restart says
SELECT t.escalation('back', '{"due": "BOSS"}');
SELECT d.version FROM wf_define(jsonb_set(wf_export('back'), '{states,BOSS,meta,on_supersede}', '"VOTE"')) d;
SET workflow.test_clock = '2200-02-01 00:00+00';
SELECT t.open_panel('back', 'back');
SET workflow.test_clock = '2200-02-03 00:00+00';
SELECT t.see(o) FROM wf_run_due() o;
SELECT o.applied, o.tasks FROM wf_supersede_material(t.a('back'), 1, '{"v": 2}') o;
SELECT * FROM t.due('back');
SET workflow.test_clock = '2200-02-05 00:00+00';
SELECT t.see(o) FROM wf_run_due() o;
-- withdrawn: nothing escalates
SELECT t.open_panel('keeps', 'withdrawn');
SELECT o.applied FROM wf_withdraw(t.i('withdrawn'), 1, actor => 'sue') o;
SET workflow.test_clock = '2200-03-05 00:00+00';
SELECT count(*) AS fired FROM wf_run_due();
SELECT count(*) AS left FROM workflow.timers m WHERE m.instance_id = t.i('withdrawn');
RESET workflow.test_clock;
SELECT * FROM wf_verify();
