-- What may be in a payload, a comment, a material: what jsonb and text take is kept as it is; what they do not
-- take is PostgreSQL's own error, raised before a command begins.
SELECT t.see(o) FROM wf_start('lamp', 'payloads', jsonb_build_object('text', repeat('m', 1000000))) o;
SELECT t.i('payloads') AS i \gset
-- a megabyte
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', jsonb_build_object('text', repeat('p', 1000000)), request_id => 'payloads-mb') o;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', jsonb_build_object('text', repeat('p', 1000000)), request_id => 'payloads-mb') o;
SELECT length(h.payload ->> 'text') AS history, length(o.payload #>> '{payload,text}') AS outbox
  FROM workflow.history h JOIN workflow.outbox o ON o.aggregateid = h.instance_id::text AND o.revision = h.revision
 WHERE h.instance_id = :'i' AND h.revision = 2;
SELECT length(g.material ->> 'text') FROM wf_get(:'i') g;
SELECT t.see(o) FROM wf_transition(:'i', 'ON', 'OFF', 2, 1, comment => repeat('c', 1000000)) o;
SELECT length(h.comment) FROM workflow.history h WHERE h.instance_id = :'i' AND h.revision = 3;
-- many small things
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', (SELECT jsonb_agg(n) FROM generate_series(1, 100000) n)) o;
-- deep: jsonb takes what max_stack_depth lets it; the engine passes on what jsonb took, and does not walk it
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', (repeat('[', 1000) || repeat(']', 1000))::jsonb, request_id => 'payloads-deep') o;
SELECT t.see(o) FROM wf_send(:'i', 'PRESS', (repeat('[', 1000) || repeat(']', 1000))::jsonb, request_id => 'payloads-deep') o;
SELECT t.refusal(format($$SELECT wf_send(%L, 'PRESS', (repeat('[', 10000) || repeat(']', 10000))::jsonb)$$, :'i')) ~ '^(no error|54001 )' AS taken_or_too_deep;
SELECT left(t.refusal(format($$SELECT wf_send(%L, 'PRESS', (repeat('[', 1000000) || repeat(']', 1000000))::jsonb)$$, :'i')), 5) AS too_deep;
-- a deep material that a guard looks at
SELECT * FROM wf_define('{"id": "payloads-guard", "initial": "A", "states": {"A": {"on": {"GO": {"target": "B", "guard": "$.payload.n == 1"}}}, "B": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('payloads-guard', 'payloads-2', (repeat('{"a":', 1000) || '1' || repeat('}', 1000))::jsonb) o;
SELECT t.see(o) FROM wf_send(t.i('payloads-2'), 'GO', '{"n": 1}') o;
SELECT length(g.material::text) > 1000 AS whole FROM wf_get(t.i('payloads-2')) g;
-- what is no jsonb: before the command
SELECT x, left(t.refusal(format($$SELECT wf_send(%L, 'PRESS', %L)$$, :'i', x)), 5) AS code
  FROM unnest(ARRAY[$$"\u0000"$$, $${"a": "x\u0000y"}$$, $$"\ud800"$$, $${"a":}$$, '', 'nonsense', '{"a": 1e1000000}']) x;
-- what is: numbers without end, odd texts, odd tops
CREATE TEMP TABLE given (n serial, payload jsonb);
INSERT INTO given (payload) VALUES ('1e1000'), ('-1e-1000'), ('0.1000'), ('null'), ('true'), ('"text"'), ('[]'), ('{}'), ('{"": ""}'), ('{"a": 1, "a": 2}'),
    ('"\u00e9\ud83d\ude00"'), ('{"é": "’ \\ \" \u0001"}'), ('123456789012345678901234567890.123456789');
DO $$
DECLARE
    x record;
    kept jsonb;
    sent jsonb;
BEGIN
    FOR x IN SELECT * FROM given ORDER BY n LOOP
        PERFORM wf_send(t.i('payloads'), 'PRESS', x.payload, request_id => 'payloads-' || x.n);
        PERFORM wf_send(t.i('payloads'), 'PRESS', x.payload, request_id => 'payloads-' || x.n);
        SELECT h.payload, o.payload -> 'payload' INTO kept, sent
          FROM workflow.history h JOIN workflow.outbox o ON o.aggregateid = h.instance_id::text AND o.revision = h.revision
         WHERE h.instance_id = t.i('payloads') ORDER BY h.revision DESC LIMIT 1;
        RAISE NOTICE '% %', kept = x.payload AND sent = x.payload AND kept::text = x.payload::text, left(kept::text, 40);
    END LOOP;
END
$$;
-- a comment in any words; an empty one is one
SELECT g.state AS here, CASE g.state WHEN 'ON' THEN 'OFF' ELSE 'ON' END AS there, g.revision AS r FROM wf_get(:'i') g \gset
SELECT o.applied FROM wf_transition(:'i', :'here', :'there', :r, 1, comment => E'Zeile 1\nZeile 2\t– “ÄÖÜ” 審査 🗳 \x01 '' ; --') o;
SELECT o.applied FROM wf_transition(:'i', :'there', :'here', :r + 1, 1, comment => '') o;
SELECT h.comment = E'Zeile 1\nZeile 2\t– “ÄÖÜ” 審査 🗳 \x01 '' ; --' AS kept, h.comment = '' AS empty
  FROM workflow.history h WHERE h.instance_id = :'i' AND h.revision > :r ORDER BY h.revision;
-- a material like this is compared as jsonb
SELECT t.see(o) FROM wf_start('lamp', 'payloads-3', '{"n": 1e1000, "a": "é"}') o;
SELECT t.see(o) FROM wf_start('review', 'payloads-3', '{"a": "\u00e9", "n": 1e1000}') o;
SELECT t.refusal($$SELECT wf_start('payloads-guard', 'payloads-3', '{"a": "e\u0301", "n": 1e1000}')$$);
SELECT * FROM wf_verify();
