-- Who may: an edge's meta.roles, the roles of the seat that gives a verdict, and, with self_approval
-- false, neither who started the instance nor who wrote the material that is judged.
SELECT * FROM wf_define('{"id": "roles", "initial": "OPEN", "states": {
    "OPEN": {"meta": {"task": {"seats": [{"name": "boss", "roles": ["boss", "deputy"]}], "self_approval": false}, "on_supersede": "stay"},
             "on": {"APPROVE": {"target": "YES", "meta": {"decision": "approve"}},
                    "REJECT": {"target": "NO", "meta": {"decision": "reject", "roles": ["judge"]}},
                    "PARK": {"target": "PARKED", "meta": {"roles": ["clerk"]}},
                    "TOUCH": "OPEN"}},
    "PARKED": {"meta": {"on_supersede": "stay"}, "on": {"WAKE": "OPEN"}},
    "YES": {"type": "final"}, "NO": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('roles', 'roles', '{}', actor => 'ann') o;
SELECT t.i('roles') AS i \gset
CREATE FUNCTION pg_temp.try(target text, person text, held text[]) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(o.code, o.state)
      FROM workflow.instances i
     CROSS JOIN LATERAL wf_check(i.id, 'OPEN', target, i.revision, i.material_version, actor => person, roles => held) o
     WHERE i.id = t.i('roles')
$$;
SELECT person, held, pg_temp.try('YES', person, held) AS yes, pg_temp.try('NO', person, held) AS no,
       pg_temp.try('PARKED', person, held) AS park, pg_temp.try('OPEN', person, held) AS touch
  FROM (VALUES ('ann', '{}'::text[]), ('ann', '{boss,judge,clerk}'), ('rob', '{}'), ('rob', '{boss}'), ('rob', '{deputy}'), ('rob', '{judge}'),
               ('rob', '{boss,judge}'), ('rob', '{clerk}'), ('rob', '{Boss}'), ('rob', '{"boss "}'), ('rob', '{"boss,judge"}')) p(person, held);
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OPEN', 'YES', 1, 1, actor => 'rob', roles => '{}')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE', NULL, 1, 1, actor => 'ann', roles => '{boss}')$$, :'i'));
-- who may not learns nothing by asking with old versions: role comes before material, revision and state
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OPEN', 'YES', 7, 7, actor => 'rob', roles => '{}')$$, :'i')) LIKE 'WF007 %' AS role_first;
-- the author of the present material is a submitter, the author of the old one no longer
SELECT u.applied FROM wf_supersede_material(t.a('roles'), 1, '{"v": 2}', actor => 'bob') u;
SELECT person, pg_temp.try('YES', person, '{boss}') FROM unnest('{ann,bob,rob}'::text[]) person;
SELECT u.applied FROM wf_supersede_material(t.a('roles'), 2, '{"v": 3}', actor => 'cat') u;
SELECT person, pg_temp.try('YES', person, '{boss}') FROM unnest('{ann,bob,cat,rob}'::text[]) person;
-- names of people are compared byte by byte
SELECT person, pg_temp.try('YES', person, '{boss}') FROM unnest('{Ann,"ann ",аnn}'::text[]) person;
SELECT t.see(o) FROM wf_transition(:'i', 'OPEN', 'YES', 3, 3, actor => 'rob', roles => '{deputy}') o;
SELECT * FROM t.tasks('roles');
-- a task shows who may act
SELECT t.see(o) FROM wf_start('roles', 'roles-2', '{}', actor => 'ann') o;
SELECT k ->> 'seat' AS seat, k -> 'roles' AS roles FROM wf_get(t.i('roles-2')) g CROSS JOIN LATERAL jsonb_array_elements(g.open_tasks) k;
-- roles of a member are those of the tenant's list, where the call names none
SELECT o.applied FROM wf_member_set('roles-mia', '{boss}') o;
SELECT t.see(o) FROM wf_transition(t.i('roles-2'), 'OPEN', 'YES', 1, 1, actor => 'roles-mia', roles => '{}', on_refusal => 'return') o;
SELECT t.see(o) FROM wf_transition(t.i('roles-2'), 'OPEN', 'YES', 1, 1, actor => 'roles-mia') o;
SELECT o.applied FROM wf_member_remove('roles-mia') o;
SELECT * FROM wf_verify();
