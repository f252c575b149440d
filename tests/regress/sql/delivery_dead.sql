-- D9: what a consumer fails too often is a dead letter. Only its instance waits, for this consumer, until it
-- is requeued or skipped; then it goes on in order.
SELECT * FROM wf_define(wf_export('lamp'), tenant => 'dead');
SET workflow.tenant = 'dead';
SET workflow.outbox_max_attempts = 3;
SELECT (wf_outbox_subscribe('mail')).applied, (wf_outbox_subscribe('index')).applied;
SELECT o.applied FROM unnest('{good,bad}'::text[]) k CROSS JOIN LATERAL wf_start('lamp', k, '{}') o;
SELECT t.press('bad', 2), t.press('good', 1);
SELECT t.claim('mail');
SELECT t.nack('mail', 'bad r2', error => 'once'), t.ack('mail', 'good|bad r1');
SELECT t.claim('mail'), t.nack('mail', 'bad r2', error => 'twice');
SELECT t.claim('mail'), t.nack('mail', 'bad r2', error => 'three times');
SELECT consumer, aggregatetype, type, revision, attempt, error, failed_at IS NOT NULL AS failed_at, blocked, payload ->> 'revision' AS payload FROM workflow.dead_letters;
SELECT t.press('bad', 1), t.press('good', 2);
SELECT t.claim('mail') AS only_the_good_one, t.ack('mail');
SELECT consumer, queued, waiting, claimed, failed, dead FROM workflow.outbox_lag ORDER BY 1;
SELECT t.claim('index') AS the_other_consumer, t.ack('index');
SELECT count(*) FROM wf_verify();
-- another tenant does not see it
SET workflow.tenant = 'default';
SELECT count(*) FROM workflow.dead_letters;
SELECT t.refusal($$SELECT wf_outbox_skip('mail', '{}')$$);
SET workflow.tenant = 'dead';

-- requeued it is counted anew
SELECT id FROM workflow.dead_letters \gset
SELECT t.settled(o) FROM wf_outbox_requeue('mail', ARRAY[:'id', :'id']::uuid[]) o;
SELECT t.settled(o) FROM wf_outbox_requeue('mail', ARRAY[:'id']::uuid[]) o;
SELECT count(*) FROM workflow.dead_letters;
SELECT t.claim('mail'), t.nack('mail', 'r2'), t.claim('mail') AS again, t.nack('mail', 'r2'), t.claim('mail') AS and_again, t.nack('mail', 'r2');
-- skipped it is passed over
SELECT t.settled(o) FROM wf_outbox_skip('index', ARRAY[:'id']::uuid[]) o;
SELECT t.settled(o) FROM wf_outbox_skip('mail', ARRAY[:'id', gen_random_uuid()]::uuid[]) o;
SELECT count(*) AS still_in_the_outbox FROM workflow.outbox WHERE id = :'id';
SELECT t.claim('mail'), t.ack('mail');
SELECT count(*) AS left FROM workflow.outbox WHERE tenant_id = 'dead';
SELECT count(*) FROM wf_verify();

-- two dead letters of one instance: the first one holds the second
SET workflow.outbox_max_attempts = 1;
SELECT t.press('bad', 3), t.claim('mail'), t.nack('mail', 'r[56]');
SELECT revision, blocked FROM workflow.dead_letters ORDER BY 1;
SELECT t.claim('mail');
SELECT t.settled(o) FROM workflow.dead_letters d CROSS JOIN LATERAL wf_outbox_requeue('mail', ARRAY[d.id]) o WHERE d.revision = 5;
SELECT t.claim('mail'), t.ack('mail'), t.claim('mail') AS nothing_more;
SELECT t.settled(o) FROM workflow.dead_letters d CROSS JOIN LATERAL wf_outbox_skip('mail', ARRAY[d.id]) o;
SELECT t.claim('mail'), t.ack('mail');

-- A consumer that says nothing, three times, has failed as well. The last time each event comes by itself:
-- the one that kills the consumer does not take the others with it.
SET workflow.outbox_max_attempts = 3;
CREATE FUNCTION pg_temp.over() RETURNS text LANGUAGE sql AS $$
    UPDATE workflow.deliveries SET available_at = '2020-01-01'::timestamptz + revision * interval '1 s' WHERE tenant_id = 'dead' AND claim IS NOT NULL;
    SELECT 'over'
$$;
SELECT t.press('bad', 2), t.press('good', 2);
SELECT t.claim('mail'), pg_temp.over();
SELECT t.claim('mail'), pg_temp.over();
SELECT t.claim('mail') AS alone, pg_temp.over();
SELECT t.claim('mail') AS alone, t.ack('mail');
SELECT t.claim('mail') AS alone, t.ack('mail');
SELECT t.claim('mail') AS nothing, count(*) AS dead, min(error) AS error FROM workflow.dead_letters;
SELECT t.settled(o) FROM workflow.dead_letters d CROSS JOIN LATERAL wf_outbox_skip('mail', ARRAY[d.id]) o;
SELECT t.claim('mail') AS alone, t.ack('mail');
SELECT (wf_outbox_unsubscribe('mail')).detail, (wf_outbox_unsubscribe('index')).detail;
RESET workflow.tenant;
RESET workflow.outbox_max_attempts;
SELECT * FROM wf_verify();
