-- D8: a machine of ten thousand states is a machine; one that is nested a thousand deep, or far too large,
-- is refused with words and not with a crash.
-- (rolled back at the end: the other files need not carry it along)
BEGIN;
SELECT jsonb_build_object('id', 'big', 'initial', 's1', 'states', jsonb_object_agg('s' || n, CASE WHEN n = 10000 THEN '{"type": "final"}'::jsonb
       ELSE jsonb_build_object('on', jsonb_build_object('NEXT', 's' || n + 1)) END)) AS spec FROM generate_series(1, 10000) n \gset
CREATE TEMP TABLE big AS SELECT :'spec'::jsonb AS spec;
SELECT count(*) FROM big CROSS JOIN LATERAL wf_validate(spec) v;
SELECT d.definition, d.version FROM big CROSS JOIN LATERAL wf_define(spec) d;
SELECT t.see(o) FROM wf_start('big', 'big', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('big'), 'NEXT') o;
SELECT t.see(o) FROM wf_transition(t.i('big'), 's2', 's3', 2, 1) o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 's9998', 's9999', 3, 1)$$, t.i('big')));
SELECT t.refusal(format($$SELECT wf_transition(%L, 's3', 's9999', 3, 1)$$, t.i('big')));
SELECT jsonb_array_length(g.actions) AS actions FROM wf_get(t.i('big')) g;
SELECT wf_export('big') = spec AS same FROM big;
-- every always edge of a chain of a thousand in one call
SELECT t.refusal(format('SELECT wf_define(%L)', jsonb_build_object('id', 'chain', 'initial', 's0', 'states',
       jsonb_build_object('s0', '{"on": {"GO": "s1"}}'::jsonb) || jsonb_object_agg('s' || n, CASE WHEN n = 1000 THEN '{"type": "final"}'::jsonb
       ELSE jsonb_build_object('always', 's' || n + 1) END)))) FROM generate_series(1, 1000) n;
SELECT t.see(o) FROM wf_start('chain', 'chain', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('chain'), 'GO') o;
SELECT * FROM t.count('chain');
-- deep and wide
SELECT left(t.refusal(format('SELECT wf_define(%L)', jsonb_build_object('id', 'deep', 'initial', 'A', 'states', (repeat('{"A": {"states": ', 1000) || '{}' || repeat('}}', 1000))::jsonb))), 5) AS deep;
SELECT DISTINCT v.severity FROM wf_validate(jsonb_build_object('id', 'deep', 'initial', 'A', 'states', (repeat('{"A": {"states": ', 1000) || '{}' || repeat('}}', 1000))::jsonb)) v;
SELECT left(t.refusal(format('SELECT wf_define(%L)', jsonb_build_object('id', 'wide', 'initial', 's1', 'states',
       (SELECT jsonb_object_agg('s' || n, '{"type": "final"}'::jsonb) FROM generate_series(1, 50000) n)))), 5) AS wide;
SELECT count(*) FROM workflow.definitions d WHERE d.name IN ('deep', 'wide');
SELECT count(*) FROM wf_verify(t.i('big'));
SELECT count(*) FROM wf_verify(t.i('chain'));
ROLLBACK;
SELECT * FROM wf_verify();
