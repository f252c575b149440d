-- Mode setting: a login with capability backend says for whom it calls, by arguments or settings; what any
-- other login says counts only as far as the login itself proves it (I8), and its settings not at all.
CREATE ROLE regress_backend LOGIN;
CREATE ROLE regress_person LOGIN;
SELECT wf_grant('regress_backend', 'backend'), wf_grant('regress_person', 'participant');
GRANT regress_person TO regress_backend;
GRANT USAGE ON SCHEMA t TO regress_person;
SELECT wf_version() IS NOT NULL AS loaded, current_setting('workflow.identity') AS mode;
SELECT t.see(o) FROM wf_start('lamp', 'identity', '{}') o;
SELECT t.i('identity') AS i \gset
-- a superuser is one
SELECT tenant, actor = session_user AS me, roles, mode, proof FROM wf_whoami();
SELECT * FROM wf_whoami(tenant => 'x', actor => 'ann', roles => '{b,a}');
BEGIN;
SET LOCAL workflow.tenant = 'y';
SET LOCAL workflow.actor = 'bob';
SET LOCAL workflow.roles = ' c , d ,';
SELECT * FROM wf_whoami();
SELECT * FROM wf_whoami(actor => 'ann');
SELECT * FROM wf_whoami(tenant => 'x', roles => '{}');
COMMIT;
SELECT tenant, actor = session_user AS me, roles FROM wf_whoami();

SET SESSION AUTHORIZATION regress_backend;
SELECT * FROM wf_whoami();
SELECT * FROM wf_whoami(tenant => 'x', actor => 'ann', roles => '{r}');
SELECT o.applied, o.state FROM wf_send(:'i', 'PRESS', actor => 'ann') o;
SELECT o.applied, o.state FROM wf_send(:'i', 'PRESS') o;
-- a role that it takes on does not change who is logged in
SET ROLE regress_person;
SELECT * FROM wf_whoami(actor => 'ann');
RESET ROLE;
RESET SESSION AUTHORIZATION;

SET SESSION AUTHORIZATION regress_person;
SELECT * FROM wf_whoami();
SELECT * FROM wf_whoami(tenant => 'default', actor => 'regress_person', roles => '{}');
SELECT said, t.refusal(format('SELECT wf_whoami(%s)', said)) AS whoami, t.refusal(format('SELECT wf_send(%L, ''PRESS'', %s)', :'i', said)) AS send,
       t.refusal(format('SELECT wf_get(%L, %s)', :'i', said)) AS get
  FROM unnest(ARRAY[$$actor => 'ceo'$$, $$tenant => 'other'$$, $$roles => '{boss}'$$, $$identity_token => 'x'$$, $$actor => 'REGRESS_PERSON'$$]) said;
SELECT o.applied, o.code FROM wf_send(:'i', 'PRESS', actor => 'ceo', on_refusal => 'return') o;
-- its settings are ignored, not believed
SET workflow.actor = 'ceo';
SET workflow.tenant = 'other';
SET workflow.roles = 'boss';
SELECT * FROM wf_whoami();
SELECT o.applied, o.state FROM wf_send(:'i', 'PRESS') o;
RESET workflow.actor;
RESET workflow.tenant;
RESET workflow.roles;
-- nor may it choose the mode, switch off the log line, or name a person
SELECT x, t.refusal(x) FROM unnest('{SET workflow.identity = session,SET workflow.log_refusals = off,"SELECT wf_as(''a'', ''b'')"}'::text[]) x;
RESET SESSION AUTHORIZATION;
SELECT h.revision, CASE h.actor WHEN session_user THEN 'me' ELSE h.actor END AS actor, h.proof FROM workflow.history h WHERE h.instance_id = :'i' ORDER BY 1;
-- other settings of this name are nobody's
SELECT t.refusal('SET workflow.nonsense = 1') ~ '^(42602|42704) ' AS refused;
SELECT t.refusal('SET workflow.identity = nonsense') AS unknown_mode;
-- a right that is taken away is gone at once, also for a session that has used it
SET SESSION AUTHORIZATION regress_backend;
SELECT actor FROM wf_whoami(actor => 'ann');
RESET SESSION AUTHORIZATION;
REVOKE EXECUTE ON FUNCTION wf_as FROM regress_backend;
SET SESSION AUTHORIZATION regress_backend;
\set VERBOSITY sqlstate
SELECT wf_whoami(actor => 'ann');
\set VERBOSITY default
RESET SESSION AUTHORIZATION;
-- and through a group
CREATE ROLE regress_group NOLOGIN;
SELECT wf_grant('regress_group', 'backend');
GRANT regress_group TO regress_person;
SET SESSION AUTHORIZATION regress_person;
SELECT actor FROM wf_whoami(actor => 'ann');
RESET SESSION AUTHORIZATION;
DROP OWNED BY regress_backend, regress_person, regress_group;
DROP ROLE regress_backend, regress_person, regress_group;
SELECT * FROM wf_verify();
