-- Reject rules: "first" is the first against, a number is so many against, unsaid is when approval has
-- become impossible.
CREATE TEMP TABLE seats AS SELECT '[{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": []}, {"name": "d", "roles": []}]'::jsonb AS seats;
SELECT t.panel('first', jsonb_build_object('seats', seats, 'rule', '{"approve": 2}'::jsonb, 'reject', 'first')) FROM seats;
SELECT t.open_panel('first', 'first');
SELECT t.vote('first', 'a', 'APPROVE', 'ann');
SELECT t.vote('first', 'b', 'REJECT', 'bob');
SELECT * FROM t.seats('first');
SELECT t.panel('second', jsonb_build_object('seats', seats, 'rule', '{"approve": 2}'::jsonb, 'reject', 2)) FROM seats;
-- two of four for either side: who gets there first
SELECT t.open_panel('second', 'second-no');
SELECT t.vote('second-no', 'a', 'APPROVE', 'ann');
SELECT t.vote('second-no', 'b', 'REJECT', 'bob');
SELECT t.vote('second-no', 'c', 'REJECT', 'cay');
SELECT t.open_panel('second', 'second-yes');
SELECT t.vote('second-yes', 'b', 'REJECT', 'bob');
SELECT t.vote('second-yes', 'a', 'APPROVE', 'ann');
SELECT t.vote('second-yes', 'c', 'APPROVE', 'cay');
-- unsaid: three of four can no longer be had after two against
SELECT t.panel('unsaid-no', jsonb_build_object('seats', seats, 'rule', '{"approve": 3}'::jsonb)) FROM seats;
SELECT t.open_panel('unsaid-no', 'unsaid-no');
SELECT t.vote('unsaid-no', 'a', 'REJECT', 'ann');
SELECT t.vote('unsaid-no', 'b', 'APPROVE', 'bob');
SELECT t.vote('unsaid-no', 'c', 'REJECT', 'cay');
SELECT * FROM t.history('unsaid-no');
SELECT * FROM wf_verify();
