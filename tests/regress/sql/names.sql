-- Names are compared byte by byte and kept as given: quotes, other scripts and look-alikes are names
-- of their own; empty names, names over 200 bytes and control characters are 22023.
CREATE TEMP TABLE given (key text);
INSERT INTO given VALUES ($$O'Brien "x" \ ; DROP TABLE -- $1$$), ('дело № 7 — 申請 🗂'), ('NAMES'), ('names'),
    ('NАMES'), -- with a Cyrillic А
    (' NAMES'), ('NAMES '), (U&'NAM\00C9S'),
    (U&'NAME\0301S'); -- the same to the eye, composed otherwise
SELECT count(*), count(DISTINCT o.instance_id) AS instances, count(DISTINCT o.application_id) AS applications
  FROM given CROSS JOIN LATERAL wf_start('lamp', key, '{}') o;
SELECT count(*), bool_and(g.business_key = key AND g.instance_id = t.i(key)) AS found
  FROM given CROSS JOIN LATERAL wf_get(definition => 'lamp', business_key => key) g;
SELECT t.refusal($$SELECT wf_start('lamp', 'names')$$);

-- a state that only looks like one is none
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OFF', 'ОN', 1, 1)$$, t.i('names'))); -- Cyrillic О
SELECT t.refusal(format($$SELECT wf_transition(%L, 'off', 'ON', 1, 1)$$, t.i('names')));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'OFF', 'ON', 1, 1, event => 'PRESS ')$$, t.i('names')));
SELECT t.refusal(format($$SELECT wf_send(%L, 'press')$$, t.i('names')));
SELECT t.refusal(format($$SELECT wf_send(%L, 'РRESS')$$, t.i('names'))); -- Cyrillic Р
SELECT t.refusal($$SELECT wf_start('Lamp', 'names-2', '{}')$$);

-- the shortest and the longest, in bytes and not in characters
SELECT t.see(o) FROM wf_start('lamp', 'n', '{}') o;
SELECT t.see(o) FROM wf_start('lamp', repeat('n', 200), '{}') o;
SELECT t.see(o) FROM wf_start('lamp', repeat('я', 100), '{}') o;
SELECT t.refusal($$SELECT wf_start('lamp', repeat('n', 201), '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', repeat('я', 101), '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', repeat('n', 1000000), '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', '', '{}')$$);
SELECT t.refusal($$SELECT wf_start('', 'names-2', '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', E'a\nb', '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', E'a\x01b', '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', E'a\x7fb', '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', U&'a\0085b', '{}')$$);
SELECT t.refusal($$SELECT wf_start(E'la\tmp', 'names-2', '{}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', tenant => '')$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', actor => '')$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', actor => E'a\rb')$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', actor => repeat('a', 201))$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', tenant => repeat('a', 201))$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', roles => '{a,""}')$$);
SELECT t.refusal($$SELECT wf_start('lamp', 'names-2', '{}', roles => '{a,NULL}')$$);
SELECT t.refusal($$SELECT wf_get(definition => 'lamp', business_key => '')$$);
SELECT t.a('names-2') IS NULL AS nothing_happened;
SELECT * FROM wf_verify();
