-- Where several seats speak nobody decides past them: WF015, by whichever function, and nothing happens.
-- What is no verdict is not theirs to give.
SELECT t.panel('direct', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT t.open_panel('direct', 'seats-direct');
SELECT t.i('seats-direct') AS i \gset
SELECT t.world() AS before \gset
SELECT x, t.refusal('SELECT ' || format(x, :'i')) FROM unnest(ARRAY[$$wf_transition(%L, 'VOTE', 'APPROVED', 1, 1)$$, $$wf_transition(%L, 'VOTE', 'REJECTED', 1, 1)$$, $$wf_transition(%L, 'VOTE', 'REWORK', 1, 1)$$,
    $$wf_send(%L, 'APPROVE', expected_revision => 1, material_version => 1)$$, $$wf_send(%L, 'RETURN', expected_revision => 1, material_version => 1)$$,
    $$wf_send(%L, 'APPROVE', expected_revision => 1, material_version => 1, lock_mode => 'pessimistic')$$]) x;
SELECT t.see(o) FROM wf_check(:'i', 'VOTE', 'APPROVED', 1, 1) o;
SELECT a ->> 'event' AS event, a ->> 'allowed' AS allowed, a ->> 'blocker' AS blocker FROM wf_get(:'i') g CROSS JOIN jsonb_array_elements(g.actions) a;
-- stale is said first
SELECT left(t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'APPROVED', 2, 1)$$, :'i')), 5);
SELECT t.world() = :'before' AS nothing_happened;
-- also for the last seat that is open
SELECT t.vote('seats-direct', 'a', 'APPROVE', 'ann');
SELECT t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'APPROVED', 1, 1, actor => 'bob')$$, :'i'));
SELECT t.see(o) FROM wf_send(:'i', 'NOTE') o;
SELECT * FROM t.seats('seats-direct');
-- a seat more makes several of one, a seat less one of several
SELECT t.panel('direct-1', '{"seats": [{"name": "a", "roles": []}]}');
SELECT t.open_panel('direct-1', 'direct-1');
SELECT t.see(o) FROM wf_seat_add(t.i('direct-1'), '{"name": "b", "roles": []}', 1) o;
SELECT left(t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'APPROVED', 2, 1)$$, t.i('direct-1'))), 5);
SELECT t.see(o) FROM wf_seat_remove(t.i('direct-1'), 'a', 2) o;
SELECT t.see(o) FROM wf_transition(t.i('direct-1'), 'VOTE', 'APPROVED', 3, 1) o;
SELECT * FROM t.seats('direct-1');
-- one seat: the holder alone, and wf_decide and wf_transition are the same
SELECT t.open_panel('direct-1', 'direct-2');
SELECT o.applied FROM wf_task_claim(t.task('direct-2', 'a'), actor => 'ann') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'VOTE', 'APPROVED', 1, 1, actor => 'bob')$$, t.i('direct-2')));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE', expected_revision => 1, material_version => 1, actor => 'bob')$$, t.i('direct-2')));
SELECT t.see(o) FROM wf_transition(t.i('direct-2'), 'VOTE', 'APPROVED', 1, 1, actor => 'ann') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann')$$, t.task('direct-2', 'a')));
-- an event of another state, and of none
SELECT t.open_panel('direct', 'direct-3');
SELECT t.refusal(format($$SELECT wf_decide(%L, 'RESUBMIT', 1, 1)$$, t.task('direct-3', 'a')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'NOTHING', 1, 1)$$, t.task('direct-3', 'a')));
SELECT t.refusal(format($$SELECT wf_decide(%L, '', 1, 1)$$, t.task('direct-3', 'a')));
SELECT * FROM wf_verify();
