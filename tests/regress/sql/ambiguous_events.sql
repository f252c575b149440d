-- Where several events lead from one state to another, a transition has to name the event: guessing
-- would book one thing as another (22023). Branches of one event are no ambiguity.
SELECT * FROM wf_define('{"id": "ambiguous", "initial": "A", "states": {
    "A": {"on": {"MAIL": "B", "FAX": "B", "CALL": [{"target": "C", "guard": "$.material.n > 1"}, {"target": "C"}]}},
    "B": {"on": {"BACK": "A"}}, "C": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('ambiguous', 'ambiguous', '{"n": 1}') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'A', 'B', 1, 1)$$, t.i('ambiguous'))) LIKE '22023 |%' AS refused;
SELECT t.refusal(format($$SELECT wf_try_transition(%L, 'A', 'B', 1, 1)$$, t.i('ambiguous'))) LIKE '22023 |%' AS refused;
SELECT t.refusal(format($$SELECT wf_check(%L, 'A', 'B', 1, 1)$$, t.i('ambiguous'))) LIKE '22023 |%' AS refused;
-- whether it is current does not matter
SELECT t.refusal(format($$SELECT wf_transition(%L, 'A', 'B', 7, 7)$$, t.i('ambiguous'))) LIKE '22023 |%' AS refused;
SELECT t.see(o) FROM wf_transition(t.i('ambiguous'), 'A', 'B', 1, 1, 'FAX') o;
SELECT t.see(o) FROM wf_transition(t.i('ambiguous'), 'B', 'A', 2, 1) o;
SELECT t.see(o) FROM wf_transition(t.i('ambiguous'), 'A', 'C', 3, 1) o;
SELECT * FROM t.history('ambiguous');
SELECT * FROM wf_verify();
