-- I4: a schema workflow that is there already is not adopted, whoever made it: what is in it would run with
-- the rights of the tables' owner.
SELECT current_database() AS here \gset
CREATE DATABASE regress_workflow_taken TEMPLATE template0;
\c regress_workflow_taken
\set VERBOSITY terse
CREATE SCHEMA workflow;
CREATE EXTENSION workflow;
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION IF NOT EXISTS workflow;
SELECT count(*) AS extensions FROM pg_extension WHERE extname = 'workflow';
SELECT count(*) AS left_behind FROM pg_proc WHERE proname LIKE 'wf\_%';
DROP SCHEMA workflow;
-- nor one that somebody else owns
CREATE ROLE regress_squatter;
CREATE SCHEMA workflow AUTHORIZATION regress_squatter;
CREATE EXTENSION workflow;
DROP SCHEMA workflow;
-- the functions go where the path points, the tables to schema workflow
CREATE SCHEMA elsewhere;
CREATE EXTENSION workflow SCHEMA elsewhere;
SELECT DISTINCT p.pronamespace::regnamespace FROM pg_proc p WHERE p.proname LIKE 'wf\_%';
SELECT e.extrelocatable FROM pg_extension e WHERE e.extname = 'workflow';
SELECT d.version FROM elsewhere.wf_define('{"id": "x", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {"type": "final"}}}') d;
SELECT o.state FROM elsewhere.wf_start('x', 'k', '{}') o;
SELECT * FROM elsewhere.wf_verify();
SELECT elsewhere.wf_grant('regress_squatter', 'reader');
-- and leave nothing behind
DROP OWNED BY regress_squatter;
DROP EXTENSION workflow;
SELECT count(*) FROM pg_namespace WHERE nspname = 'workflow';
SELECT count(*) FROM pg_proc WHERE proname LIKE 'wf\_%';
\c :here
DROP DATABASE regress_workflow_taken;
DROP ROLE regress_squatter;
SELECT * FROM wf_verify();
