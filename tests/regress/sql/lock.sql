-- wf_lock keeps an instance to the end of the transaction and says where it stands; it changes nothing.
SELECT t.see(o) FROM wf_start('lamp', 'lock', '{}') o;
SELECT t.world() AS before \gset
BEGIN;
SELECT xmax = 0 AS free FROM workflow.instances WHERE id = t.i('lock');
SELECT t.see(o), o.event, o.attempts, o.application_id = t.a('lock') AS application FROM wf_lock(t.i('lock')) o;
SELECT xmax <> 0 AS locked FROM workflow.instances WHERE id = t.i('lock');
SELECT t.see(o) FROM wf_lock(t.i('lock'), 0) o;
COMMIT;
SELECT t.world() = :'before' AS nothing_happened;
SELECT t.refusal(format($$SELECT wf_lock(%L)$$, gen_random_uuid()));
SELECT t.see(o) FROM wf_lock(gen_random_uuid(), on_refusal => 'return') o;
-- then it is ours to change
BEGIN;
SELECT t.see(o) FROM wf_lock(t.i('lock')) o;
SELECT t.see(o) FROM wf_send(t.i('lock'), 'BREAK') o;
COMMIT;
-- a closed one can be locked, too
SELECT t.see(o) FROM wf_lock(t.i('lock')) o;
SELECT * FROM wf_verify();
