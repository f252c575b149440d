-- D4: a new version changes the edges of a state in which instances of the old one stand. They go on by the old one until they are
-- migrated, with one step each in history; what stands in the way is listed, and then nothing has happened.
SELECT * FROM wf_define('{"id": "migrate", "initial": "DRAFT", "states": {
    "DRAFT": {"on": {"SUBMIT": "REVIEW", "PARK": "PARKED"}},
    "PARKED": {"on": {"SUBMIT": "REVIEW"}},
    "REVIEW": {"meta": {"task": {"seats": [{"name": "clerk"}, {"name": "boss"}], "due": "PT1H"}, "on_supersede": "stay"},
               "on": {"APPROVE": {"target": "DONE", "meta": {"decision": "approve"}}, "REJECT": {"target": "DRAFT", "meta": {"decision": "return"}}}},
    "DONE": {"type": "final"}}}');
SELECT t.see(o) FROM unnest('{draft,parked,voting,done}'::text[]) k CROSS JOIN LATERAL wf_start('migrate', 'migrate-' || k, '{}') o;
SELECT t.see(o) FROM wf_send(t.i('migrate-parked'), 'PARK') o;
SELECT t.see(o) FROM unnest('{voting,done}'::text[]) k CROSS JOIN LATERAL wf_send(t.i('migrate-' || k), 'SUBMIT') o;
SELECT t.vote('migrate-voting', 'clerk', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_task_claim(t.task('migrate-voting', 'boss'), actor => 'bob') o;
SELECT t.see(o) FROM wf_cancel(t.i('migrate-done'), 'over', 2) o;
-- version 2: SUBMIT is gone from DRAFT, PARKED is called ON_HOLD, REVIEW asks the same
SELECT * FROM wf_define(jsonb_set(jsonb_set(wf_export('migrate') #- '{states,DRAFT,on}' #- '{states,PARKED}', '{states,DRAFT,on}', '{"SEND": "REVIEW", "PARK": "ON_HOLD"}'),
    '{states,ON_HOLD}', '{"on": {"SUBMIT": "REVIEW"}}'));
-- pinned: by the old edges, and not by the new ones
SELECT t.see(o) FROM wf_check(t.i('migrate-draft'), 'DRAFT', 'REVIEW', 1, 1) o;
SELECT t.refusal(format($$SELECT wf_send(%L, 'SEND')$$, t.i('migrate-draft')));
SELECT g.version, g.actions FROM wf_get(t.i('migrate-draft')) g;
-- a dry run, which is the default: what is in the way, then what would happen
SELECT o.applied, o.code, o.detail -> 'states' AS states, jsonb_array_length(o.detail -> 'instances') AS n, o.detail #>> '{instances,0,instance_id}' = t.i('migrate-parked')::text AS the_one FROM wf_migrate('migrate', 1, 2) o;
SELECT left(t.refusal($$SELECT wf_migrate('migrate', 1, 2, dry_run => false)$$), 21);
SELECT o.applied, o.code FROM wf_migrate('migrate', 1, 2, dry_run => false, on_refusal => 'return') o;
SELECT o.applied, o.detail FROM wf_migrate('migrate', 1, 2, '{"PARKED": "ON_HOLD"}') o;
SELECT count(*) AS untouched FROM workflow.history h JOIN workflow.instances i ON i.id = h.instance_id WHERE i.definition = 'migrate' AND h.step = 'migrate';
-- in batches
SELECT o.applied, o.detail FROM wf_migrate('migrate', 1, 2, '{"PARKED": "ON_HOLD"}', false, 2) o;
SELECT o.applied, o.detail FROM wf_migrate('migrate', 1, 2, '{"PARKED": "ON_HOLD"}', false, 2) o;
SELECT o.applied, o.detail FROM wf_migrate('migrate', 1, 2, '{"PARKED": "ON_HOLD"}', false, 2) o;
SELECT a.business_key, h.revision, h.step, h.from_state, h.to_state, h.round, h.definition_version FROM workflow.history h JOIN workflow.instances i ON i.id = h.instance_id JOIN workflow.applications a ON a.id = i.application_id
 WHERE i.definition = 'migrate' AND h.step = 'migrate' ORDER BY 1, 2;
SELECT l.what FROM t.timeline('migrate-parked') l;
-- the closed one stays on its version
SELECT g.version, g.state FROM wf_get(t.i('migrate-done')) g;
-- by the new edges now; an old page is told
SELECT t.refusal(format($$SELECT wf_transition(%L, 'DRAFT', 'REVIEW', 1, 1)$$, t.i('migrate-draft')));
SELECT t.see(o) FROM wf_send(t.i('migrate-draft'), 'SEND') o;
SELECT t.refusal(format($$SELECT wf_send(%L, 'PARK')$$, t.i('migrate-parked')));
-- the question is the same: vote and claim hold, and so does the due date
SELECT seat, round, status, decision, by, holder FROM t.seats('migrate-voting');
SELECT t.vote('migrate-voting', 'boss', 'APPROVE', 'carl');
SELECT t.vote('migrate-voting', 'boss', 'APPROVE', 'bob');
SELECT r, step, from_state, to_state, event, round, v FROM t.history('migrate-voting');
-- version 3 asks other people: the round begins anew, and what was said in the old one does not count
SELECT t.see(o) FROM wf_start('migrate', 'migrate-again', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('migrate-again'), 'SEND') o;
SELECT t.vote('migrate-again', 'clerk', 'APPROVE', 'ann');
SELECT * FROM wf_define(jsonb_set(wf_export('migrate'), '{states,REVIEW,meta,task}', '{"seats": [{"name": "clerk"}, {"name": "law"}]}'), activate => false);
SELECT version, active FROM workflow.definitions d WHERE d.name = 'migrate' ORDER BY 1;
SELECT o.detail FROM wf_migrate('migrate', 2, 3, dry_run => false) o;
SELECT seat, round, status, by, reason FROM t.seats('migrate-again');
SELECT t.vote('migrate-again', 'clerk', 'APPROVE', 'ann');
SELECT t.vote('migrate-again', 'law', 'APPROVE', 'lea');
-- and back again; always edges of a state that is entered are followed, a guard that is unknown is in the way
SELECT * FROM wf_activate('migrate', 1);
SELECT version, active FROM workflow.definitions d WHERE d.name = 'migrate' ORDER BY 1;
SELECT * FROM wf_define('{"id": "migrate", "initial": "DRAFT", "states": {"DRAFT": {"on": {"SEND": "ROUTE"}}, "ROUTE": {"always": [{"target": "BIG", "guard": "$.material.amount > 10"}], "on": {"GO": "BIG"}}, "BIG": {"type": "final"}}}', activate => false);
SELECT t.see(o) FROM wf_start('migrate', 'migrate-big', '{"amount": 20}') o;
SELECT t.see(o) FROM wf_start('migrate', 'migrate-none', '{}') o;
SELECT o.applied, o.code, o.detail #>> '{instances,0,why}' AS why FROM wf_migrate('migrate', 1, 4, '{"DRAFT": "ROUTE"}', false, on_refusal => 'return') o;
SELECT t.see(o) FROM wf_cancel(t.i('migrate-none'), 'in the way', 1) o;
CALL wf_migrate_all('migrate', 1, 4, '{"DRAFT": "ROUTE"}');
SELECT r, step, from_state, to_state, v FROM t.history('migrate-big');
-- arguments
SELECT t.refusal($$SELECT wf_migrate('migrate', 1, 1)$$), t.refusal($$SELECT wf_migrate('migrate', 1, 9)$$), t.refusal($$SELECT wf_migrate('none', 1, 2)$$);
SELECT t.refusal($$SELECT wf_migrate('migrate', 1, 2, '{"NONE": "DRAFT"}')$$), t.refusal($$SELECT wf_migrate('migrate', 1, 2, '{"DRAFT": "NONE"}')$$);
SELECT t.refusal($$SELECT wf_migrate('migrate', 1, 2, '["DRAFT"]')$$), t.refusal($$SELECT wf_migrate('migrate', 1, 2, '{"DRAFT": 1}')$$), t.refusal($$SELECT wf_migrate('migrate', 1, 2, limit_rows => 0)$$);
SELECT t.refusal($$SELECT wf_migrate('migrate', 1, 2, tenant => 'another')$$);
SELECT t.refusal($$SELECT wf_activate('migrate', 9)$$), t.refusal($$SELECT wf_activate('migrate', 0)$$), t.refusal($$SELECT wf_activate('migrate', 1, on_refusal => 'return')$$), t.refusal($$SELECT wf_activate('migrate', 1, tenant => 'another')$$);
-- a shared definition: each tenant migrates its own instances
SELECT d.version FROM wf_define('{"id": "migrate-all", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"type": "final"}}}', tenant => '*') d;
SELECT t.see(o) FROM unnest('{m1,m2}'::text[]) tenant CROSS JOIN LATERAL wf_start('migrate-all', 'shared', '{}', tenant => tenant) o;
SELECT d.version FROM wf_define('{"id": "migrate-all", "initial": "A", "states": {"A": {"on": {"END": "B"}}, "B": {"type": "final"}}}', tenant => '*', activate => false) d;
SELECT * FROM wf_activate('migrate-all', 2, tenant => '*');
SELECT o.detail FROM wf_migrate('migrate-all', 1, 2, dry_run => false, tenant => 'm1') o;
SELECT tenant, g.version FROM unnest('{m1,m2}'::text[]) tenant CROSS JOIN LATERAL wf_get(t.i('shared', tenant), tenant => tenant) g;
SELECT * FROM wf_verify();
