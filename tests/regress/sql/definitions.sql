-- A definition is published in versions: the same spec again is the version it was, whatever its key
-- order and white space; instances stay on theirs; wf_start takes the active one.
SELECT * FROM wf_define('{"id": "defs", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"type": "final"}}}');
SELECT * FROM wf_define('
  { "states": { "B":{"type":"final"},
                "A":{"on":{"GO":"B"}} },  "initial": "A", "id": "defs" }');
SELECT t.see(o) FROM wf_start('defs', 'defs-1', '{}') o;
SELECT * FROM wf_define('{"id": "defs", "initial": "A", "states": {"A": {"on": {"GO": "C"}}, "C": {"type": "final"}}}');
SELECT * FROM wf_define('{"id": "defs", "initial": "A", "states": {"A": {"on": {"GO": "D"}}, "D": {"type": "final"}}}', activate => false);
SELECT d.version, d.active, d.created_by = session_user AS mine FROM workflow.definitions d WHERE d.name = 'defs' ORDER BY 1;
-- an old spec again: its version, and nothing activated
SELECT * FROM wf_define('{"id": "defs", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"type": "final"}}}');
SELECT d.version FROM workflow.definitions d WHERE d.name = 'defs' AND d.active;
SELECT t.see(o) FROM wf_start('defs', 'defs-2', '{}') o;
SELECT t.see(o) FROM wf_start('defs', 'defs-3', '{}', version => 3) o;
-- pinned: each goes on by the version that it started with
SELECT t.see(o) FROM wf_send(t.i('defs-1'), 'GO') o;
SELECT t.see(o) FROM wf_send(t.i('defs-2'), 'GO') o;
SELECT t.see(o) FROM wf_send(t.i('defs-3'), 'GO') o;
SELECT g.business_key, g.version, g.state FROM unnest('{defs-1,defs-2,defs-3}'::text[]) k CROSS JOIN LATERAL wf_get(t.i(k)) g;
SELECT v FROM t.history('defs-3');
-- what went in comes out
SELECT version, wf_export('defs', version) = spec AS same FROM workflow.definitions WHERE name = 'defs' ORDER BY 1;
SELECT wf_export('defs') = wf_export('defs', 2) AS active;
SELECT e.version FROM wf_define(wf_export('defs', 1)) e;
SELECT wf_export('review') -> 'states' -> 'APPROVED';
SELECT t.refusal($$SELECT wf_export('defs', 4)$$);
SELECT t.refusal($$SELECT wf_export('defs', 0)$$) ~ '^(WF005|22023) ' AS refused;
SELECT t.refusal($$SELECT wf_export('nowhere')$$);
-- rolled back, it never was; the number is given again, the content is the new one
BEGIN;
SELECT * FROM wf_define('{"id": "defs", "initial": "A", "states": {"A": {"on": {"GO": "X"}}, "X": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('defs', 'defs-4', '{}') o;
ROLLBACK;
SELECT * FROM wf_define('{"id": "defs", "initial": "A", "states": {"A": {"on": {"GO": "Y"}}, "Y": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('defs', 'defs-4', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('defs-4'), 'GO') o;
-- never active: only by number
SELECT * FROM wf_define('{"id": "defs-quiet", "initial": "A", "states": {"A": {"type": "final"}}}', false);
SELECT t.refusal($$SELECT wf_start('defs-quiet', 'defs-5', '{}')$$);
SELECT t.refusal($$SELECT wf_export('defs-quiet')$$);
SELECT t.see(o) FROM wf_start('defs-quiet', 'defs-5', '{}', 1) o;
-- an instance that ends where it begins is closed
SELECT i.closed, i.revision FROM workflow.instances i WHERE i.id = t.i('defs-5');
SELECT t.see(o) FROM wf_start('defs-quiet', 'defs-5', version => 1) o;
-- a refusal to define is no outcome
SELECT t.refusal($$SELECT wf_define('{}', on_refusal => 'return')$$) LIKE '22023 %' AS refused;
SELECT * FROM wf_verify();
