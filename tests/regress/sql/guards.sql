-- Guards are strict: true takes the branch, false tries the next one, and unknown (a missing key, a
-- wrong type, no boolean) refuses with the path, for a threshold must not fail open (A16).
SELECT * FROM wf_define('{"id": "guards", "initial": "NEW", "states": {
    "NEW": {"on": {"PAY": {"target": "PAID", "guard": "$.material.amount > 10000"},
                   "SORT": [{"target": "BIG", "guard": "$.material.amount >= 1000"},
                            {"target": "MIDDLE", "guard": "$.material.amount >= 100"},
                            {"target": "SMALL"}]}},
    "PAID": {"type": "final"}, "BIG": {"type": "final"}, "MIDDLE": {"type": "final"}, "SMALL": {"type": "final"}}}');
CREATE TEMP TABLE given (key text, material jsonb);
INSERT INTO given VALUES ('guards-text', '{"amount": "20000"}'), ('guards-none', '{}'), ('guards-null', '{"amount": null}'),
    ('guards-list', '{"amount": [20000]}'), ('guards-object', '{"amount": {"n": 1}}'), ('guards-scalar', '5'),
    ('guards-json-null', 'null'), ('guards-small', '{"amount": 9}'), ('guards-equal', '{"amount": 10000}'),
    ('guards-middle', '{"amount": 100}'), ('guards-big', '{"amount": 10000.01}'), ('guards-huge', '{"amount": 1e1000}');
SELECT count(*) FROM given CROSS JOIN LATERAL wf_start('guards', key, material) o;
SELECT key, t.refusal(format($$SELECT wf_transition(%L, 'NEW', 'PAID', 1, 1)$$, t.i(key))) FROM given ORDER BY 1;
SELECT key, i.state, i.revision FROM given JOIN workflow.instances i ON i.id = t.i(key) ORDER BY 1;
-- branches in order; unknown does not fall through to the last one
TRUNCATE given;
INSERT INTO given VALUES ('branch-big', '{"amount": 5000}'), ('branch-middle', '{"amount": 500}'), ('branch-small', '{"amount": 5}'),
    ('branch-none', '{}'), ('branch-text', '{"amount": "5000"}');
SELECT count(*) FROM given CROSS JOIN LATERAL wf_start('guards', key, material) o;
SELECT key, g.actions FROM given CROSS JOIN LATERAL wf_get(t.i(key)) g ORDER BY 1;
SELECT key, t.see(o), o.detail ->> 'path' AS path, o.detail ->> 'verdict' AS verdict
  FROM given CROSS JOIN LATERAL wf_send(t.i(key), 'SORT', on_refusal => 'return') o ORDER BY 1;
-- a target that the guards do not lead to is not taken, although the event is right
SELECT t.see(o) FROM wf_start('guards', 'guards-else', '{"amount": 5000}') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'NEW', 'SMALL', 1, 1)$$, t.i('guards-else')));
SELECT t.see(o) FROM wf_transition(t.i('guards-else'), 'NEW', 'BIG', 1, 1) o;

-- what a guard can see: material, payload, instance
SELECT * FROM wf_define('{"id": "guards-see", "initial": "A", "states": {
    "A": {"on": {"BY_PAYLOAD": {"target": "B", "guard": "$.payload.ok == true"},
                 "BY_STATE": {"target": "B", "guard": "$.instance.state == \"A\" && $.instance.material_version == 1"},
                 "BY_REVISION": {"target": "B", "guard": "$.instance.revision >= 5"},
                 "BY_BOTH": {"target": "B", "guard": "$.payload.sum <= $.material.limit"},
                 "BY_EXISTS": {"target": "B", "guard": "exists($.payload.x)"},
                 "BY_LIST": {"target": "B", "guard": "exists($.material.tags[*] ? (@ == \"b\"))"},
                 "NO_BOOLEAN": {"target": "B", "guard": "$.material.limit"},
                 "BY_STRICT": {"target": "B", "guard": "strict $.material.none == 1"},
                 "DIVIDE": {"target": "B", "guard": "(1 / $.material.zero) > 0"}}},
    "B": {"on": {"BACK": "A"}}}}');
SELECT t.see(o) FROM wf_start('guards-see', 'guards-see', '{"limit": 10, "tags": ["a", "b"], "zero": 0}') o;
CREATE FUNCTION pg_temp.try(event text, payload jsonb DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    SELECT concat(o.code, o.state, ' ' || (o.detail ->> 'verdict'), ' ' || (o.detail ->> 'path')) INTO answer
      FROM wf_send(t.i('guards-see'), event, payload, on_refusal => 'return') o;
    IF answer = 'B' THEN
        PERFORM wf_send(t.i('guards-see'), 'BACK');
    END IF;
    RETURN answer;
END
$$;
SELECT pg_temp.try('BY_PAYLOAD');
SELECT pg_temp.try('BY_PAYLOAD', '{}');
SELECT pg_temp.try('BY_PAYLOAD', '{"ok": "true"}');
SELECT pg_temp.try('BY_PAYLOAD', '{"ok": false}');
SELECT pg_temp.try('BY_PAYLOAD', '[]');
SELECT pg_temp.try('BY_PAYLOAD', '{"ok": true}');
SELECT pg_temp.try('BY_REVISION');
SELECT pg_temp.try('BY_STATE');
SELECT pg_temp.try('BY_REVISION');
SELECT pg_temp.try('BY_BOTH', '{"sum": 11}');
SELECT pg_temp.try('BY_BOTH', '{"sum": "9"}');
SELECT pg_temp.try('BY_BOTH', '{"sum": 9}');
SELECT pg_temp.try('BY_EXISTS', '{}');
SELECT pg_temp.try('BY_LIST');
SELECT pg_temp.try('NO_BOOLEAN');
SELECT pg_temp.try('BY_STRICT');
SELECT pg_temp.try('DIVIDE');
SELECT t.refusal(format($$SELECT wf_send(%L, 'DIVIDE')$$, t.i('guards-see')));
SELECT * FROM wf_verify();
