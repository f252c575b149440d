-- A timer that fails stops neither the others nor itself for good: it says so and is tried again, later
-- each time. One whose guards are all false has had its turn.
DELETE FROM workflow.timers; -- of other tests
SELECT * FROM wf_define('{
  "id": "frail", "initial": "WAIT",
  "states": {
    "WAIT": {"meta": {"on_supersede": "stay"}, "on": {"GO": "DONE"},
             "after": {"PT1H": [{"target": "BIG", "guard": "$.material.amount > 100"}, {"target": "DONE", "guard": "$.material.amount > 10"}]}},
    "BIG": {"on": {"GO": "DONE"}},
    "DONE": {"type": "final"}}}');
CREATE FUNCTION t.frail(key text)
    RETURNS TABLE (event text, due text, next text, attempts int, error text) LANGUAGE sql AS $$
    SELECT m.event, to_char(m.due_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI:SS'), to_char(m.next_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI:SS'), m.attempts, m.error
      FROM workflow.timers m WHERE m.instance_id = t.i(key)
$$;
SET workflow.test_clock = '2300-01-01 00:00+00';
SELECT key, t.see(o) FROM unnest('{big,medium,small,text,none}'::text[]) WITH ORDINALITY k(key, n)
 CROSS JOIN LATERAL wf_start('frail', 'frail-' || key, CASE key WHEN 'big' THEN '{"amount": 200}' WHEN 'medium' THEN '{"amount": 20}' WHEN 'small' THEN '{"amount": 2}' WHEN 'text' THEN '{"amount": "200"}' ELSE '{}' END::jsonb) o ORDER BY n;
SET workflow.test_clock = '2300-01-01 01:00+00';
SELECT a.business_key, t.see(o), o.attempts, o.retry_after_ms, o.detail ->> 'verdict' AS verdict, o.detail ->> 'retryable' AS retryable
  FROM wf_run_due() o JOIN workflow.applications a ON a.id = o.application_id ORDER BY 1;
SELECT * FROM t.frail('frail-small');
SELECT * FROM t.frail('frail-text');
-- the refusal is kept, and explains itself
SELECT f.command, f.code, f.actor FROM workflow.refusals f WHERE f.instance_id = t.i('frail-text');
SELECT e #>> '{timers,0,error}' AS error, e #>> '{refusals,0,actor}' AS actor FROM wf_explain(t.i('frail-text')) e;
-- not before its time; then longer each time, up to a day
SELECT count(*) AS tried FROM wf_run_due();
SET workflow.test_clock = '2300-01-01 01:00:10+00';
SELECT t.see(o), o.attempts, o.retry_after_ms FROM wf_run_due() o;
SELECT next, attempts FROM t.frail('frail-none');
DO $$
BEGIN
    FOR n IN 1..15 LOOP
        PERFORM set_config('workflow.test_clock', (SELECT max(next_at)::text FROM workflow.timers WHERE instance_id = t.i('frail-none')), false);
        PERFORM wf_run_due();
    END LOOP;
END
$$;
SELECT m.attempts, m.next_at - current_setting('workflow.test_clock')::timestamptz AS wait FROM workflow.timers m WHERE m.instance_id = t.i('frail-none');
-- new material, and it is tried again at once
SELECT o.applied FROM wf_supersede_material(t.a('frail-none'), 1, '{"amount": 20}') o;
SELECT due, next, attempts, error FROM t.frail('frail-none');
SELECT t.see(o) FROM wf_run_due() o WHERE o.instance_id = t.i('frail-none');
SELECT t.see(o) FROM wf_send(t.i('frail-text'), 'GO') o;
SET workflow.test_clock = '2300-12-01 00:00+00';
SELECT count(*) AS tried FROM wf_run_due();
SELECT count(*) AS left FROM workflow.timers m WHERE m.instance_id = t.i('frail-text');
-- an error of a trigger, in the middle of the writing
CREATE FUNCTION t.spoil() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.event = 'after.PT1H' AND NEW.instance_id = t.i('spoilt') THEN
        RAISE EXCEPTION USING ERRCODE = current_setting('t.spoil'), MESSAGE = 'spoilt';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER spoil BEFORE INSERT ON workflow.history FOR EACH ROW EXECUTE FUNCTION t.spoil();
SET t.spoil = 'U0001';
SET workflow.test_clock = '2301-01-01 00:00+00';
SELECT t.see(o) FROM wf_start('frail', 'spoilt', '{"amount": 200}') o;
SELECT t.see(o) FROM wf_start('frail', 'unspoilt', '{"amount": 200}') o;
SET workflow.test_clock = '2301-01-01 01:00+00';
SELECT a.business_key, t.see(o), o.detail, o.attempts, o.retry_after_ms FROM wf_run_due() o JOIN workflow.applications a ON a.id = o.application_id ORDER BY 1;
SELECT * FROM t.count('spoilt');
SELECT * FROM t.frail('spoilt');
-- a row that is swallowed is an error of the same kind
CREATE OR REPLACE FUNCTION t.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN NEW.instance_id <> t.i('spoilt') THEN NEW END; END $$;
SET workflow.test_clock = '2301-01-02 01:00+00';
SELECT t.see(o), o.detail, o.attempts FROM wf_run_due() o;
SELECT state, revision FROM workflow.instances WHERE id = t.i('spoilt');
-- what is about the transaction as a whole goes through
CREATE OR REPLACE FUNCTION t.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = current_setting('t.spoil'), MESSAGE = 'the whole'; END $$;
SET workflow.test_clock = '2301-01-03 01:00+00';
SELECT x, set_config('t.spoil', x, false) = x AS set, t.refusal('SELECT wf_run_due()') FROM unnest('{40001,40P01,53100,58030}'::text[]) x;
SELECT next, attempts FROM t.frail('spoilt');
-- a trigger that asks for what is due while its instance is on the way
CREATE OR REPLACE FUNCTION t.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM wf_run_due(); RETURN NEW; END $$;
SELECT t.see(o) FROM wf_run_due() o;
SELECT r, to_state, event FROM t.history('spoilt');
DROP TRIGGER spoil ON workflow.history;
DROP FUNCTION t.spoil;
RESET workflow.test_clock;
SELECT * FROM wf_verify();
