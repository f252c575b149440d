-- W2: one person has one vote in a round, from how many tabs and for how many seats they may try; the
-- count stays as it was. A definition may say otherwise.
SELECT t.panel('person', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"]}, {"name": "tec", "roles": ["tec"]}], "rule": "all"}');
SELECT t.open_panel('person', 'person');
SELECT t.vote('person', 'fin', 'APPROVE', 'ann', '{fin,law}');
SELECT t.world() AS before \gset
-- the second tab, with the same and with the other answer
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin,law}')$$, t.task('person', 'fin')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'REJECT', 1, 1, actor => 'ann', roles => '{fin,law}')$$, t.task('person', 'fin')));
-- the second seat
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin,law}')$$, t.task('person', 'law')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'REJECT', 1, 1, actor => 'ann', roles => '{fin,law}')$$, t.task('person', 'law')));
-- another person of the first seat
SELECT t.refusal(format($$SELECT wf_decide(%L, 'REJECT', 1, 1, actor => 'bob', roles => '{fin}')$$, t.task('person', 'fin')));
SELECT t.world() = :'before' AS nothing_happened;
SELECT t.vote('person', 'law', 'APPROVE', 'bob', '{law}');
SELECT t.vote('person', 'tec', 'APPROVE', 'ann', '{tec}');
SELECT t.vote('person', 'tec', 'APPROVE', 'cay', '{tec}');
SELECT seat, status, favour, by FROM t.seats('person');

-- names differ by their bytes
SELECT t.open_panel('person', 'person-bytes');
SELECT t.vote('person-bytes', 'fin', 'APPROVE', 'ann', '{fin}'), t.vote('person-bytes', 'law', 'APPROVE', 'Ann', '{law}');

-- each seat has its own vote, whoever takes it; a seat still has only one
SELECT t.panel('persons', '{"seats": [{"name": "fin", "roles": []}, {"name": "law", "roles": []}, {"name": "tec", "roles": []}], "rule": "all", "one_vote_each": false}');
SELECT t.open_panel('persons', 'persons');
SELECT t.vote('persons', 'fin', 'APPROVE', 'ann');
SELECT t.vote('persons', 'fin', 'APPROVE', 'ann');
SELECT t.vote('persons', 'fin', 'APPROVE', 'bob');
SELECT t.vote('persons', 'law', 'APPROVE', 'ann');
SELECT t.vote('persons', 'tec', 'APPROVE', 'ann');
SELECT seat, status, favour, by FROM t.seats('persons');
SELECT * FROM wf_verify();
