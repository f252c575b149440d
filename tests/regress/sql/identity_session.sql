-- Mode session: the login is the person, its tenant and roles are those of workflow.members, for everybody:
-- also a superuser proves nothing more (I5), and a membership that has run out is none.
CREATE ROLE regress_mia LOGIN;
CREATE ROLE regress_tom LOGIN;
SELECT wf_grant('regress_mia', 'backend'), wf_grant('regress_tom', 'participant');
GRANT USAGE ON SCHEMA t TO regress_mia, regress_tom;
SELECT * FROM wf_define('{"id": "session", "initial": "A", "states": {"A": {"on": {"GO": {"target": "B", "meta": {"roles": ["boss"]}}}},
    "B": {"on": {"GO": {"target": "A", "meta": {"roles": ["boss"]}}}}}}', tenant => 'session-a');
SELECT t.see(o) FROM wf_start('session', 'session', '{}', tenant => 'session-a') o;
SELECT t.i('session', 'session-a') AS i \gset
SELECT o.applied FROM wf_member_set('regress_mia', '{boss,clerk}', tenant => 'session-a') o;
SET workflow.identity = 'session';
SELECT t.refusal('SELECT wf_whoami()'), t.refusal($$SELECT wf_whoami(actor => 'ann')$$);
SET SESSION AUTHORIZATION regress_tom;
SELECT t.refusal('SELECT wf_whoami()'), t.refusal($$SELECT wf_start('lamp', 'session-no', '{}')$$);
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_mia;
SELECT * FROM wf_whoami();
SELECT * FROM wf_whoami(tenant => 'session-a', actor => 'regress_mia', roles => '{clerk}');
SELECT said, t.refusal(format('SELECT wf_whoami(%s)', said))
  FROM unnest(ARRAY[$$actor => 'ceo'$$, $$tenant => 'session-b'$$, $$tenant => 'default'$$, $$roles => '{king}'$$, $$identity_token => 'x'$$]) said;
SET workflow.actor = 'ceo';
SET workflow.tenant = 'default';
SET workflow.roles = 'king';
SELECT * FROM wf_whoami();
SELECT t.refusal($$SELECT wf_as('session-a', 'ann')$$);
SELECT t.see(o) FROM wf_send(:'i', 'GO') o;
SELECT t.refusal(format($$SELECT wf_send(%L, 'GO', roles => '{clerk}')$$, :'i')) LIKE 'WF007%' AS fewer_roles_if_it_likes;
RESET SESSION AUTHORIZATION;
RESET workflow.actor;
RESET workflow.tenant;
RESET workflow.roles;
SELECT h.actor, h.proof FROM workflow.history h WHERE h.instance_id = :'i' AND h.revision = 2;
-- several tenants: it has to say which
SET workflow.identity = 'setting';
SELECT o.applied FROM wf_member_set('regress_mia', '{}', tenant => 'session-b') o;
SET workflow.identity = 'session';
SET SESSION AUTHORIZATION regress_mia;
SELECT t.refusal('SELECT wf_whoami()');
SELECT tenant, roles FROM wf_whoami(tenant => 'session-a');
SELECT tenant, roles FROM wf_whoami(tenant => 'session-b');
SELECT t.refusal(format($$SELECT wf_send(%L, 'GO', tenant => 'session-b')$$, :'i'));
RESET SESSION AUTHORIZATION;
-- run out
SET workflow.identity = 'setting';
SELECT o.applied FROM wf_member_set('regress_mia', '{}', 'yesterday', tenant => 'session-b') o;
SET workflow.identity = 'session';
SET SESSION AUTHORIZATION regress_mia;
SELECT tenant, roles FROM wf_whoami();
SELECT t.refusal($$SELECT wf_whoami(tenant => 'session-b')$$);
RESET SESSION AUTHORIZATION;
RESET workflow.identity;
DROP OWNED BY regress_mia, regress_tom;
DROP ROLE regress_mia, regress_tom;
SELECT * FROM wf_verify();
