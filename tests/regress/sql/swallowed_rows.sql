-- A user's BEFORE trigger that swallows a row of ours is 27000 for every table and command: going on would
-- give a wrong answer. Afterwards everything is as before.
SELECT o.applied FROM wf_start('review', 'swallow-all', '{}') o;
SELECT o.applied FROM wf_member_set('swallow-all', '{}') o;
SELECT t.i('swallow-all') AS i \gset
SELECT o.applied FROM wf_outbox_subscribe('held', true) o;
SELECT c.claim, array_agg(c.id) AS ids FROM wf_outbox_claim('held', 1, lease_ms => 600000) c GROUP BY 1 \gset
SELECT o.applied FROM wf_outbox_subscribe('swallow') o;
SELECT o.applied FROM wf_start('lamp', 'swallow-event', '{}') o;
CREATE FUNCTION t.swallow_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION pg_temp.without(verb text, name text, command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    before constant text := t.world();
    answer text;
BEGIN
    BEGIN
        EXECUTE format('CREATE TRIGGER swallow BEFORE %s ON workflow.%I FOR EACH ROW EXECUTE FUNCTION t.swallow_all()', verb, name);
        answer := left(t.refusal('SELECT ' || command), 8);
        IF t.world() <> before THEN
            answer := answer || ' and something is left';
        END IF;
        RAISE SQLSTATE 'ZZZZZ';
    EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        RETURN answer;
    END;
END
$$;
CREATE TEMP TABLE given (n serial, verb text, name text, command text);
INSERT INTO given (verb, name, command) VALUES
    ('INSERT', 'history', $$wf_transition(t.i('swallow-all'), 'SUBMITTED', 'APPROVED', 1, 1)$$),
    ('INSERT', 'outbox', $$wf_transition(t.i('swallow-all'), 'SUBMITTED', 'APPROVED', 1, 1)$$),
    ('UPDATE', 'instances', $$wf_transition(t.i('swallow-all'), 'SUBMITTED', 'APPROVED', 1, 1)$$),
    ('UPDATE', 'tasks', $$wf_transition(t.i('swallow-all'), 'SUBMITTED', 'APPROVED', 1, 1)$$),
    ('INSERT', 'requests', $$wf_transition(t.i('swallow-all'), 'SUBMITTED', 'APPROVED', 1, 1, request_id => 'swallow-all')$$),
    ('INSERT', 'refusals', $$wf_try_transition(t.i('swallow-all'), 'SUBMITTED', 'APPROVED', 7, 1)$$),
    ('UPDATE', 'instances', $$wf_send(t.i('swallow-all'), 'WITHDRAW')$$),
    ('UPDATE', 'instances', $$wf_send(t.i('swallow-all'), 'WITHDRAW', lock_mode => 'pessimistic')$$),
    ('UPDATE', 'tasks', $$wf_send(t.i('swallow-all'), 'WITHDRAW')$$),
    ('INSERT', 'applications', $$wf_start('review', 'swallow-3', '{}')$$),
    ('INSERT', 'materials', $$wf_start('review', 'swallow-3', '{}')$$),
    ('INSERT', 'instances', $$wf_start('review', 'swallow-3', '{}')$$),
    ('INSERT', 'history', $$wf_start('review', 'swallow-3', '{}')$$),
    ('INSERT', 'tasks', $$wf_start('review', 'swallow-3', '{}')$$),
    ('INSERT', 'outbox', $$wf_start('review', 'swallow-3', '{}')$$),
    ('UPDATE', 'applications', $$wf_start('lamp', 'swallow-all')$$),
    ('UPDATE', 'applications', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('INSERT', 'materials', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('UPDATE', 'instances', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('UPDATE', 'tasks', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('INSERT', 'tasks', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('INSERT', 'history', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('INSERT', 'outbox', $$wf_supersede_material(t.a('swallow-all'), 1, '{"v": 2}')$$),
    ('INSERT', 'definitions', $$wf_define('{"id": "swallow", "initial": "A", "states": {"A": {"type": "final"}}}')$$),
    ('UPDATE', 'definitions', $$wf_define(jsonb_set(wf_export('lamp'), '{states,OFF,on,SMASH}', '"BROKEN"'))$$),
    ('INSERT', 'limits', $$wf_limit_set('seats', 100)$$),
    ('INSERT', 'members', $$wf_member_set('swallow-all', '{}')$$),
    ('DELETE', 'members', $$wf_member_remove('swallow-all')$$),
    ('INSERT', 'outbox_queue', $$wf_start('review', 'swallow-3', '{}')$$),
    ('INSERT', 'consumers', $$wf_outbox_subscribe('swallow-2')$$),
    ('DELETE', 'consumers', $$wf_outbox_unsubscribe('swallow')$$),
    ('DELETE', 'outbox_queue', $$wf_outbox_claim('swallow')$$),
    ('INSERT', 'deliveries', $$wf_outbox_claim('swallow')$$),
    ('UPDATE', 'deliveries', $$wf_outbox_claim('swallow')$$),
    ('UPDATE', 'deliveries', $$wf_outbox_nack('held', :claim, :ids, 0, NULL)$$),
    ('DELETE', 'deliveries', $$wf_outbox_ack('held', :claim, :ids)$$),
    ('INSERT', 'inbox', $$wf_inbox_accept('swallow', '1')$$);
UPDATE given SET command = replace(replace(command, ':claim', quote_literal(:'claim')), ':ids', quote_literal(:'ids'));
SELECT n, verb, name, split_part(command, '(', 1) AS command, pg_temp.without(verb, name, command) FROM given ORDER BY n;
DROP FUNCTION t.swallow_all();
SELECT o.applied FROM wf_member_remove('swallow-all') o;
SELECT o.applied FROM unnest('{held,swallow}'::text[]) c CROSS JOIN LATERAL wf_outbox_unsubscribe(c) o;
-- and the session goes on
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1) o;
SELECT * FROM wf_verify();
