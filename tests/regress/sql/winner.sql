-- Who lost learns by what: the step that followed the revision that the caller knew. The same command
-- is only one by the same actor about the same material (A2): an equal decision by somebody else is a
-- conflict, and may not be taken for one's own.
SELECT t.see(o) FROM wf_start('review', 'winner', '{"v": 1}', actor => 'ann') o;
SELECT t.i('winner') AS i \gset
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1, actor => 'rob', comment => 'secret of rob') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, actor => 'rob')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, 'APPROVE', actor => 'rob')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1, actor => 'eve')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 1, 1, actor => 'rob')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE', NULL, 1, 1, actor => 'rob')$$, :'i'));
-- the same by name, about other material
SELECT u.applied FROM wf_supersede_material(t.a('winner'), 1, '{"v": 2}', actor => 'ann') u;
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 3, 2, actor => 'rob') o;
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 3, 1, actor => 'rob')$$, :'i'));
-- a later step is not the winner
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 1, 1, actor => 'eve')$$, :'i'));
-- nobody was faster than a revision that is not there yet
SELECT t.refusal(format($$SELECT wf_transition(%L, 'SUBMITTED', 'REJECTED', 9, 2, actor => 'eve')$$, :'i'));
-- another person's comment is in no part of it
SELECT o.detail::text LIKE '%secret%' AS tells FROM wf_try_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'eve') o;

-- the actor only for a login that may read the history
CREATE ROLE regress_winner LOGIN;
SELECT wf_grant('regress_winner', 'backend');
SET SESSION AUTHORIZATION regress_winner;
SELECT o.code, o.detail -> 'winner' ? 'actor' AS actor, o.detail #> '{winner,same_command}' AS same
  FROM wf_try_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1, actor => 'rob') o;
RESET SESSION AUTHORIZATION;
GRANT SELECT ON workflow.history TO regress_winner;
SET SESSION AUTHORIZATION regress_winner;
SELECT o.code, o.detail -> 'winner' -> 'actor' AS actor
  FROM wf_try_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1, actor => 'eve') o;
RESET SESSION AUTHORIZATION;
DROP OWNED BY regress_winner;
DROP ROLE regress_winner;
SELECT * FROM wf_verify();
