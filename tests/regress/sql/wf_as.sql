-- wf_as names the person for the rest of the transaction and not a moment longer, so that a pooled
-- connection carries nobody over to the next client (I7).
SELECT * FROM wf_as('default', 'ann', '{boss}');
SELECT actor = session_user AS me_again, roles FROM wf_whoami();
BEGIN;
SELECT * FROM wf_as('as-tenant', 'ann', '{boss,clerk}');
SELECT * FROM wf_whoami();
-- arguments still come first
SELECT * FROM wf_whoami(actor => 'bob');
-- no roles is a statement, too
SELECT * FROM wf_as('as-tenant', 'ann');
SELECT * FROM wf_whoami();
COMMIT;
SELECT tenant, actor = session_user AS me_again, roles FROM wf_whoami();
-- gone with a rollback, and with a rollback to a savepoint
BEGIN;
SELECT actor FROM wf_as('default', 'ann', '{boss}');
SAVEPOINT s;
SELECT actor FROM wf_as('default', 'bob', '{}');
ROLLBACK TO s;
SELECT actor, roles FROM wf_whoami();
ROLLBACK;
SELECT tenant, actor = session_user AS me_again, roles FROM wf_whoami();
-- what is done is booked under the name
BEGIN;
SELECT actor FROM wf_as('default', 'ann', '{}');
SELECT t.see(o) FROM wf_start('lamp', 'as', '{}') o;
COMMIT;
SELECT t.see(o) FROM wf_send(t.i('as'), 'PRESS') o;
SELECT r, actor FROM t.history('as');
-- names as everywhere; roles that a list of them could not hold are refused
SELECT x, t.refusal(x) FROM unnest(ARRAY[$$SELECT wf_as('', 'a')$$, $$SELECT wf_as('a', '')$$, $$SELECT wf_as('a', E'b\nc')$$, $$SELECT wf_as('a', 'b', '{""}')$$,
    $$SELECT wf_as('a', repeat('b', 201))$$]) x;
SELECT t.refusal($$SELECT wf_as('a', 'b', '{"x,y"}')$$) LIKE '22023 %' AS comma;
-- a person whose name would be an identifier, a list, a statement
BEGIN;
SELECT actor, roles FROM wf_as('default', $$O'Neil, "Ann"; --$$, '{"a b",ü}');
SELECT actor, roles FROM wf_whoami();
COMMIT;
SELECT * FROM wf_verify();
