-- wf_send takes an event wherever the instance stands; a verdict still needs revision and material, for
-- nobody decides about what nobody saw (A15).
SELECT t.see(o) FROM wf_start('review', 'send', '{"v": 1}') o;
SELECT t.i('send') AS i \gset
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE', expected_revision => 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE', material_version => 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE', on_refusal => 'return')$$, :'i'));
-- an event of another state, of no state
SELECT t.refusal(format($$SELECT wf_send(%L, 'SIGN')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'SIGN', NULL, 1, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'DANCE')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, '')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'DANCE')$$, gen_random_uuid()));
-- known versions are held to, with either lock mode
SELECT t.refusal(format($$SELECT wf_send(%L, 'WITHDRAW', expected_revision => 2)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'WITHDRAW', material_version => 2, lock_mode => 'pessimistic')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'WITHDRAW', lock_mode => 'hopeful')$$, :'i')) LIKE '22023 %' AS refused;
SELECT t.refusal(format($$SELECT wf_send(%L, 'WITHDRAW', lock_mode => '')$$, :'i')) LIKE '22023 %' AS refused;
SELECT * FROM t.count('send');
SELECT t.see(o) FROM wf_send(:'i', 'RETURN', '{"why": 1}', 1, 1) o;
SELECT t.see(o), o.attempts FROM wf_send(:'i', 'RESUBMIT') o;
SELECT t.see(o) FROM wf_send(:'i', 'APPROVE', NULL, 3, 1, lock_mode => 'pessimistic') o;
SELECT t.see(o) FROM wf_send(:'i', 'SIGN', lock_mode => 'optimistic', wait_ms => 0) o;
SELECT * FROM t.history('send');
SELECT h.payload FROM workflow.history h WHERE h.instance_id = :'i' AND h.revision = 2;
-- ended: also without a revision; a verdict is asked for its versions first
SELECT t.refusal(format($$SELECT wf_send(%L, 'SIGN')$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'SIGN', NULL, 4, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT wf_send(%L, 'APPROVE')$$, :'i'));
-- modes of the definition
SELECT * FROM wf_define('{"id": "send-pessimistic", "initial": "A", "meta": {"lock_mode": "pessimistic"},
    "states": {"A": {"on": {"GO": "B"}}, "B": {"on": {"GO": "A"}}}}');
SELECT t.see(o) FROM wf_start('send-pessimistic', 'send-2', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('send-2'), 'GO') o;
SELECT t.see(o) FROM wf_send(t.i('send-2'), 'GO', lock_mode => 'optimistic') o;
-- a thousand in one session, each on top of the last
DO $$
BEGIN
    FOR n IN 1..1000 LOOP
        PERFORM wf_send(t.i('send-2'), 'GO');
    END LOOP;
END
$$;
SELECT i.state, i.revision FROM workflow.instances i WHERE i.id = t.i('send-2');
SELECT * FROM t.count('send-2');
SELECT * FROM wf_verify();
