-- wf_start makes the application of a new business key and one instance of it at revision 1, with
-- its task, one history row and one outbox row; a known key gives another instance over the same
-- application and the material in force.
SELECT t.see(o), o.instance_id = t.i('start-1') AS instance, o.application_id = t.a('start-1') AS application,
       o.attempts, o.detail IS NULL AS no_detail
  FROM wf_start('review', 'start-1', '{"amount": 1}') o;
SELECT * FROM t.history('start-1');
SELECT * FROM t.tasks('start-1');
SELECT * FROM t.count('start-1');
SELECT i.definition, i.state, i.revision, i.work, i.round, i.material_version, i.closed,
       i.started_by = session_user AS mine
  FROM workflow.instances i WHERE i.id = t.i('start-1');
SELECT a.material_version, m.version, m.content, m.author = session_user AS mine
  FROM workflow.applications a JOIN workflow.materials m ON m.application_id = a.id
 WHERE a.id = t.a('start-1');

-- keys of version 7: in order of time
SELECT substr(t.i('start-1')::text, 15, 1) AS instance, substr(t.a('start-1')::text, 15, 1) AS application;

-- the event of the outbox speaks for itself
SELECT o.aggregatetype, o.aggregateid = t.i('start-1')::text AS aggregateid, o.type, o.revision,
       o.payload - 'instance_id' - 'application_id' - 'actor' AS payload,
       o.payload ->> 'instance_id' = t.i('start-1')::text AS instance_id,
       o.payload ->> 'application_id' = t.a('start-1')::text AS application_id
  FROM workflow.outbox o WHERE o.aggregateid = t.i('start-1')::text;

-- another definition over the same application: no material, or an equal one, is the one in force
SELECT t.see(o), o.application_id = t.a('start-1') AS same_application FROM wf_start('lamp', 'start-1') o;
SELECT t.see(o) FROM wf_send(t.i('start-1'), 'BREAK') o;
SELECT t.see(o) FROM wf_start('lamp', 'start-1', '{ "amount":1 }') o;
SELECT count(*) AS materials FROM workflow.materials m WHERE m.application_id = t.a('start-1');
SELECT count(*) AS instances FROM workflow.instances i WHERE i.application_id = t.a('start-1');

-- a closed instance does not keep the next one out; it takes the material in force
SELECT t.see(o) FROM wf_start('review', 'start-2', '{"v": 1}') o;
SELECT t.see(o) FROM wf_transition(t.i('start-2'), 'SUBMITTED', 'REJECTED', 1, 1) o;
SELECT u.applied, u.material_version, u.instances, u.tasks FROM wf_supersede_material(t.a('start-2'), 1, '{"v": 2}') u;
SELECT t.see(o) FROM wf_start('review', 'start-2') o;
SELECT * FROM t.history('start-2');

-- JSON null is a material like any other
SELECT t.see(o) FROM wf_start('lamp', 'start-3', 'null') o;

-- meta.concurrent: several open instances
SELECT * FROM wf_define('{"id": "start-many", "initial": "A", "meta": {"concurrent": true},
    "states": {"A": {"on": {"GO": "B"}}, "B": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('start-many', 'start-4', '{}') o;
SELECT t.see(o) FROM wf_start('start-many', 'start-4') o;
SELECT count(*) AS open FROM workflow.instances i WHERE i.application_id = t.a('start-4') AND NOT i.closed;
SELECT * FROM wf_verify();
