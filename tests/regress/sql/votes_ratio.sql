-- A share of the seats, taken by its decimal digits: 0.6 of five is three, not four.
SELECT t.panel('ratio', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": []}, {"name": "d", "roles": []}, {"name": "e", "roles": []}], "rule": {"approve_ratio": 0.6}}');
SELECT t.open_panel('ratio', 'ratio');
SELECT t.vote('ratio', 'a', 'APPROVE', 'ann');
SELECT t.vote('ratio', 'b', 'REJECT', 'bob');
SELECT t.vote('ratio', 'c', 'APPROVE', 'cay');
SELECT t.vote('ratio', 'd', 'REJECT', 'dan');
SELECT t.vote('ratio', 'e', 'APPROVE', 'eve');
-- certain with three, and no longer possible with three against
SELECT t.open_panel('ratio', 'ratio-3');
SELECT t.vote('ratio-3', 'a', 'APPROVE', 'ann'), t.vote('ratio-3', 'b', 'APPROVE', 'bob'), t.vote('ratio-3', 'c', 'APPROVE', 'cay');
SELECT t.open_panel('ratio', 'ratio-no');
SELECT t.vote('ratio-no', 'a', 'REJECT', 'ann'), t.vote('ratio-no', 'b', 'REJECT', 'bob'), t.vote('ratio-no', 'c', 'REJECT', 'cay');
SELECT * FROM t.seats('ratio-no');
-- rounded up: of three seats a third is one, a little more is two, 1 is everybody
SELECT r, t.panel('ratio-' || r, jsonb_build_object('rule', jsonb_build_object('approve_ratio', r::numeric),
           'seats', '[{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": []}]'::jsonb)),
       t.open_panel('ratio-' || r, 'ratio-' || r) AS opened, t.vote('ratio-' || r, 'a', 'APPROVE', 'ann')
  FROM unnest('{0.000001,0.333333333,0.34,0.66,0.67,1}'::text[]) r;
SELECT * FROM wf_verify();
