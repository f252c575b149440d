-- What wf_start refuses leaves nothing: not an application, not a material, not an instance. A hit on
-- an instance that runs already is WF018 and never 23505, which clients retry by themselves.
SELECT t.see(o) FROM wf_start('review', 'start-refused', '{"v": 1}') o;
SELECT t.world() AS before \gset

SELECT t.refusal($$SELECT wf_start('nowhere', 'start-refused')$$);
SELECT t.refusal($$SELECT wf_start('nowhere', 'start-refused-new', '{}')$$);
SELECT t.refusal($$SELECT wf_start('review', 'start-refused-new', '{}', version => 99)$$);
SELECT t.refusal($$SELECT wf_start('review', 'start-refused-new', '{}', version => 0)$$);
SELECT t.refusal($$SELECT wf_start('review', 'start-refused-new', '{}', version => -1)$$);
SELECT t.refusal($$SELECT wf_start('review', 'start-refused-new', '{}', version => 2147483647)$$);

-- a new application needs a material
SELECT t.refusal($$SELECT wf_start('review', 'start-refused-new')$$);
-- another material does not slip in by a start
SELECT t.refusal($$SELECT wf_start('lamp', 'start-refused', '{"v": 2}')$$);
-- it runs already
SELECT t.refusal($$SELECT wf_start('review', 'start-refused')$$);
SELECT t.refusal($$SELECT wf_start('review', 'start-refused', '{"v": 1}')$$);
-- material before running: the order of the contract
SELECT t.refusal($$SELECT wf_start('review', 'start-refused', '{"v": 2}')$$);
-- the tenant of the shared definitions has no instances
SELECT t.refusal($$SELECT wf_start('review', 'start-refused-new', '{}', tenant => '*')$$);

SELECT t.world() = :'before' AS nothing_happened;

-- the open instance is named, so that the client can go on with it
SELECT o.applied, o.code, o.reason, o.instance_id = t.i('start-refused') AS open_one,
       o.application_id = t.a('start-refused') AS application, o.state, o.revision, o.material_version
  FROM wf_start('review', 'start-refused', on_refusal => 'return') o;
SELECT o.applied, o.code, o.application_id = t.a('start-refused') AS application, o.material_version
  FROM wf_start('lamp', 'start-refused', '{"v": 2}', on_refusal => 'return') o;
SELECT f.command, f.code, f.reason FROM workflow.refusals f WHERE f.application_id = t.a('start-refused') ORDER BY f.id;
SELECT * FROM wf_verify();
