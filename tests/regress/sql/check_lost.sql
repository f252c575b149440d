-- wf_check gives the whole outcome that wf_transition would have now, the winner of a lost race included.
SELECT t.see(o) FROM wf_start('review', 'check-lost', '{"v": 1}', actor => 'ann') o;
SELECT t.i('check-lost') AS i \gset
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1, actor => 'eve') o;
SELECT c.code, t.told(c.detail) AS checked, t.told(o.detail) AS done, c.detail = o.detail AS same
  FROM wf_check(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'rob') c,
       wf_try_transition(:'i', 'SUBMITTED', 'REJECTED', 1, 1, actor => 'rob') o;
SELECT * FROM wf_verify();
