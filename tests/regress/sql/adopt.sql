-- Business objects that have come some way without the engine: taken in where they stand, tried in bulk before.
CREATE TABLE t.legacy (n int, key text, status text, body jsonb, version int);
INSERT INTO t.legacy VALUES (1, 'adopt-1', 'SUBMITTED', '{"n": 1}', 1), (2, 'adopt-2', 'APPROVED', '{"n": 2}', 4), (3, 'adopt-3', 'SIGNED', '{"n": 3}', 1), (4, 'adopt-4', 'LOST', '{"n": 4}', 1),
    (5, 'adopt-5', 'REWORK', '{"n": 5}', 1), (6, 'adopt-6', 'REWORK', '{"n": 6}', 2);
SELECT t.see(o) FROM wf_start('review', 'adopt-5', '{"n": 5}') o;
SELECT t.see(o) FROM wf_start('lamp', 'adopt-6', '{"n": 6}') o;
SELECT t.world() AS before \gset
SELECT l.n, t.see(o) FROM t.legacy l CROSS JOIN LATERAL wf_adopt('review', l.key, l.status, l.body, l.version, dry_run => true) o ORDER BY 1;
SELECT t.world() = :'before' AS nothing_happened, (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS locks;
SELECT l.n, t.see(o) FROM t.legacy l CROSS JOIN LATERAL wf_adopt('review', l.key, l.status, l.body, l.version, on_refusal => 'return', actor => 'op') o ORDER BY 1;
SELECT a.business_key, i.state, i.closed, i.material_version, a.material_version AS m, (SELECT string_agg(m.version || ' ' || m.content, ', ') FROM workflow.materials m WHERE m.application_id = a.id) AS materials
  FROM workflow.applications a JOIN workflow.instances i ON i.application_id = a.id WHERE a.business_key LIKE 'adopt-%' AND i.definition = 'review' ORDER BY 1;
SELECT * FROM t.history('adopt-2');
SELECT * FROM t.tasks('adopt-1');
SELECT count(*) FROM t.tasks('adopt-2');
SELECT type, payload ->> 'to_state' AS to_state FROM workflow.outbox WHERE aggregateid = t.i('adopt-2')::text;
-- from there on like any other
SELECT t.see(o) FROM wf_send(t.i('adopt-2'), 'SIGN') o;
SELECT t.see(o) FROM wf_transition(t.i('adopt-1'), 'SUBMITTED', 'REJECTED', 1, 1) o;
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 1, '{}')$$, t.a('adopt-2'))), t.refusal($$SELECT wf_start('review', 'adopt-2', '{"n": 3}')$$);
SELECT t.see(o) FROM wf_start('review', 'adopt-2') o;
-- beside a run of another definition, with its material and its version
SELECT t.see(o) FROM wf_adopt('review', 'adopt-6', 'REWORK') o;
SELECT t.refusal($$SELECT wf_adopt('review', 'adopt-1', 'REWORK', '{"other": 1}')$$), t.refusal($$SELECT wf_adopt('review', 'adopt-none', 'REWORK')$$), t.refusal($$SELECT wf_adopt('none', 'adopt-none', 'REWORK')$$);
SELECT t.refusal($$SELECT wf_adopt('review', 'adopt-none', 'REWORK', '{}', 0)$$), t.refusal($$SELECT wf_adopt('review', '', 'REWORK', '{}')$$), t.refusal($$SELECT wf_adopt('review', 'adopt-none', 'LOST', '{}')$$);
DROP TABLE t.legacy;
SELECT * FROM wf_verify();
