-- What nobody should ask of leases, and what does not belong to who asks.
SELECT t.refusal(format('SELECT * FROM wf_lease_acquire(%L, 1000)', repeat('k', 201)));
SELECT acquired FROM wf_lease_acquire(repeat('k', 200), 1000);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire(E'a\nb', 1000)$$);
SELECT t.refusal(format('SELECT * FROM wf_lease_acquire(%L, 1000, holder => %L)', 'k', repeat('h', 201)));
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('k', 1000, holder => '')$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('k', 1000, request_id => '')$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('k', -2147483648)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('k', 2147483647)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('k', 1000, wait_ms => NULL)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire('k', 1000, on_refusal => 'maybe')$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many(NULL, 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many(array_fill('x'::text, ARRAY[0]), 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many('{{a,b},{c,a}}', 1000)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_acquire_many((SELECT array_agg('m' || n) FROM generate_series(1, 1001) n), 1000)$$);
SELECT count(*), bool_and(acquired) FROM wf_lease_acquire_many((SELECT array_agg('m' || n) FROM generate_series(1, 1000) n), 60000);
-- one of a thousand is not free: none is had, and it says which
SELECT acquired, reason, count(*) FROM wf_lease_acquire_many((SELECT array_agg('m' || n) FROM generate_series(1000, 1999) n), 60000) GROUP BY 1, 2 ORDER BY 3;
SELECT t.refusal($$SELECT * FROM wf_lease_renew('k', gen_random_uuid(), 0)$$);
SELECT t.refusal($$SELECT * FROM wf_lease_steal('k', 1000, NULL)$$);
-- the lease of another tenant is neither seen nor moved
SELECT token, fence FROM wf_lease_acquire('theirs', 60000, tenant => 'elsewhere') \gset
SELECT held FROM wf_lease_inspect('theirs');
SELECT reason FROM wf_lease_renew('theirs', :'token', 1000);
SELECT reason FROM wf_lease_release('theirs', :'token');
SELECT acquired FROM wf_lease_acquire('theirs', 60000);
SELECT acquired FROM wf_lease_steal('theirs', 60000, 'mine');
SELECT held, renewals FROM wf_lease_inspect('theirs', tenant => 'elsewhere');
-- the request of another person is not mine, though I call the holder as they did
SELECT acquired FROM wf_lease_acquire('request', 60000, 'worker-1', request_id => 'r', actor => 'ann');
SELECT acquired, token IS NULL AS kept_secret, reason FROM wf_lease_acquire('request', 60000, 'worker-1', request_id => 'r', actor => 'bob');
SELECT acquired, token IS NOT NULL AS same FROM wf_lease_acquire('request', 60000, 'worker-1', request_id => 'r', actor => 'ann');
SELECT actor, holder FROM workflow.lease_log WHERE key = 'request';
-- numbers that cannot be fences
SELECT version FROM wf_define('{"id": "numbers", "initial": "A", "states": {"A": {"on": {"AGAIN": "A"}}}}');
SELECT o.instance_id AS i FROM wf_start('numbers', 'numbers', '{}') o \gset
SELECT n, o.applied, o.code FROM unnest('{-9223372036854775808,-1,0,9223372036854775807}'::bigint[]) n,
    wf_send(:'i', 'AGAIN', lease_key => 'request', fence => n, on_refusal => 'return') o;
SELECT t.refusal(format($$SELECT * FROM wf_send(%L, 'AGAIN', lease_key => %L, fence => 1)$$, :'i', repeat('k', 201)));
-- waiting can be cancelled, and a short lock_timeout is no matter for one that waits for no lock
SELECT acquired FROM wf_lease_acquire('wait', 60000);
SET statement_timeout = '100ms';
SELECT * FROM wf_lease_acquire('wait', 60000, wait_ms => 60000);
RESET statement_timeout;
SET lock_timeout = '1ms';
SELECT acquired, reason FROM wf_lease_acquire('wait', 60000, wait_ms => 50);
SELECT acquired FROM wf_lease_acquire('free', 60000, wait_ms => 50);
RESET lock_timeout;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
-- Many commands, each under a lease of its own or none: each is judged by its own.
SELECT version FROM wf_define('{"id": "fenced", "initial": "A", "states": {"A": {"meta": {"lease": "required"}, "on": {"GO": "B"}}, "B": {"on": {"BACK": "A"}}}}');
SELECT count(*) FROM generate_series(1, 5) n, wf_start('fenced', 'fenced-' || n, '{}') o;
SELECT fence AS one FROM wf_lease_acquire('one', 60000) \gset
SELECT fence AS two FROM wf_lease_acquire('two', 60000) \gset
CREATE FUNCTION pg_temp.under(n int, key text, fence bigint, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('instance', t.i('fenced-' || n), 'from_state', 'A', 'to_state', 'B', 'expected_revision', 1,
        'material_version', 1, 'lease_key', key, 'fence', fence)) || more
$$;
SELECT ordinal, applied, code, state, detail ->> 'withheld_by' AS withheld_by FROM wf_transition_many(jsonb_build_array(
    pg_temp.under(1, 'one', :one), pg_temp.under(2, 'two', :two), pg_temp.under(3, 'one', :two), pg_temp.under(4, NULL, NULL)), true);
SELECT ordinal, applied, code, state FROM wf_transition_many(jsonb_build_array(
    pg_temp.under(1, 'one', :one), pg_temp.under(2, 'two', :two), pg_temp.under(3, 'one', :two), pg_temp.under(4, NULL, NULL),
    pg_temp.under(5, 'nobody''s', 1), pg_temp.under(1, 'one', :one, '{"from_state": "B", "to_state": "A", "expected_revision": 2}')));
SELECT t.refusal(format('SELECT * FROM wf_transition_many(%L)', jsonb_build_array(pg_temp.under(5, 'one', NULL))));
SELECT t.refusal(format('SELECT * FROM wf_transition_many(%L)', jsonb_build_array(pg_temp.under(5, NULL, 1))));
SELECT t.refusal(format('SELECT * FROM wf_transition_many(%L)', jsonb_build_array(pg_temp.under(5, '', 1))));
SELECT t.refusal(format('SELECT * FROM wf_transition_many(%L)', jsonb_build_array(pg_temp.under(5, 'one', 1, '{"fence": "1"}'))));
-- the same key with another lease is another command
SELECT applied, replayed, code FROM wf_transition_many(jsonb_build_array(pg_temp.under(5, 'two', :two, '{"request_id": "fenced"}'),
    pg_temp.under(5, 'two', :two, '{"request_id": "fenced"}'), pg_temp.under(5, 'one', :one, '{"request_id": "fenced"}')));
SELECT a.business_key, h.revision, h.lease_key, h.fence = :one AS one, h.fence = :two AS two
  FROM workflow.history h JOIN workflow.instances i ON i.id = h.instance_id JOIN workflow.applications a ON a.id = i.application_id
 WHERE a.business_key LIKE 'fenced-%' AND h.revision > 1 ORDER BY 1, 2;
SELECT * FROM wf_verify();
