-- A transition that names what its caller saw moves state, task, history and outbox together, one
-- revision each, and says where the instance is now.
SELECT t.see(o) FROM wf_start('review', 'transition', '{"v": 1}', actor => 'ann') o;
SELECT t.see(o), o.attempts, o.retry_after_ms, o.detail, o.application_id = t.a('transition') AS application
  FROM wf_transition(t.i('transition'), 'SUBMITTED', 'REWORK', 1, 1, comment => 'Bitte Seite 2 – und „3“ ✎',
                     payload => '{"page": 2}', actor => 'rob') o;
SELECT t.see(o) FROM wf_transition(t.i('transition'), 'REWORK', 'SUBMITTED', 2, 1, 'RESUBMIT', actor => 'ann') o;
SELECT t.see(o) FROM wf_transition(t.i('transition'), 'SUBMITTED', 'APPROVED', 3, 1, actor => 'rob') o;
SELECT t.see(o) FROM wf_try_transition(t.i('transition'), 'APPROVED', 'SIGNED', 4, 1, actor => 'ann') o;
SELECT * FROM t.history('transition');
SELECT * FROM t.tasks('transition');
SELECT i.state, i.revision, i.round, i.closed FROM workflow.instances i WHERE i.id = t.i('transition');
SELECT h.revision, h.payload, h.proof, h.on_behalf_of, h.fence, h.request_id,
       h.task_id IN (SELECT k.id FROM workflow.tasks k WHERE k.instance_id = h.instance_id) AS task
  FROM workflow.history h WHERE h.instance_id = t.i('transition') ORDER BY 1;
SELECT bool_and(h.at > b.at) AS time_grows, count(*)
  FROM workflow.history h
  JOIN workflow.history b ON b.instance_id = h.instance_id AND b.revision = h.revision - 1
 WHERE h.instance_id = t.i('transition');

-- one event for each step; a comment is for people and not for the outbox
SELECT o.revision, o.type, o.payload ->> 'from_state' AS from_state, o.payload ->> 'to_state' AS to_state,
       o.payload ->> 'decision' AS decision, o.payload -> 'payload' AS payload, o.payload ? 'comment' AS comment
  FROM workflow.outbox o WHERE o.aggregateid = t.i('transition')::text ORDER BY 1;

-- an edge that is no verdict leaves the task undone
SELECT t.see(o) FROM wf_start('review', 'transition-2', '{}') o;
SELECT t.see(o) FROM wf_transition(t.i('transition-2'), 'SUBMITTED', 'WITHDRAWN', 1, 1) o;
SELECT * FROM t.tasks('transition-2');

-- trace context: from the payload, else from the setting
SELECT t.see(o) FROM wf_start('lamp', 'transition-3', '{}') o;
BEGIN;
SET LOCAL workflow.traceparent = '00-setting';
SELECT t.see(o) FROM wf_transition(t.i('transition-3'), 'OFF', 'ON', 1, 1) o;
SELECT t.see(o) FROM wf_transition(t.i('transition-3'), 'ON', 'OFF', 2, 1, payload => '{"traceparent": "00-payload"}') o;
COMMIT;
SELECT o.revision, o.tracingspancontext FROM workflow.outbox o WHERE o.aggregateid = t.i('transition-3')::text ORDER BY 1;

-- meta.publish false: history, no event
SELECT * FROM wf_define('{"id": "transition-quiet", "initial": "A", "states": {
    "A": {"on": {"HUSH": {"target": "B", "meta": {"publish": false}}, "TELL": "B"}}, "B": {"on": {"BACK": "A"}}}}');
SELECT t.see(o) FROM wf_start('transition-quiet', 'transition-4', '{}') o;
SELECT t.see(o) FROM wf_transition(t.i('transition-4'), 'A', 'B', 1, 1, 'HUSH') o;
SELECT t.see(o) FROM wf_transition(t.i('transition-4'), 'B', 'A', 2, 1) o;
SELECT t.see(o) FROM wf_transition(t.i('transition-4'), 'A', 'B', 3, 1, 'TELL') o;
SELECT o.revision, o.type FROM workflow.outbox o WHERE o.aggregateid = t.i('transition-4')::text ORDER BY 1;

-- to where it is already: a round of its own
SELECT * FROM wf_define('{"id": "transition-self", "initial": "A", "states": {
    "A": {"meta": {"task": {"seats": [{"name": "s"}]}}, "on": {"AGAIN": "A", "END": "Z"}}, "Z": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('transition-self', 'transition-5', '{}') o;
SELECT t.see(o) FROM wf_transition(t.i('transition-5'), 'A', 'A', 1, 1) o;
SELECT * FROM t.tasks('transition-5');
SELECT i.round FROM workflow.instances i WHERE i.id = t.i('transition-5');
SELECT * FROM wf_verify();
