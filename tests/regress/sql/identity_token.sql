-- Mode token: a signed JWT is the person, for one call or for the rest of a transaction and not a moment longer
-- (I7); every bad one is refused in the same words (I6); the keys are in a file, and nowhere else.
CREATE FUNCTION pg_temp.url64(b bytea) RETURNS text LANGUAGE sql AS $$ SELECT rtrim(translate(encode(b, 'base64'), E'+/\n', '-_'), '=') $$;
CREATE FUNCTION pg_temp.hmac(message bytea, key bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    inner_pad bytea := ''; outer_pad bytea := '';
BEGIN
    key := key || decode(repeat('00', 64 - length(key)), 'hex');
    FOR i IN 0..63 LOOP
        inner_pad := inner_pad || decode(lpad(to_hex(get_byte(key, i) # 54), 2, '0'), 'hex');
        outer_pad := outer_pad || decode(lpad(to_hex(get_byte(key, i) # 92), 2, '0'), 'hex');
    END LOOP;
    RETURN sha256(outer_pad || sha256(inner_pad || message));
END
$$;
CREATE FUNCTION pg_temp.token(claims jsonb, kid text DEFAULT 'old', secret text DEFAULT 'not a secret, but 32 bytes long!') RETURNS text LANGUAGE sql AS $$
    SELECT m || '.' || pg_temp.url64(pg_temp.hmac(convert_to(m, 'UTF8'), convert_to(secret, 'UTF8')))
      FROM (SELECT pg_temp.url64(convert_to(jsonb_build_object('alg', 'HS256', 'kid', kid)::text, 'UTF8')) || '.' || pg_temp.url64(convert_to(claims::text, 'UTF8'))) x(m)
$$;
CREATE FUNCTION pg_temp.ann(more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('aud', 'workflow', 'sub', 'ann', 'tenant', 'token-a', 'roles', '{boss}'::text[], 'exp', 4102444800) || more)
$$;
-- All that a client sees of a failure.
CREATE FUNCTION pg_temp.says(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    code text; message text; detail text; hint text; name text; context text;
BEGIN
    EXECUTE command;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, name = CONSTRAINT_NAME;
    RETURN concat_ws(' | ', code, name, message, detail, hint);
END
$$;
CREATE FUNCTION pg_temp.write_keys(keys text, mode text DEFAULT '077') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', keys, format('rm -f workflow-regress.json; umask %s; cat > workflow-regress.json', mode));
END
$$;
SELECT '{"keys": [{"kty": "oct", "kid": "old", "k": "' || pg_temp.url64('not a secret, but 32 bytes long!') || '"}, {"kty": "OKP", "crv": "Ed25519", "kid": "2026", "x": "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw"}]}' AS both \gset
\set ed25519 eyJhbGciOiJFZERTQSIsImtpZCI6IjIwMjYifQ.eyJhdWQiOiJ3b3JrZmxvdyIsInN1YiI6ImFubiIsInRlbmFudCI6InRva2VuLWEiLCJyb2xlcyI6WyJib3NzIl0sImV4cCI6NDEwMjQ0NDgwMH0.1L-1MSppv14-dCideO49IIrC29NEGsXFTXQEiXjnbHxqF9XxFXaPnhyz27fcHyRTKKtUxySJ84lFenxlYJ2KBw
SELECT version FROM wf_define(wf_export('lamp'), tenant => 'token-a');
SELECT o.applied FROM wf_member_set('bob', '{clerk}', tenant => 'token-a') o;
-- a token in another mode is no token
SELECT t.refusal($$SELECT wf_authenticate('x')$$);
SET workflow.identity = 'token';
SELECT pg_temp.says(format('SELECT wf_authenticate(%L)', pg_temp.token(pg_temp.ann()))) AS no_key_file;
SET workflow.token_keys = 'workflow-regress.json';
SELECT pg_temp.write_keys(:'both');
-- both signatures, for one call
SELECT * FROM wf_whoami(identity_token => pg_temp.token(pg_temp.ann()));
SELECT * FROM wf_whoami(identity_token => :'ed25519');
SELECT * FROM wf_whoami(identity_token => pg_temp.token(pg_temp.ann('{"sub": "bob", "roles": null}')), tenant => 'token-a', actor => 'bob');
SELECT roles FROM wf_whoami(identity_token => pg_temp.token(pg_temp.ann('{"roles": ["boss", "clerk"]}')), roles => '{clerk}');
SELECT pg_temp.says('SELECT wf_whoami()') AS not_kept;
-- a superuser proves nothing more, nor do settings
SET workflow.actor = 'ceo';
SET workflow.tenant = 'default';
SELECT pg_temp.says('SELECT wf_whoami()') AS settings;
SELECT actor, tenant FROM wf_whoami(identity_token => pg_temp.token(pg_temp.ann()));
SELECT t.refusal($$SELECT wf_as('token-a', 'ceo')$$);
RESET workflow.actor;
RESET workflow.tenant;
-- what a call says beside its token
SELECT said, pg_temp.says(format('SELECT wf_whoami(identity_token => %L, %s)', :'ed25519', said))
  FROM unnest(ARRAY[$$actor => 'bob'$$, $$tenant => 'token-b'$$, $$roles => '{king}'$$, $$tenant => ''$$]) said;
-- for the rest of the transaction
BEGIN;
SELECT * FROM wf_authenticate(:'ed25519');
SELECT t.see(o) FROM wf_start('lamp', 'token', '{}') o;
SELECT actor, tenant FROM wf_whoami();
SELECT (SELECT count(*) FROM workflow.timeline) AS timeline, workflow.current_tenant(), workflow.current_actor();
-- the call's own comes first
SELECT actor FROM wf_whoami(identity_token => pg_temp.token(pg_temp.ann('{"sub": "bob"}')));
SELECT actor FROM wf_whoami();
-- a bad one does not fall back
SELECT pg_temp.says($$SELECT wf_whoami(identity_token => 'x')$$) AS bad_one;
SAVEPOINT s;
SELECT actor FROM wf_authenticate(pg_temp.token(pg_temp.ann('{"sub": "bob"}')));
SAVEPOINT deeper;
SELECT actor FROM wf_authenticate(pg_temp.token(pg_temp.ann('{"sub": "eve"}')));
RELEASE deeper;
SELECT actor FROM wf_whoami();
ROLLBACK TO s;
SELECT actor FROM wf_whoami();
SELECT pg_temp.says(format($$SELECT wf_authenticate(%L) FROM (SELECT 1) x; SELECT 1 / 0$$, pg_temp.token(pg_temp.ann('{"sub": "eve"}'))));
SELECT actor AS not_eve FROM wf_whoami();
COMMIT;
SELECT pg_temp.says('SELECT wf_whoami()') AS after_commit;
SELECT workflow.current_tenant() IS NULL AS nobody, (SELECT count(*) FROM workflow.timeline) AS timeline;
BEGIN;
SELECT actor FROM wf_authenticate(:'ed25519');
ROLLBACK;
SELECT pg_temp.says('SELECT wf_whoami()') AS after_rollback;
BEGIN;
SELECT actor FROM wf_authenticate(:'ed25519');
SELECT 1 / 0;
COMMIT;
SELECT pg_temp.says('SELECT wf_whoami()') AS after_error;
SELECT actor FROM wf_authenticate(:'ed25519');
SELECT pg_temp.says('SELECT wf_whoami()') AS after_autocommit;
-- how it is booked
SELECT h.actor, h.proof FROM workflow.history h WHERE h.tenant_id = 'token-a' ORDER BY h.revision;
-- a replay asks for the same person, not for the same token
SELECT t.see(o) FROM wf_send(t.i('token', 'token-a'), 'PRESS', request_id => 'token', identity_token => :'ed25519') o;
SELECT t.see(o) FROM wf_send(t.i('token', 'token-a'), 'PRESS', request_id => 'token', identity_token => pg_temp.token(pg_temp.ann())) o;
SELECT t.refusal(format($$SELECT wf_send(%L, 'PRESS', request_id => 'token', identity_token => %L)$$, t.i('token', 'token-a'), pg_temp.token(pg_temp.ann('{"sub": "bob"}'))));

-- Whatever is wrong, it is the same in every word; whoever tries learns nothing.
CREATE TEMP TABLE bad AS SELECT n, what, token FROM (VALUES
    (1, 'nothing', ''), (2, 'no token', 'x'), (3, 'three parts', 'a.b.c'),
    (4, 'unsigned', pg_temp.url64('{"alg":"none","kid":"old"}') || '.' || pg_temp.url64(convert_to(pg_temp.ann()::text, 'UTF8')) || '.'),
    (5, 'another secret', pg_temp.token(pg_temp.ann(), 'old', 'not the secret, but 32 bytes too')),
    (6, 'the public key as a secret', pg_temp.token(pg_temp.ann(), '2026', '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw')),
    (7, 'an unknown key', pg_temp.token(pg_temp.ann(), 'gone')),
    (8, 'expired', pg_temp.token(pg_temp.ann(jsonb_build_object('exp', extract(epoch FROM now())::bigint - 1)))),
    (9, 'no end', pg_temp.token(pg_temp.ann('{"exp": null}'))),
    (10, 'not yet', pg_temp.token(pg_temp.ann(jsonb_build_object('nbf', extract(epoch FROM now())::bigint + 600)))),
    (11, 'another audience', pg_temp.token(pg_temp.ann('{"aud": "billing"}'))),
    (12, 'no audience', pg_temp.token(pg_temp.ann('{"aud": null}'))),
    (13, 'nobody', pg_temp.token(pg_temp.ann('{"sub": null}'))),
    (14, 'no tenant', pg_temp.token(pg_temp.ann('{"tenant": null}'))),
    (15, 'an empty name', pg_temp.token(pg_temp.ann('{"sub": ""}'))),
    (16, 'a name with a line break', pg_temp.token(pg_temp.ann('{"sub": "a\nb"}'))),
    (17, 'a long name', pg_temp.token(pg_temp.ann(jsonb_build_object('sub', repeat('x', 201))))),
    (18, 'roles that are no list', pg_temp.token(pg_temp.ann('{"roles": "boss"}'))),
    (19, 'one byte more', pg_temp.token(pg_temp.ann()) || 'A'),
    (20, 'another person under a signature', split_part(pg_temp.token(pg_temp.ann()), '.', 1) || '.' || split_part(pg_temp.token(pg_temp.ann('{"sub": "ceo"}')), '.', 2)
        || '.' || split_part(pg_temp.token(pg_temp.ann()), '.', 3)),
    (21, 'very long', repeat('x', 100000))) v(n, what, token);
SELECT pg_temp.says(format('SELECT wf_authenticate(%L)', token)) AS answer, count(*) FROM bad GROUP BY 1;
SELECT pg_temp.says(format('SELECT wf_whoami(identity_token => %L)', token)) AS answer, count(*) FROM bad GROUP BY 1;
SELECT (o).code, (o).reason, (o).detail, count(*) FROM bad CROSS JOIN LATERAL wf_start('lamp', 'token', '{}', on_refusal => 'return', identity_token => token) o GROUP BY 1, 2, 3;
SELECT pg_temp.says('SELECT wf_authenticate(NULL)');
-- rotation: the old key is taken out, the other one goes on
SELECT pg_temp.write_keys('{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "2026", "x": "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw"}]}');
SELECT left(pg_temp.says(format('SELECT wf_whoami(identity_token => %L)', pg_temp.token(pg_temp.ann()))), 5) AS old, (SELECT actor FROM wf_whoami(identity_token => :'ed25519')) AS new;
-- public keys may be read by anybody, a secret may not
SELECT pg_temp.write_keys('{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "2026", "x": "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw"}]}', '022');
SELECT actor FROM wf_whoami(identity_token => :'ed25519');
SELECT pg_temp.write_keys(:'both', '022');
SELECT pg_temp.says(format('SELECT wf_whoami(identity_token => %L)', :'ed25519')) AS open_file;
SELECT pg_temp.write_keys('{"keys": [{"kty": "oct", "kid": "old", "k": "dG9vIHNob3J0"}]}');
SELECT pg_temp.says(format('SELECT wf_whoami(identity_token => %L)', :'ed25519')) AS unsound_file;
SET workflow.token_keys = '.';
SELECT pg_temp.says(format('SELECT wf_whoami(identity_token => %L)', :'ed25519')) AS a_folder;
SET workflow.token_keys = 'workflow-regress.json';
SELECT pg_temp.write_keys(:'both');
SET workflow.token_audience = '';
SELECT pg_temp.says(format('SELECT wf_whoami(identity_token => %L)', :'ed25519')) AS no_audience;
SET workflow.token_audience = 'billing';
SELECT actor FROM wf_whoami(identity_token => pg_temp.token(pg_temp.ann('{"aud": ["ledger", "billing"]}')));
RESET workflow.token_audience;
-- the operator's settings, and nobody else's to see or change
CREATE ROLE regress_token LOGIN;
SELECT wf_grant('regress_token', 'participant');
SET SESSION AUTHORIZATION regress_token;
SET workflow.token_keys = '/dev/stdin';
SET workflow.token_audience = 'mine';
SET workflow.identity = 'setting';
\set VERBOSITY sqlstate
SHOW workflow.token_keys;
\set VERBOSITY default
SELECT count(*) FROM pg_settings WHERE name = 'workflow.token_keys' AND setting <> '';
SELECT actor, tenant FROM wf_whoami(identity_token => :'ed25519');
RESET SESSION AUTHORIZATION;
DROP OWNED BY regress_token;
DROP ROLE regress_token;
-- expired while the transaction goes on
BEGIN;
SELECT actor FROM wf_authenticate(pg_temp.token(pg_temp.ann(jsonb_build_object('exp', floor(extract(epoch FROM clock_timestamp()))::bigint + 2))));
SELECT pg_sleep(2.1);
SELECT pg_temp.says('SELECT wf_whoami()') AS expired_meanwhile;
ROLLBACK;
COPY (SELECT 1) TO PROGRAM 'cat > workflow-regress.json.1; rm -f workflow-regress.json workflow-regress.json.1';
RESET workflow.token_keys;
RESET workflow.identity;
SELECT * FROM wf_verify();
