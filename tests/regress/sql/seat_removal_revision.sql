-- A removal that decides is two steps; each task names the one that closed it.
SELECT t.panel('removal', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "v", "roles": [], "veto": true}], "rule": "any"}');
SELECT t.open_panel('removal', 'removal');
SELECT t.vote('removal', 'a', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_seat_remove(t.i('removal'), 'v', 1, actor => 'otto') o;
SELECT r, step, event FROM t.history('removal');
SELECT seat, status, closed, reason FROM t.seats('removal');
SELECT * FROM wf_verify();
