-- A database need not be UTF-8: names, settings, refusals and JSON keep their letters, and a setting that
-- cannot be read is an error, never taken for unset, or a command would run for somebody else.
SELECT current_database() AS here \gset
SET client_min_messages = warning;
CREATE DATABASE regress_latin1 ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE regress_ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C';
\c regress_latin1
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
CREATE EXTENSION workflow;
BEGIN;
SELECT tenant, actor, roles FROM wf_as('mandant-ü', 'müller', '{prüfer}');
SELECT tenant, actor, roles, proof FROM wf_whoami();
-- a letter that the database does not have is PostgreSQL's own error
SELECT * FROM wf_define('{"id": "prüfung", "initial": "OFFEN", "states": {"OFFEN": {"on": {"SCHLIEẞEN": {"target": "ZU"}}}, "ZU": {"type": "final"}}}');
ROLLBACK;
BEGIN;
SELECT actor FROM wf_as('mandant-ü', 'müller', '{prüfer}');
SELECT * FROM wf_define('{"id": "prüfung", "initial": "ÖFFNEN", "states": {"ÖFFNEN": {"on": {"SCHLIESSEN": {"target": "ZÜ", "meta": {"roles": ["prüfer"]}}}}, "ZÜ": {"type": "final"}}}');
SELECT state FROM wf_start('prüfung', 'straße', '{"ort": "köln"}');
SELECT code, detail -> 'expected' ->> 'state' AS expected FROM wf_try_transition((SELECT g.instance_id FROM wf_get(definition => 'prüfung', business_key => 'straße') g), 'ÖFFNEN', 'ZÜ', 7, 1);
SELECT state, event FROM wf_transition((SELECT g.instance_id FROM wf_get(definition => 'prüfung', business_key => 'straße') g), 'ÖFFNEN', 'ZÜ', 1, 1);
SELECT tenant_id, to_state, actor FROM workflow.history ORDER BY revision;
SELECT * FROM wf_verify();
COMMIT;
\c regress_ascii
SET client_min_messages = warning;
CREATE EXTENSION workflow;
SET workflow.actor = E'\xff\xfe';
SELECT * FROM wf_whoami();
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM wf_as('t', E'\xff');
\echo :LAST_ERROR_SQLSTATE
RESET workflow.actor;
SELECT actor FROM wf_as('t', 'müller');
SELECT * FROM wf_verify();
\c :here
DROP DATABASE regress_latin1;
DROP DATABASE regress_ascii;
