-- What a claim looks at does not grow with what waits behind heads that it cannot have: 700 events behind
-- each of three heads in other hands, and younger than all of them what it may have.
SELECT w.version FROM wf_define('{"id": "lamp", "initial": "OFF", "states": {"OFF": {"on": {"PRESS": "ON"}}, "ON": {"on": {"PRESS": "OFF"}}}}', tenant => 'backlog') w;
SET workflow.tenant = 'backlog';
SELECT (wf_outbox_subscribe('mail')).applied;
CREATE FUNCTION pg_temp.key(instance text) RETURNS text LANGUAGE sql AS $$
    SELECT a.business_key FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id WHERE i.id = instance::uuid
$$;
CREATE FUNCTION pg_temp.claim(limit_rows int) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(pg_temp.key(d.aggregateid) || ' r' || d.revision, ', '), 'nothing') FROM wf_outbox_claim('mail', limit_rows) d
$$;
-- Entries of an index that this transaction has read so far.
CREATE FUNCTION pg_temp.read(index regclass) RETURNS bigint LANGUAGE sql AS $$ SELECT pg_stat_get_xact_tuples_returned(index) $$;
DO $$
DECLARE
    busy uuid[];
BEGIN
    SELECT array_agg(o.instance_id) INTO busy FROM generate_series(1, 3) n, wf_start('lamp', 'busy ' || n, '{}') o;
    FOR n IN 1..700 LOOP
        PERFORM o FROM unnest(busy) i, wf_send(i, 'PRESS') o;
    END LOOP;
END
$$;
SELECT pg_temp.claim(3);
SELECT count(*) FROM generate_series(1, 4) n, wf_start('lamp', 'free ' || n, '{}') o;
-- In the queue they are behind the busy ones. A transaction that takes nothing else along finds them.
BEGIN;
SELECT pg_temp.claim(1);
ROLLBACK;
-- They are moved to the deliveries first, a part of each instance at a time.
SELECT count(*) FROM wf_run_due();
SELECT count(*) FROM wf_run_due();
SELECT count(*) FROM wf_run_due();
SELECT count(*) FROM wf_run_due();
SELECT count(*) FROM workflow.deliveries WHERE tenant_id = 'backlog';
BEGIN;
SELECT pg_temp.read('workflow.deliveries_available') AS available, pg_temp.read('workflow.deliveries_pkey') AS key \gset before_
SELECT pg_temp.claim(1);
SELECT pg_temp.read('workflow.deliveries_available') - :before_available < 1000 AS few, pg_temp.read('workflow.deliveries_pkey') - :before_key < 1000 AS few;
COMMIT;
-- One who wants more gets the others; they are behind what was looked at in the order of time.
SELECT pg_temp.claim(2);
SELECT pg_temp.claim(2), pg_temp.claim(2);
-- Over, and to be had again: of many lapsed events only heads are looked for as well.
SELECT pg_temp.claim(3000);
UPDATE workflow.deliveries SET claim = n.none, available_at = clock_timestamp() - make_interval(secs => 10000 - revision)
  FROM (SELECT '00000000-0000-0000-0000-000000000000'::uuid) n(none) WHERE tenant_id = 'backlog' AND instance_id IN (SELECT i.id FROM workflow.instances i WHERE pg_temp.key(i.id::text) ~ 'busy');
SELECT pg_temp.claim(3), pg_temp.claim(3), pg_temp.claim(1);
SELECT (wf_outbox_unsubscribe('mail')).applied;
RESET workflow.tenant;
SELECT * FROM wf_verify();
