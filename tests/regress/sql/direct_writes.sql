-- I2: nobody but the engine writes the tables: a participant has no DML at all, and history and materials
-- are append-only for their owner as well.
CREATE ROLE regress_writer LOGIN;
SELECT wf_grant('regress_writer', c) FROM unnest('{participant,backend,operator,designer,worker}'::text[]) c;
SELECT t.see(o) FROM wf_start('review', 'direct', '{}') o;
SELECT t.i('direct') AS i \gset
CREATE TEMP TABLE tried (name text, verb text, code text);
GRANT ALL ON tried TO regress_writer;
SET SESSION AUTHORIZATION regress_writer;
DO $$
DECLARE
    name text;
    verb text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'workflow'::regnamespace AND relkind = 'r' LOOP
        FOREACH verb IN ARRAY ARRAY['INSERT INTO %s SELECT * FROM %s', 'UPDATE %s SET %c = %c', 'DELETE FROM %s', 'TRUNCATE %s', 'LOCK %s', 'ALTER TABLE %s DISABLE TRIGGER ALL', 'DROP TABLE %s'] LOOP
            BEGIN
                EXECUTE replace(replace(verb, '%s', 'workflow.' || name), '%c', (SELECT attname FROM pg_attribute WHERE attrelid = ('workflow.' || name)::regclass AND attnum = 1));
                INSERT INTO tried VALUES (name, verb, 'done');
            EXCEPTION WHEN OTHERS THEN
                INSERT INTO tried VALUES (name, verb, SQLSTATE);
            END;
        END LOOP;
    END LOOP;
END
$$;
-- the engine's own way in is no way in: a function of ours does not run what is slipped under it
SELECT o.applied, o.state FROM wf_send(:'i', 'WITHDRAW', payload => '"; DELETE FROM workflow.history; --"') o;
RESET SESSION AUTHORIZATION;
SELECT code, count(DISTINCT name) = (SELECT count(*) FROM pg_class WHERE relnamespace = 'workflow'::regnamespace AND relkind = 'r') AS every_table,
       count(DISTINCT verb) AS verbs
  FROM tried GROUP BY 1;
-- the owner
SELECT x, left(t.refusal(x), 5) AS code FROM unnest(ARRAY['UPDATE workflow.history SET comment = NULL', 'UPDATE workflow.history SET comment = NULL WHERE false', 'DELETE FROM workflow.history',
    'DELETE FROM workflow.history WHERE false', 'TRUNCATE workflow.history', 'TRUNCATE workflow.history, workflow.materials CASCADE', 'UPDATE workflow.materials SET version = 2', 'DELETE FROM workflow.materials',
    'TRUNCATE workflow.materials', 'UPDATE workflow.task_log SET comment = NULL', 'DELETE FROM workflow.task_log WHERE false', 'TRUNCATE workflow.task_log', 'MERGE INTO workflow.history h USING (SELECT 1) x ON true WHEN MATCHED THEN DELETE']) x;
SELECT t.see(o) FROM wf_start('review', 'direct') o;
SELECT count(*) FROM workflow.history h WHERE h.instance_id = :'i';
DROP OWNED BY regress_writer;
DROP ROLE regress_writer;
SELECT * FROM wf_verify();
