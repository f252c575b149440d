-- A transition about something else than what is there is refused with the reason that comes first
-- in the order of checks, says what is there and who was faster, and changes no row anywhere.
SELECT t.see(o) FROM wf_start('review', 'refused', '{"v": 1}') o;
SELECT t.i('refused') AS i, gen_random_uuid() AS none \gset
SELECT t.world() AS before \gset

-- WF005, WF004: of what is not there
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'none'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'NOWHERE', 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'NOWHERE', 'APPROVED', 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'SIGNED', 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, 'REJECT')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, '')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, '', '', 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, repeat('x', 100000), 'APPROVED', 1, 1)$$, :'i')) LIKE '22023 %' AS huge;
-- WF003: the edge exists, for another state
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 1, 1)$$, :'i'));
-- WF001, WF002: a revision and a material that never were are not current either
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 2, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 9223372036854775807, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 2147483647)$$, :'i'));
-- edge before material before revision before state
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'SIGNED', 7, 7)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 7, 7)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 7, 1)$$, :'i'));
SELECT t.world() = :'before' AS nothing_happened;

-- A3: new material; the old page loses and learns which material is there, a fresh page wins
SELECT u.applied, u.material_version, u.instances, u.tasks FROM wf_supersede_material(t.a('refused'), 1, '{"v": 2}') u;
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$$, :'i'));
SELECT t.world() = :'before' AS nothing_happened;
SELECT * FROM t.tasks('refused');
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 2, 2) o;

-- A4: decided; the old page of the same material loses, for either verdict
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 2, 2, actor => 'late')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 2, 2, actor => 'late')$$, :'i'));
-- the newest revision, from a state that it is not in
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 3, 2, actor => 'late')$$, :'i'));
SELECT t.world() = :'before' AS nothing_happened;

-- WF013 only for those who know the last revision; the others have to look first
SELECT t.see(o) FROM wf_transition(:'i', 'APPROVED', 'SIGNED', 3, 2) o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 4, 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 4, 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 3, 2, actor => 'late')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'APPROVED', 'SIGNED', 3, 1, actor => 'late')$$, :'i'));

-- A5: the state text is equal again, what the old form saw is not
SELECT t.see(o) FROM wf_start('review', 'refused-aba', '{"v": 1}') o;
SELECT t.see(o) FROM wf_transition(t.i('refused-aba'), 'SUBMITTED', 'REWORK', 1, 1) o;
SELECT t.see(o) FROM wf_transition(t.i('refused-aba'), 'REWORK', 'SUBMITTED', 2, 1) o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, actor => 'late')$$, t.i('refused-aba')));
SELECT * FROM t.count('refused-aba');
SELECT * FROM wf_verify();
