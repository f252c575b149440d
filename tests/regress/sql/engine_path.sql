-- workflow.engine_path: rows written without the executor are the rows SQL writes, and whatever a table
-- of ours asks for beyond a plain write is kept, because then SQL writes it.
CREATE FUNCTION pg_temp.looks() RETURNS bigint LANGUAGE sql AS $$
    SELECT idx_scan + seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'workflow.instances'::regclass
$$;
CREATE FUNCTION pg_temp.step(key text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    i uuid := (SELECT instance_id FROM wf_start('lamp', key, '{"v": 1}'));
    before bigint := pg_temp.looks();
    answer text := t.refusal(format($q$SELECT wf_transition(%L, 'OFF', 'ON', 1, 1, comment => 'c', payload => '{"traceparent": "00-1", "n": 1}')$q$, i));
BEGIN
    -- The row is looked for once, to read it; SQL looks again to lock it, and to replace it.
    RETURN concat(answer, ', ', CASE WHEN pg_temp.looks() - before = 1 THEN 'direct' ELSE 'SQL' END);
END
$$;
CREATE FUNCTION pg_temp.rows(key text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object(
        'instance', (SELECT to_jsonb(i) - '{id,application_id,definition_id}'::text[] FROM workflow.instances i WHERE id = t.i(key)),
        'history', (SELECT jsonb_agg(to_jsonb(h) - '{instance_id,at}'::text[] ORDER BY revision) FROM workflow.history h WHERE instance_id = t.i(key)),
        'outbox', (SELECT jsonb_agg(to_jsonb(o) - '{id,aggregateid,occurred_at}'::text[] #- '{payload,instance_id}' #- '{payload,application_id}' ORDER BY revision)
                     FROM workflow.outbox o WHERE aggregateid = t.i(key)::text),
        'queue', (SELECT jsonb_agg(q.revision ORDER BY q.revision) FROM workflow.outbox_queue q JOIN workflow.outbox o USING (tenant_id, id) WHERE q.instance_id = t.i(key)))
$$;

SET application_name = 'engine path';
SET workflow.engine_path = spi;
SELECT pg_temp.step('path-spi');
SET workflow.engine_path = direct;
SELECT pg_temp.step('path-direct');
RESET workflow.engine_path;
SELECT pg_temp.step('path-auto');
SELECT count(DISTINCT pg_temp.rows(key)) AS different FROM unnest('{path-spi,path-direct,path-auto}'::text[]) key;
SELECT pg_temp.rows('path-auto') -> 'outbox' -> 1 ->> 'tracingspancontext' AS trace, pg_temp.rows('path-auto') -> 'history' -> 1 ->> 'application_name' AS application;

-- A snapshot that is kept.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.step('path-repeatable');
COMMIT;

-- What belongs to others: a column with a default, a constraint, a trigger, a foreign key, a rule.
ALTER TABLE workflow.history ADD COLUMN path_note text DEFAULT 'noted at ' || current_setting('application_name');
SELECT pg_temp.step('path-default');
SELECT revision, path_note FROM workflow.history WHERE instance_id = t.i('path-default') ORDER BY 1;
ALTER TABLE workflow.history DROP COLUMN path_note;
SELECT pg_temp.step('path-dropped');

ALTER TABLE workflow.history ADD CONSTRAINT path_check CHECK (to_state <> 'ON') NOT VALID;
SELECT pg_temp.step('path-check');
ALTER TABLE workflow.history DROP CONSTRAINT path_check;
ALTER TABLE workflow.instances ADD CONSTRAINT path_check CHECK (state <> 'ON') NOT VALID;
SELECT pg_temp.step('path-check-instance');
ALTER TABLE workflow.instances DROP CONSTRAINT path_check;
CREATE UNIQUE INDEX path_unique ON workflow.history (to_state) WHERE comment = 'c' AND request_id = 'never';
CREATE UNIQUE INDEX path_expression ON workflow.instances ((state || id::text));
SELECT pg_temp.step('path-index');
SET enable_seqscan = off;
SELECT count(*) FROM workflow.instances WHERE state || id::text = 'ON' || t.i('path-index')::text;
RESET enable_seqscan;
DROP INDEX workflow.path_unique, workflow.path_expression;

CREATE TABLE t.path_seen (what text, revision bigint);
CREATE FUNCTION t.path_see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t.path_seen VALUES (TG_TABLE_NAME || ' ' || TG_WHEN || ' ' || TG_LEVEL, CASE TG_LEVEL WHEN 'ROW' THEN NEW.revision END);
    RETURN NEW;
END
$$;
CREATE TRIGGER path BEFORE INSERT ON workflow.history FOR EACH ROW EXECUTE FUNCTION t.path_see();
CREATE TRIGGER path AFTER INSERT ON workflow.outbox FOR EACH STATEMENT EXECUTE FUNCTION t.path_see();
CREATE TRIGGER path AFTER INSERT ON workflow.outbox_queue FOR EACH ROW EXECUTE FUNCTION t.path_see();
CREATE TRIGGER path AFTER UPDATE ON workflow.instances FOR EACH ROW EXECUTE FUNCTION t.path_see();
SELECT pg_temp.step('path-triggers');
SELECT * FROM t.path_seen;
DROP TRIGGER path ON workflow.history;
DROP TRIGGER path ON workflow.outbox;
DROP TRIGGER path ON workflow.outbox_queue;
DROP TRIGGER path ON workflow.instances;

CREATE TABLE t.path_child (tenant_id text, id uuid, FOREIGN KEY (tenant_id, id) REFERENCES workflow.instances ON UPDATE CASCADE);
SELECT pg_temp.step('path-referenced');
DROP TABLE t.path_child;
CREATE TABLE t.path_parent (state text COLLATE "C" PRIMARY KEY);
INSERT INTO t.path_parent VALUES ('OFF');
ALTER TABLE workflow.history ADD CONSTRAINT path_key FOREIGN KEY (to_state) REFERENCES t.path_parent NOT VALID;
SELECT pg_temp.step('path-foreign-key');
ALTER TABLE workflow.history DROP CONSTRAINT path_key;
DROP TABLE t.path_parent;

ALTER TABLE workflow.instances ADD COLUMN path_upper text COLLATE "C" GENERATED ALWAYS AS (upper(state)) STORED;
SELECT pg_temp.step('path-generated');
SELECT path_upper FROM workflow.instances WHERE id = t.i('path-generated');
ALTER TABLE workflow.instances DROP COLUMN path_upper;

CREATE RULE path AS ON UPDATE TO workflow.instances WHERE NEW.state = 'never' DO ALSO NOTHING;
SELECT pg_temp.step('path-rule');
DROP RULE path ON workflow.instances;

-- An index that is built anew, and one of another name.
REINDEX INDEX workflow.instances_pkey;
SELECT pg_temp.step('path-reindexed');
ALTER INDEX workflow.instances_pkey RENAME TO path_pkey;
SELECT pg_temp.step('path-renamed');
ALTER INDEX workflow.path_pkey RENAME TO instances_pkey;

-- Replica identity is asked for where PostgreSQL asks.
SET client_min_messages = error;
CREATE PUBLICATION path FOR TABLE workflow.instances;
ALTER TABLE workflow.instances REPLICA IDENTITY NOTHING;
SELECT pg_temp.step('path-published');
ALTER TABLE workflow.instances REPLICA IDENTITY DEFAULT;
SELECT pg_temp.step('path-published-2');
DROP PUBLICATION path;
RESET client_min_messages;

SELECT key, pg_temp.rows(key) = pg_temp.rows('path-auto') AS same
  FROM unnest('{path-dropped,path-index,path-triggers,path-referenced,path-generated,path-rule,path-reindexed,path-renamed,path-published-2}'::text[]) key;
SELECT count(*) AS wrong FROM wf_verify();
RESET application_name;
