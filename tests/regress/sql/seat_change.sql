-- A seat more or less for the present round is an administrative step: it outdates the page, and is done
-- by who may, about what they saw.
SELECT t.panel('change', '{"seats": [{"name": "a", "roles": ["r"]}, {"name": "b", "roles": ["r"]}]}');
SELECT t.open_panel('change', 'change');
SELECT t.i('change') AS i \gset
SELECT t.vote('change', 'a', 'APPROVE', 'ann', '{r}');
SELECT t.see(o) FROM wf_seat_add(:'i', '{"name": "v", "roles": ["boss"], "veto": true}', 1, actor => 'otto') o;
SELECT * FROM t.seats('change');
SELECT r, step, from_state, to_state, event, decision, round, actor FROM t.history('change');
SELECT x.type, x.revision FROM workflow.outbox x WHERE x.aggregateid = :'i'::text ORDER BY 2;
-- the page of before is stale
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'bob', roles => '{r}')$$, t.task('change', 'b')));
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "w", "roles": []}', 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'b', 1)$$, :'i'));
-- votes so far count on
SELECT t.vote('change', 'b', 'APPROVE', 'bob', '{r}');
SELECT t.vote('change', 'v', 'APPROVE', 'ben', '{r}');
SELECT t.vote('change', 'v', 'APPROVE', 'vic', '{boss}');

-- a seat less: CANCELLED with the reason; who comes too late is told
SELECT t.open_panel('change', 'less');
SELECT o.revision FROM wf_seat_add(t.i('less'), '{"name": "c", "roles": []}', 1, actor => 'otto') o;
SELECT t.see(o) FROM wf_seat_remove(t.i('less'), 'b', 2, actor => 'otto') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 2, 1, actor => 'bob', roles => '{r}')$$, t.task('less', 'b')));
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'bob', roles => '{r}')$$, t.task('less', 'b')));
SELECT seat, status, closed, reason FROM t.seats('less');
SELECT t.vote('less', 'a', 'APPROVE', 'ann', '{r}');
SELECT t.vote('less', 'c', 'APPROVE', 'cay');
SELECT r, step, event, actor FROM t.history('less');
SELECT kind, r, work, actor FROM t.timeline('less');

-- a removal that decides: the seat goes in one step, the matter in the next
SELECT t.panel('three', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": []}]}');
SELECT t.open_panel('three', 'three');
SELECT t.vote('three', 'a', 'APPROVE', 'ann'), t.vote('three', 'c', 'APPROVE', 'cay');
SELECT t.see(o) FROM wf_seat_remove(t.i('three'), 'b', 1, actor => 'otto') o;
SELECT r, step, from_state, to_state, event, decision, round, actor FROM t.history('three');
SELECT seat, status, closed, by, reason FROM t.seats('three');
SELECT * FROM t.count('three');
-- an open veto that held an approval up; what else is open is SUPERSEDED
SELECT t.panel('held', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "v", "roles": [], "veto": true}], "rule": "any"}');
SELECT t.open_panel('held', 'held');
SELECT t.vote('held', 'a', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_seat_remove(t.i('held'), 'v', 1, actor => 'otto') o;
SELECT seat, status, by, reason FROM t.seats('held');
-- one that makes rejection certain
SELECT t.panel('majority', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}, {"name": "c", "roles": []}], "rule": {"approve": 2}}');
SELECT t.open_panel('majority', 'majority');
SELECT t.vote('majority', 'a', 'REJECT', 'ann');
SELECT t.see(o) FROM wf_seat_remove(t.i('majority'), 'b', 1, actor => 'otto') o;
SELECT seat, status, by, reason FROM t.seats('majority');

-- what cannot be
SELECT t.open_panel('majority', 'cannot');
SELECT t.i('cannot') AS i \gset
SELECT t.vote('cannot', 'a', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_seat_remove(:'i', 'b', 1) o;
SELECT t.world() AS before \gset
-- the rest could not meet the rule; a seat that has voted; none of that name
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'c', 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'a', 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'b', 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'nobody', 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, '', 2)$$, :'i'));
-- a name that is taken
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "a", "roles": []}', 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "c", "roles": []}', 2)$$, :'i'));
-- no seat at all
SELECT x, t.refusal(format($$SELECT wf_seat_add(%L, %L, 2)$$, :'i', x)) FROM unnest(ARRAY['{}', '[]', 'null', '"s"', '7', '{"roles": ["r"]}', '{"name": "", "roles": ["r"]}', '{"name": 7, "roles": ["r"]}',
    '{"name": "s", "roles": "r"}', '{"name": "s", "roles": [7]}', '{"name": "s", "roles": [""]}', '{"name": "s", "roles": [null]}', '{"name": "s", "roles": ["r"], "veto": "yes"}', '{"name": "s", "roles": ["r"], "vote": 2}',
    '{"name": "s", "roles": ["r"], "veto": null}']) x;
SELECT left(t.refusal(format($$SELECT wf_seat_add(%L, %L, 2)$$, :'i', jsonb_build_object('name', repeat('x', 100000)))), 5) AS code;
SELECT x, t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "s", "roles": []}', %s)$$, :'i', x)) AS add, t.refusal(format($$SELECT wf_seat_remove(%L, 'c', %s)$$, :'i', x)) AS remove FROM unnest('{0,-1,3,9223372036854775807}'::text[]) x;
SELECT t.world() = :'before' AS nothing_happened;
-- a name that is free again; without roles it is anybody's
SELECT t.see(o) FROM wf_seat_add(:'i', '{"name": "b"}', 2) o;
SELECT t.vote('cannot', 'b', 'APPROVE', 'bob');
-- where nobody is asked, and where all is over
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "s", "roles": []}', 4)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'c', 4)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "s", "roles": []}', 3)$$, :'i'));
SELECT t.open_panel('majority', 'nobody');
SELECT t.vote('nobody', 'a', 'RETURN', 'ann');
SELECT t.refusal(format($$SELECT wf_seat_add(%L, '{"name": "s", "roles": []}', 2)$$, t.i('nobody')));
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'a', 2)$$, t.i('nobody')));
-- the last seat of all stays
SELECT t.panel('last', '{"seats": [{"name": "a", "roles": []}], "rule": "any"}');
SELECT t.open_panel('last', 'last');
SELECT t.refusal(format($$SELECT wf_seat_remove(%L, 'a', 1)$$, t.i('last')));
-- a seat that a person holds, and one of the next round: the definition's own again
SELECT o.revision FROM wf_seat_add(t.i('last'), '{"name": "b", "roles": []}', 1) o;
SELECT o.applied FROM wf_task_claim(t.task('last', 'a'), actor => 'ann') o;
SELECT t.see(o) FROM wf_seat_remove(t.i('last'), 'a', 2) o;
SELECT t.see(o) FROM wf_send(t.i('last'), 'NOTE') o;
SELECT seat, round, status, holder, reason FROM t.seats('last');
SELECT * FROM wf_verify();
