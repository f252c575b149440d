-- The submitter may withdraw while nobody has decided: not what has been approved and waits for its next
-- step, though it is open.
SELECT t.see(o) FROM wf_start('review', 'withdraw-3', '{}', actor => 'sue') o;
SELECT t.see(o) FROM wf_transition(t.i('withdraw-3'), 'SUBMITTED', 'APPROVED', 1, 1, actor => 'ann') o;
SELECT o.applied FROM wf_withdraw(t.i('withdraw-3'), 2, on_refusal => 'return', actor => 'sue') o;
SELECT i.closed, i.state FROM workflow.instances i WHERE i.id = t.i('withdraw-3');
SELECT * FROM wf_verify();
