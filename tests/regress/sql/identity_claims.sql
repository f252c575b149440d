-- Mode claims: a gateway that verified a token itself (PostgREST) says who calls in request.jwt.claims. Anybody who can
-- send SQL can set that, so it counts from a login with capability backend only.
CREATE FUNCTION pg_temp.claim(more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
    SELECT set_config('request.jwt.claims', jsonb_strip_nulls(jsonb_build_object('sub', 'ann', 'tenant', 'claims-a', 'role', 'web', 'exp', 1) || more)::text, true)
$$;
SELECT version FROM wf_define(wf_export('lamp'), tenant => 'claims-a');
SELECT o.applied FROM wf_member_set('ann', '{boss}', tenant => 'claims-a') o;
CREATE ROLE regress_gateway LOGIN NOINHERIT;
CREATE ROLE regress_web NOLOGIN;
CREATE ROLE regress_direct LOGIN;
GRANT regress_web TO regress_gateway;
SELECT wf_grant('regress_gateway', 'backend'), wf_grant('regress_web', 'participant'), wf_grant('regress_direct', 'participant');
GRANT USAGE ON SCHEMA t TO regress_gateway, regress_web, regress_direct;
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO regress_web, regress_gateway, regress_direct', (SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema())); END $$;
SET workflow.identity = 'claims';
SET SESSION AUTHORIZATION regress_gateway;
SELECT t.refusal('SELECT wf_whoami()') AS none;
-- as PostgREST does it
BEGIN;
SET LOCAL ROLE regress_web;
SELECT pg_temp.claim() IS NOT NULL AS set;
SELECT * FROM wf_whoami();
SELECT t.see(o) FROM wf_start('lamp', 'claims', '{}') o;
SELECT t.refusal($$SELECT wf_whoami(actor => 'ceo')$$), t.refusal($$SELECT wf_whoami(tenant => 'default')$$), t.refusal($$SELECT wf_whoami(roles => '{king}')$$);
SELECT actor, roles FROM wf_whoami(actor => 'ann', roles => '{}');
SELECT pg_temp.claim('{"roles": ["clerk"]}') IS NOT NULL AS set;
SELECT roles FROM wf_whoami();
SET LOCAL workflow.actor = 'ceo';
SELECT actor FROM wf_whoami();
COMMIT;
SELECT t.refusal('SELECT wf_whoami()') AS after_the_transaction;
SELECT workflow.current_tenant() IS NULL AS nobody, (SELECT count(*) FROM workflow.timeline) AS timeline;
-- claims of nobody, and what is none
BEGIN;
SELECT x, t.refusal('SELECT wf_whoami()') FROM unnest(ARRAY['{"sub": null}', '{"tenant": null}', '{"sub": 7}', '{"roles": "boss"}', '{"sub": ""}']) x CROSS JOIN LATERAL (SELECT pg_temp.claim(x::jsonb) OFFSET 0) c;
SELECT x, t.refusal('SELECT wf_whoami()') FROM unnest(ARRAY['[]', 'null', '{', '7', '']) x CROSS JOIN LATERAL (SELECT set_config('request.jwt.claims', x, true) OFFSET 0) c;
ROLLBACK;
SELECT t.refusal($$SELECT wf_whoami(identity_token => 'x')$$);
RESET SESSION AUTHORIZATION;
-- somebody who came in by another way
SET SESSION AUTHORIZATION regress_direct;
BEGIN;
SELECT pg_temp.claim('{"sub": "ceo"}') IS NOT NULL AS set;
SELECT t.refusal('SELECT wf_whoami()');
ROLLBACK;
RESET SESSION AUTHORIZATION;
SELECT h.actor, h.proof FROM workflow.history h WHERE h.tenant_id = 'claims-a';
RESET workflow.identity;
DROP OWNED BY regress_gateway, regress_web, regress_direct;
DROP ROLE regress_gateway, regress_web, regress_direct;
SELECT * FROM wf_verify();
