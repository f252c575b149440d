-- Definitions of tenant * serve all tenants; a tenant's own of the same name wins, for itself only.
SELECT * FROM wf_define('{"id": "shared", "initial": "STAR", "states": {"STAR": {"on": {"GO": "END"}}, "END": {"type": "final"}}}', tenant => '*');
SELECT t.see(o) FROM wf_start('shared', 'shared-1', '{}', tenant => 'shared-a') o;
SELECT * FROM wf_define('{"id": "shared", "initial": "OWN", "states": {"OWN": {"on": {"GO": "END"}}, "END": {"type": "final"}}}', tenant => 'shared-a');
SELECT t.see(o) FROM wf_start('shared', 'shared-2', '{}', tenant => 'shared-a') o;
SELECT t.see(o) FROM wf_start('shared', 'shared-2', '{}', tenant => 'shared-b') o;
SELECT wf_export('shared', tenant => 'shared-a') ->> 'initial' AS a, wf_export('shared', tenant => 'shared-b') ->> 'initial' AS b;
-- what was started on the shared one stays there
SELECT t.see(o) FROM wf_send(t.i('shared-1', 'shared-a'), 'GO', tenant => 'shared-a') o;
SELECT g.state, g.version FROM wf_get(t.i('shared-1', 'shared-a'), tenant => 'shared-a') g;
-- the next version of the shared one: for those without their own
SELECT * FROM wf_define('{"id": "shared", "initial": "STAR2", "states": {"STAR2": {"on": {"GO": "END"}}, "END": {"type": "final"}}}', tenant => '*');
SELECT t.see(o) FROM wf_start('shared', 'shared-3', '{}', tenant => 'shared-a') o;
SELECT t.see(o) FROM wf_start('shared', 'shared-3', '{}', tenant => 'shared-b') o;
-- another tenant's own is nobody else's
SELECT * FROM wf_define('{"id": "shared-own", "initial": "A", "states": {"A": {"type": "final"}}}', tenant => 'shared-a');
SELECT t.refusal($$SELECT wf_start('shared-own', 'shared-4', '{}', tenant => 'shared-b')$$);
SELECT t.refusal($$SELECT wf_export('shared-own', tenant => 'shared-b')$$);
SELECT d.tenant_id, d.version, d.active FROM workflow.definitions d WHERE d.name = 'shared' ORDER BY 1, 2;
SELECT * FROM wf_verify();
