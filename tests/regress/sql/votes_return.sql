-- Whoever sends the matter back moves it at once, whatever the rule and the votes so far: back to the
-- state before, to the first, or wherever the definition leads. So does an event that is no verdict.
SELECT t.panel('return', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": [], "veto": true}], "rule": "all"}');
SELECT t.open_panel('return', 'sent-back');
SELECT t.vote('sent-back', 'a', 'APPROVE', 'ann');
SELECT t.vote('sent-back', 'b', 'RETURN', 'bob');
SELECT * FROM t.seats('sent-back');
SELECT r, step, from_state, to_state, event, decision, round, actor FROM t.history('sent-back');
-- no verdict: a step like any other, by the seat that took it; a new round begins
SELECT t.open_panel('return', 'note');
SELECT t.vote('note', 'a', 'APPROVE', 'ann');
SELECT t.vote('note', 'b', 'NOTE', 'bob');
SELECT * FROM t.seats('note');
-- to any earlier state that the definition allows, a new round in each
SELECT * FROM wf_define('{"id": "stations", "initial": "DRAFT", "states": {
    "DRAFT": {"meta": {"on_supersede": "stay"}, "on": {"SUBMIT": "CHECK"}},
    "CHECK": {"meta": {"on_supersede": "stay", "task": {"seats": [{"name": "c1", "roles": []}, {"name": "c2", "roles": []}]}},
        "on": {"OK": {"target": "BOARD", "meta": {"decision": "approve"}}, "NO": {"target": "OUT", "meta": {"decision": "reject"}}, "BACK": {"target": "DRAFT", "meta": {"decision": "return"}}}},
    "BOARD": {"meta": {"on_supersede": "CHECK", "task": {"seats": [{"name": "b1", "roles": []}, {"name": "b2", "roles": []}]}},
        "on": {"OK": {"target": "DONE", "meta": {"decision": "approve"}}, "NO": {"target": "OUT", "meta": {"decision": "reject"}},
               "BACK": {"target": "CHECK", "meta": {"decision": "return"}}, "TO_START": {"target": "DRAFT", "meta": {"decision": "return"}}}},
    "DONE": {"type": "final"}, "OUT": {"type": "final"}}}');
SELECT t.open_panel('stations', 'stations');
SELECT t.see(o) FROM wf_send(t.i('stations'), 'SUBMIT', actor => 'sue') o;
SELECT t.vote('stations', 'c1', 'OK', 'ann'), t.vote('stations', 'c2', 'OK', 'bob');
SELECT t.vote('stations', 'b1', 'OK', 'cay'), t.vote('stations', 'b2', 'BACK', 'dan');
SELECT t.vote('stations', 'c1', 'OK', 'ann'), t.vote('stations', 'c2', 'OK', 'bob');
SELECT t.vote('stations', 'b2', 'TO_START', 'dan');
SELECT r, from_state, to_state, event, decision, round, actor FROM t.history('stations');
SELECT seat, round, status, favour, by FROM t.seats('stations');
SELECT * FROM wf_verify();
