-- A seat with a veto that rejects decides at once, and approval waits until it has spoken.
SELECT t.panel('veto', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "v", "roles": [], "veto": true}], "rule": "any"}');
SELECT t.open_panel('veto', 'veto');
SELECT t.vote('veto', 'a', 'APPROVE', 'ann');
SELECT t.vote('veto', 'v', 'REJECT', 'vic');
SELECT * FROM t.seats('veto');
-- first of all
SELECT t.open_panel('veto', 'veto-1');
SELECT t.vote('veto-1', 'v', 'REJECT', 'vic');
-- the veto seat's approval counts like any other
SELECT t.open_panel('veto', 'veto-yes');
SELECT t.vote('veto-yes', 'v', 'APPROVE', 'vic');
-- enough in favour, but the veto is open; what is against besides does not matter
SELECT t.open_panel('veto', 'veto-wait');
SELECT t.vote('veto-wait', 'a', 'APPROVE', 'ann');
SELECT t.vote('veto-wait', 'b', 'REJECT', 'bob');
SELECT t.vote('veto-wait', 'v', 'APPROVE', 'vic');
SELECT * FROM t.seats('veto-wait');
-- two vetoes; the page is told which seats have one
SELECT t.panel('vetoes', '{"seats": [{"name": "a", "roles": []}, {"name": "v", "roles": [], "veto": true}, {"name": "w", "roles": [], "veto": true}], "rule": {"approve": 1}}');
SELECT t.open_panel('vetoes', 'vetoes');
SELECT k ->> 'seat' AS seat, k -> 'veto' AS veto FROM wf_get(t.i('vetoes')) g CROSS JOIN jsonb_array_elements(g.open_tasks) k;
SELECT t.vote('vetoes', 'a', 'APPROVE', 'ann');
SELECT t.vote('vetoes', 'w', 'APPROVE', 'wim');
SELECT t.vote('vetoes', 'v', 'APPROVE', 'vic');
SELECT * FROM wf_verify();
