-- I3: what a caller puts before pg_catalog in its search path does not reach the engine, nor the wf_grant
-- of plain SQL: neither operators, functions, types nor temporary tables, neither at the first call nor
-- once plans are kept.
SELECT t.see(o) FROM wf_start('review', 'types-before', '{}') o; -- plans are kept from here on
CREATE SCHEMA evil;
CREATE FUNCTION evil.no(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(name, name) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(jsonb, jsonb) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(boolean, boolean) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE FUNCTION evil.no(timestamptz, timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil = was called'; END $$;
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = uuid, RIGHTARG = uuid);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = int, RIGHTARG = int);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = name, RIGHTARG = name);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = oid, RIGHTARG = oid);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = jsonb, RIGHTARG = jsonb);
CREATE OPERATOR evil.= (FUNCTION = evil.no, LEFTARG = boolean, RIGHTARG = boolean);
CREATE OPERATOR evil.> (FUNCTION = evil.no, LEFTARG = timestamptz, RIGHTARG = timestamptz);
CREATE OPERATOR evil.<> (FUNCTION = evil.no, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '1999-01-01 00:00+00'::timestamptz $$;
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '1999-01-01 00:00+00'::timestamptz $$;
CREATE FUNCTION evil.jsonb_path_match(jsonb, jsonpath, jsonb DEFAULT '{}', boolean DEFAULT false) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION evil.jsonb_build_object(VARIADIC "any") RETURNS jsonb LANGUAGE internal AS 'jsonb_build_object_noargs';
CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'no' $$;
CREATE FUNCTION evil.has_function_privilege(oid, oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION evil.has_table_privilege(oid, text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (false);
CREATE DOMAIN evil.uuid AS pg_catalog.uuid CHECK (false);
CREATE DOMAIN evil.int4 AS pg_catalog.int4 CHECK (false);
CREATE DOMAIN evil.jsonpath AS pg_catalog.jsonpath CHECK (false);
CREATE TABLE evil.instances AS TABLE workflow.instances WITH NO DATA;
CREATE TEMP TABLE instances AS TABLE workflow.instances WITH NO DATA;
CREATE TEMP TABLE history AS TABLE workflow.history WITH NO DATA;
CREATE TEMP TABLE pg_proc (proname name);
CREATE TEMP TABLE pg_extension (extname name);
CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '1999-01-01 00:00+00'::timestamptz $$;
CREATE ROLE regress_path LOGIN;
CREATE FUNCTION public.run_evil() RETURNS TABLE (n int, answer pg_catalog.text) LANGUAGE plpgsql SET search_path = evil, pg_temp, pg_catalog, public AS $$
DECLARE
    i pg_catalog.uuid;
    k constant pg_catalog.text := 'path-' || pg_catalog.txid_current();
BEGIN
    n := 1; SELECT public.wf_grant('regress_path', 'participant') INTO answer; RETURN NEXT;
    n := 2; SELECT o.state, o.instance_id INTO answer, i FROM public.wf_start('path', k, '{"n": 1}', request_id => k) o; RETURN NEXT;
    n := 3; SELECT o.code INTO answer FROM public.wf_transition(i, 'A', 'C', 1, 1, on_refusal => 'return') o; RETURN NEXT;
    n := 4; SELECT o.state INTO answer FROM public.wf_transition(i, 'A', 'B', 1, 1, request_id => k || '2') o; RETURN NEXT;
    n := 5; SELECT o.replayed INTO answer FROM public.wf_transition(i, 'A', 'B', 1, 1, request_id => k || '2') o; RETURN NEXT;
    n := 6; SELECT u.material_version INTO answer FROM public.wf_supersede_material((SELECT g.application_id FROM public.wf_get(i) g), 1, '{"n": 2}') u; RETURN NEXT;
    n := 7; SELECT o.state INTO answer FROM public.wf_send(i, 'BACK', lock_mode => 'pessimistic') o; RETURN NEXT;
    n := 8; SELECT o.code INTO answer FROM public.wf_check(i, 'A', 'B', 1, 1) o; RETURN NEXT;
    n := 9; SELECT o.state INTO answer FROM public.wf_lock(i) o; RETURN NEXT;
    n := 10; SELECT w.actor INTO answer FROM public.wf_as('default', 'ann', '{a}') w; RETURN NEXT;
    n := 11; SELECT pg_catalog.array_to_string(w.roles, ',') INTO answer FROM public.wf_whoami() w; RETURN NEXT;
    n := 12; SELECT o.applied INTO answer FROM public.wf_member_set(k, '{a}') o; RETURN NEXT;
    n := 13; SELECT o.applied INTO answer FROM public.wf_member_remove(k) o; RETURN NEXT;
    n := 14; SELECT pg_catalog.count(*) INTO answer FROM public.wf_verify() v; RETURN NEXT;
    n := 15; SELECT v.version INTO answer FROM public.wf_define(public.wf_export('path')) v; RETURN NEXT;
    n := 16; SELECT pg_catalog.count(*) INTO answer FROM public.wf_validate(public.wf_export('path')) v; RETURN NEXT;
END
$$;
SELECT * FROM wf_define('{"id": "path", "initial": "A", "states": {"A": {"on": {"GO": {"target": "B", "guard": "$.material.n == 1"},
    "OTHER": {"target": "C", "guard": "$.material.n == 9"}}}, "B": {"on": {"BACK": "A"}}, "C": {"type": "final"}}}');
SELECT * FROM public.run_evil();
-- six times: generic plans
SELECT count(*), count(DISTINCT answer) FROM generate_series(1, 6) CROSS JOIN LATERAL public.run_evil() r WHERE r.n = 4;
-- a fresh session that begins with the evil path
\c -
SET search_path = evil, pg_temp, pg_catalog, public;
SELECT * FROM public.run_evil();
RESET search_path;
SELECT count(*) AS lies FROM workflow.history h WHERE h.at < '2000-01-01';
DROP OWNED BY regress_path;
DROP ROLE regress_path;
DROP FUNCTION public.run_evil();
SET client_min_messages = warning;
DROP SCHEMA evil CASCADE;
SELECT * FROM wf_verify();
