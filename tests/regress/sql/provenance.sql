-- What is booked says by which way the command came, whatever the client says that it is: the login, the role that
-- SET ROLE made of it (a SECURITY DEFINER function in between changes nothing), the program's name, the address.
CREATE ROLE regress_pool LOGIN;
CREATE ROLE regress_clerk NOLOGIN;
GRANT regress_clerk TO regress_pool;
SELECT wf_grant('regress_pool', 'backend'), wf_grant('regress_clerk', 'participant');
CREATE FUNCTION t.wrapped(key text) RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ SELECT o.state FROM wf_start('panel', key, '{}') o $$;
CREATE FUNCTION t.refused(key text) RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ SELECT o.code FROM wf_start('panel', key, '{"other": 1}', on_refusal => 'return', actor => 'ann') o $$;
GRANT USAGE ON SCHEMA t TO regress_pool, regress_clerk;
SELECT version FROM wf_define('{"id": "panel", "initial": "A", "states": {"A": {"meta": {"on_supersede": "stay", "task": {"seats": [{"name": "one"}, {"name": "two"}], "rule": "all"}},
    "on": {"YES": {"target": "B", "meta": {"decision": "approve"}}, "NO": {"target": "B", "meta": {"decision": "reject"}}}}, "B": {"type": "final"}}}');
SET SESSION AUTHORIZATION regress_pool;
SET application_name = 'provenance test';
SET ROLE regress_clerk;
SELECT t.wrapped('provenance');
SELECT t.refused('provenance');
RESET ROLE;
SET application_name = '';
SELECT o.applied FROM wf_task_claim((SELECT min(w.task_id::text)::uuid FROM workflow.worklist w WHERE w.business_key = 'provenance'), actor => 'ann') o;
RESET SESSION AUTHORIZATION;
RESET application_name;
SELECT h.actor, h.proof, h.session_role, h.outer_role, h.application_name, h.client_addr IS NOT DISTINCT FROM inet_client_addr() AS address FROM workflow.history h WHERE h.instance_id = t.i('provenance');
SELECT h.actor, h.proof, h.session_role, h.outer_role, h.application_name, h.client_addr IS NOT DISTINCT FROM inet_client_addr() AS address FROM workflow.task_log h WHERE h.instance_id = t.i('provenance');
SELECT h.actor, h.session_role, h.outer_role, h.application_name, h.client_addr IS NOT DISTINCT FROM inet_client_addr() AS address FROM workflow.refusals h WHERE h.application_id = t.a('provenance');
DROP OWNED BY regress_pool, regress_clerk;
DROP ROLE regress_pool, regress_clerk;
DROP FUNCTION t.wrapped, t.refused;
SELECT * FROM wf_verify();
