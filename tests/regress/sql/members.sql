-- Members give people their roles where a call names none; they are of the caller's tenant, replaced as a
-- whole, and count until valid_until by the clock.
SELECT t.see(o) FROM wf_member_set('members-ann', '{boss}', tenant => 'members-a') o;
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-ann');
SELECT roles FROM wf_whoami(tenant => 'members-b', actor => 'members-ann');
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-ann', roles => '{other}');
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-ann', roles => '{}');
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'Members-ann');
-- replaced, not added to
SELECT o.applied FROM wf_member_set('members-ann', '{clerk,"two words"}', now() + interval '1 hour', tenant => 'members-a') o;
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-ann');
SELECT o.applied FROM wf_member_set('members-ann', '{clerk}', now() - interval '1 second', tenant => 'members-a') o;
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-ann');
SELECT o.applied FROM wf_member_set('members-ann', '{}', tenant => 'members-a') o;
SELECT m.tenant_id, m.member, m.roles, m.valid_until FROM workflow.members m WHERE m.member = 'members-ann';
SELECT t.refusal($$SELECT wf_member_remove('members-ann', tenant => 'members-b')$$);
SELECT t.see(o) FROM wf_member_remove('members-ann', tenant => 'members-a') o;
SELECT t.refusal($$SELECT wf_member_remove('members-ann', tenant => 'members-a')$$);
SELECT t.see(o) FROM wf_member_remove('members-ann', on_refusal => 'return', tenant => 'members-a') o;
SELECT x, t.refusal(x) FROM unnest(ARRAY[$$SELECT wf_member_set('', '{}')$$, $$SELECT wf_member_set('members-x', '{""}')$$, $$SELECT wf_member_set('members-x', '{a,NULL}')$$,
    $$SELECT wf_member_set(repeat('x', 201), '{}')$$]) x;
-- runs out during a transaction that began before
BEGIN;
SELECT o.applied FROM wf_member_set('members-bob', '{boss}', clock_timestamp() + interval '200 milliseconds', tenant => 'members-a') o;
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-bob');
SELECT pg_sleep(0.25);
SELECT roles FROM wf_whoami(tenant => 'members-a', actor => 'members-bob');
ROLLBACK;
SELECT count(*) FROM workflow.members m WHERE m.tenant_id LIKE 'members-%';
SELECT * FROM wf_verify();
