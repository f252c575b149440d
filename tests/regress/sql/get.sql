-- wf_get gives a page all that it shows, and all that it must send back: versions, open tasks, and for
-- each event whether this caller may send it now and what stands in the way.
SELECT t.see(o) FROM wf_start('review', 'get', '{"title": "Ünïcode"}', actor => 'ann') o;
SELECT t.see(o) FROM wf_start('lamp', 'get') o;
SELECT g.instance_id = t.i('get') AS lamp, g.application_id = t.a('get') AS application, g.business_key, g.definition, g.version, g.state,
       g.revision, g.material_version, g.material, g.context, g.facts, g.open_tasks, g.actions
  FROM wf_get(definition => 'lamp', business_key => 'get') g;
SELECT g.definition, g.state, g.revision, g.material_version, g.material,
       (SELECT string_agg(k, ' ' ORDER BY k) FROM jsonb_object_keys(g.open_tasks -> 0) k) AS task,
       (SELECT k.id::text FROM workflow.tasks k WHERE k.instance_id = g.instance_id) = g.open_tasks -> 0 ->> 'task_id' AS task_id
  FROM wf_get(definition => 'review', business_key => 'get') g;
SELECT a.* FROM wf_get(definition => 'review', business_key => 'get') g
 CROSS JOIN LATERAL jsonb_to_recordset(g.actions) a(event text, to_state text, allowed boolean, blocker text) ORDER BY 1;
-- what a page was shown can be sent as it stands
SELECT t.see(o) FROM wf_get(definition => 'review', business_key => 'get') g
 CROSS JOIN LATERAL wf_send(g.instance_id, 'APPROVE', NULL, g.revision, g.material_version) o;
-- roles decide what is allowed
SELECT * FROM wf_define('{"id": "get-roles", "initial": "A", "states": {
    "A": {"on": {"OPEN": "B", "CLOSE": {"target": "B", "meta": {"roles": ["boss"]}},
                 "IF": {"target": "B", "guard": "$.material.n == 1"}, "UNLESS": {"target": "B", "guard": "$.material.n == 2"},
                 "MAYBE": {"target": "B", "guard": "$.material.none == 1"}}}, "B": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('get-roles', 'get-roles', '{"n": 1}') o;
SELECT a.* FROM wf_get(t.i('get-roles'), roles => '{}') g
 CROSS JOIN LATERAL jsonb_to_recordset(g.actions) a(event text, to_state text, allowed boolean, blocker text) ORDER BY 1;
SELECT a.* FROM wf_get(t.i('get-roles'), roles => '{boss}') g
 CROSS JOIN LATERAL jsonb_to_recordset(g.actions) a(event text, to_state text, allowed boolean, blocker text) WHERE a.event = 'CLOSE';
-- the open instance before a later closed one, else the latest
SELECT t.see(o) FROM wf_start('review', 'get-2', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('get-2'), 'WITHDRAW') o;
SELECT g.state, g.actions, g.open_tasks FROM wf_get(definition => 'review', business_key => 'get-2') g;
SELECT t.see(o) FROM wf_start('review', 'get-2') o;
SELECT g.state, g.revision FROM wf_get(definition => 'review', business_key => 'get-2') g;
-- the new material, once it is in force
SELECT u.applied FROM wf_supersede_material(t.a('get-2'), 1, '{"v": 2}') u;
SELECT g.material, g.material_version, g.revision, jsonb_array_length(g.open_tasks) AS tasks
  FROM wf_get(definition => 'review', business_key => 'get-2') g;
-- absent
SELECT t.refusal(format($$SELECT wf_get(%L)$$, gen_random_uuid()));
SELECT t.refusal($$SELECT wf_get(definition => 'review', business_key => 'get-none')$$);
SELECT t.refusal($$SELECT wf_get(definition => 'none', business_key => 'get')$$);
-- a reader in a read-only transaction
BEGIN READ ONLY;
SELECT g.state FROM wf_get(definition => 'review', business_key => 'get-2') g;
COMMIT;
SELECT * FROM wf_verify();
