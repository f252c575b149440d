-- L3: a command under a lease is refused once that lease is over, in its own transaction; where a state asks
-- for a lease there is no way out without one.
SELECT version FROM wf_define('{"id": "guarded", "initial": "OPEN", "states": {
    "OPEN": {"on": {"WORK": {"target": "BUSY", "meta": {"roles": ["hand"]}}, "STOP": "DONE"}},
    "BUSY": {"meta": {"lease": "required"}, "on": {"FINISH": "DONE", "AGAIN": "BUSY"}},
    "DONE": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('guarded', 'guarded', '{}') o;
SELECT t.i('guarded') AS i \gset
SELECT fence AS a FROM wf_lease_acquire('g', 60000, 'a') \gset
-- both or neither
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'OPEN', 'DONE', 1, 1, lease_key => 'g')$$, :'i'));
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'OPEN', 'DONE', 1, 1, fence => 1)$$, :'i'));
SELECT t.refusal(format($$SELECT * FROM wf_send(%L, 'STOP', fence => 1)$$, :'i'));
-- role before lease, lease before revision
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'OPEN', 'BUSY', 7, 1, lease_key => 'g', fence => 0)$$, :'i'));
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'OPEN', 'BUSY', 7, 1, lease_key => 'g', fence => 0, roles => '{hand}')$$, :'i'));
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'OPEN', 'BUSY', 7, 1, lease_key => 'g', fence => %s, roles => '{hand}')$$, :'i', :a));
SELECT t.see(o) FROM wf_check(:'i', 'OPEN', 'BUSY', 1, 1, lease_key => 'g', fence => :a + 1, roles => '{hand}') o;
SELECT t.see(o) FROM wf_check(:'i', 'OPEN', 'BUSY', 1, 1, lease_key => 'g', fence => :a, roles => '{hand}') o;
SELECT t.see(o) FROM wf_try_transition(:'i', 'OPEN', 'BUSY', 1, 1, lease_key => 'none', fence => 1, roles => '{hand}') o;
SELECT t.see(o) FROM wf_transition(:'i', 'OPEN', 'BUSY', 1, 1, lease_key => 'g', fence => :a, roles => '{hand}') o;
-- required
SELECT t.refusal(format($$SELECT * FROM wf_transition(%L, 'BUSY', 'DONE', 2, 1)$$, :'i'));
SELECT t.refusal(format($$SELECT * FROM wf_send(%L, 'FINISH')$$, :'i'));
SELECT actions FROM wf_get(:'i');
SELECT t.see(o) FROM wf_send(:'i', 'AGAIN', lease_key => 'g', fence => :a) o;
-- the same key with another lease is another command
SELECT t.see(o) FROM wf_send(:'i', 'AGAIN', lease_key => 'g', fence => :a, request_id => 'guarded') o;
SELECT t.see(o) FROM wf_send(:'i', 'AGAIN', lease_key => 'g', fence => :a, request_id => 'guarded') o;
SELECT t.refusal(format($$SELECT * FROM wf_send(%L, 'AGAIN', lease_key => 'g', fence => 99, request_id => 'guarded')$$, :'i'));
-- the lease is over: taken by another, run out, released
SELECT fence AS b FROM wf_lease_steal('g', 60000, 'test') \gset
SELECT left(t.refusal(format($$SELECT * FROM wf_transition(%L, 'BUSY', 'DONE', 4, 1, lease_key => 'g', fence => %s)$$, :'i', :a)), 16);
SELECT fence AS late FROM wf_lease_acquire('late', 20) \gset
SELECT t.see(o) FROM wf_check(:'i', 'BUSY', 'DONE', 4, 1, lease_key => 'late', fence => :late) o;
SELECT pg_sleep(0.03);
SELECT left(t.refusal(format($$SELECT * FROM wf_transition(%L, 'BUSY', 'DONE', 4, 1, lease_key => 'late', fence => %s)$$, :'i', :late)), 16);
SELECT fence AS done, token FROM wf_lease_acquire('done', 60000) \gset
SELECT released FROM wf_lease_release('done', :'token');
SELECT t.see(o) FROM wf_try_transition(:'i', 'BUSY', 'DONE', 4, 1, lease_key => 'done', fence => :done) o;
SELECT fence AS foreign FROM wf_lease_acquire('foreign', 60000, tenant => 'elsewhere') \gset
SELECT t.see(o) FROM wf_try_transition(:'i', 'BUSY', 'DONE', 4, 1, lease_key => 'foreign', fence => :foreign) o;
SELECT r, event, to_state FROM t.history('guarded');
SELECT t.see(o) FROM wf_transition(:'i', 'BUSY', 'DONE', 4, 1, lease_key => 'g', fence => :b) o;
-- history knows under which lease
SELECT revision, lease_key, fence = :a AS a, fence = :b AS b FROM workflow.history WHERE instance_id = :'i' ORDER BY revision;
-- wf_decide presents no lease: a state with one seat is then decided by wf_transition
SELECT version FROM wf_define('{"id": "signed", "initial": "SIGN", "states": {
    "SIGN": {"meta": {"lease": "required", "task": {"seats": [{"name": "s"}]}}, "on": {"YES": {"target": "DONE", "meta": {"decision": "approve"}}}},
    "DONE": {"type": "final"}}}');
SELECT o.instance_id AS s, o.task_ids[1] AS k FROM wf_start('signed', 'signed', '{}') o \gset
SELECT t.refusal(format($$SELECT * FROM wf_decide(%L, 'YES', 1, 1)$$, :'k'));
SELECT t.see(o) FROM wf_transition(:'s', 'SIGN', 'DONE', 1, 1, lease_key => 'g', fence => :b) o;
SELECT seat, status, decision FROM t.tasks('signed');
SELECT severity, path, message FROM wf_validate('{"id": "wrong", "initial": "A", "states": {
    "A": {"meta": {"lease": "maybe", "retry": {"max_attempts": 0, "base_ms": 10, "max_ms": 5, "exhausted": "NONE", "more": 1}}, "on": {"GO": "B"}},
    "B": {"meta": {"lease": "required", "retry": {"exhausted": "C"}, "task": {"seats": [{"name": "x"}, {"name": "y"}]}}, "on": {"YES": {"target": "C", "meta": {"decision": "approve"}}}},
    "C": {"type": "final", "meta": {"lease": "required", "retry": {}}}}}') WHERE severity = 'error' ORDER BY path;
SELECT * FROM wf_verify();
