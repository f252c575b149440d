-- `always` edges are taken at once on entry, one history row each, in the same call; the outcome shows
-- where it came to rest. No true branch means stay, unknown refuses the whole command.
SELECT * FROM wf_define('{"id": "always", "initial": "NEW", "states": {
    "NEW": {"on": {"SEND": "CHECK", "ASK": "WAIT"}},
    "CHECK": {"meta": {"task": {"seats": [{"name": "clerk"}]}},
              "always": [{"target": "LARGE", "guard": "$.material.amount > 100"},
                         {"target": "SMALL", "guard": "$.material.amount < 10"}],
              "on": {"PUSH": "SMALL"}},
    "LARGE": {"always": "BOARD"},
    "BOARD": {"meta": {"task": {"seats": [{"name": "chair", "roles": ["board"]}]}}, "on": {"BACK": "CHECK", "DONE": "SMALL"}},
    "WAIT": {"always": {"target": "SMALL", "guard": "$.payload.urgent == true"}, "on": {"GO": "SMALL"}},
    "SMALL": {"type": "final"}}}');
SELECT count(*) FROM (VALUES ('always-large', '{"amount": 500}'::jsonb), ('always-small', '{"amount": 5}'), ('always-middle', '{"amount": 50}'),
    ('always-none', '{}'), ('always-ask', '{}')) g(key, material) CROSS JOIN LATERAL wf_start('always', key, material) o;
SELECT t.see(o), o.attempts FROM wf_transition(t.i('always-large'), 'NEW', 'CHECK', 1, 1, comment => 'said once', payload => '{"p": 1}',
    request_id => 'always-1') o;
SELECT * FROM t.history('always-large');
SELECT * FROM t.tasks('always-large');
SELECT i.round, i.revision, i.entered_revision FROM workflow.instances i WHERE i.id = t.i('always-large');
-- payload and comment belong to the step that was asked for, the request key to all; each has its event
SELECT h.revision, h.payload, h.request_id, o.type, o.payload -> 'event' AS event
  FROM workflow.history h JOIN workflow.outbox o ON o.aggregateid = h.instance_id::text AND o.revision = h.revision
 WHERE h.instance_id = t.i('always-large') ORDER BY 1;
SELECT t.see(o) FROM wf_send(t.i('always-small'), 'SEND') o;
SELECT t.see(o) FROM wf_send(t.i('always-middle'), 'SEND') o;
SELECT * FROM t.tasks('always-middle');
SELECT t.refusal(format($$SELECT wf_send(%L, 'SEND')$$, t.i('always-none')));
SELECT t.see(o) FROM wf_check(t.i('always-none'), 'NEW', 'CHECK', 1, 1) o;
SELECT * FROM t.history('always-none');
-- their guards see the payload of the command
SELECT t.see(o) FROM wf_send(t.i('always-ask'), 'ASK', '{"urgent": true}') o;
SELECT t.see(o) FROM wf_send(t.i('always-large'), 'BACK') o;
-- an old page about a step in between is stale
SELECT t.refusal(format($$SELECT wf_transition(%L, 'BOARD', 'SMALL', 3, 1)$$, t.i('always-large')));

-- at the start, and after new material has sent it back
SELECT * FROM wf_define('{"id": "always-first", "initial": "GATE", "states": {
    "GATE": {"always": [{"target": "RICH", "guard": "$.material.amount > 100"}, {"target": "POOR"}]},
    "RICH": {"meta": {"on_supersede": "GATE", "task": {"seats": [{"name": "s"}]}}, "on": {"END": "OUT"}},
    "POOR": {"meta": {"on_supersede": "GATE"}, "on": {"END": "OUT"}}, "OUT": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('always-first', 'always-first', '{"amount": 500}') o;
SELECT u.applied, u.instances, u.tasks FROM wf_supersede_material(t.a('always-first'), 1, '{"amount": 5}') u;
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 2, '{"amount": "5"}')$$, t.a('always-first')));
SELECT * FROM t.history('always-first');
SELECT t.refusal($$SELECT wf_start('always-first', 'always-first-2', '{"amount": "500"}')$$);
SELECT t.a('always-first-2') IS NULL AS nothing_happened;
SELECT * FROM wf_verify();
