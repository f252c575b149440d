-- An operator ends an instance where it stands: a marked step, tasks CANCELLED with the reason, and nothing more can happen.
SELECT o.instance_id AS i FROM wf_start('review', 'cancel', '{}') o \gset
SELECT t.see(o) FROM wf_cancel(:'i', 'duplicate of another case', 1, actor => 'op') o;
SELECT * FROM t.history('cancel');
SELECT * FROM t.tasks('cancel');
SELECT k.reason FROM workflow.tasks k WHERE k.instance_id = :'i';
SELECT g.state, jsonb_array_length(g.open_tasks) AS open, g.actions FROM wf_get(:'i') g;
SELECT l.what, l.comment FROM t.timeline('cancel') l;
SELECT o.type, o.payload ->> 'step' AS step FROM workflow.outbox o WHERE o.aggregateid = :'i' ORDER BY o.revision;
-- whoever comes now is told
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 2, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1)$$, t.task('cancel')));
SELECT t.refusal(format($$SELECT wf_cancel(%L, 'again', 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_cancel(%L, 'again', 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_supersede_material(%L, 1, '{"page": 2}')$$, t.a('cancel')));
-- the application is free for another run
SELECT t.see(o) FROM wf_start('review', 'cancel') o;
-- a closed instance, a reason that is none, an instance that is none, a snapshot of the refusal
SELECT t.refusal(format($$SELECT wf_cancel(%L, '', 1)$$, t.i('cancel')));
SELECT t.refusal(format($$SELECT wf_cancel(%L, 'x', 0)$$, t.i('cancel')));
SELECT t.refusal($$SELECT wf_cancel(gen_random_uuid(), 'x', 1)$$);
SELECT t.see(o) FROM wf_cancel(t.i('cancel'), 'too early', 7, on_refusal => 'return') o;
-- votes that were given stay where they are
SELECT t.panel('cancel', '{"seats": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}');
SELECT t.open_panel('cancel', 'cancel-votes');
SELECT t.vote('cancel-votes', 'a', 'APPROVE', 'ann');
SELECT t.see(o) FROM wf_cancel(t.i('cancel-votes'), 'budget is gone', 1) o;
SELECT seat, status, closed, decision, by, reason FROM t.seats('cancel-votes');
-- the state in which it was cancelled is not final, and says so
SELECT i.state, i.closed FROM workflow.instances i WHERE i.id = t.i('cancel-votes');
SELECT * FROM wf_verify();
