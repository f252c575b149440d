# Attacks, one line each: who attacks (a login with that one capability, logged in as itself), what it sends, what
# comes of it, and a control that takes the defence away first and sees the same attack succeed. A case is
#   [ invariant, name, login, attack, outcome, control, outcome of the control, statement in its place ]
# The outcome is the SQLSTATE of the first error, else the last line printed. The control is run by a superuser in a
# transaction that is rolled back; after it the session is the attacker's, and the same attack follows (or the
# statement given in its place, where the defence cannot be taken away: then a naive stand-in shows the attack).
use strict;
use warnings;
use Cwd 'abs_path';
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $node = new_node('main', 'max_prepared_transactions = 5', 'wal_level = logical', 'log_statement = all', 'lock_timeout = 5s');
install($node, 'app');
my @capabilities = qw(reader participant backend worker operator designer);

$node->safe_psql('app', join("\n", (map { "CREATE ROLE x_$_ LOGIN; SELECT wf_grant('x_$_', '$_'); SELECT wf_member_set('x_$_', '{}', tenant => 'mine');" } @capabilities), q{
	CREATE ROLE x_nobody LOGIN;
	CREATE ROLE victim LOGIN;
	SELECT wf_grant('victim', 'participant'), wf_grant('victim', 'operator');
	SELECT wf_member_set('victim', '{}', tenant => 'theirs');
	SELECT wf_define(wf_export('review'), tenant => x) FROM unnest('{mine,theirs}'::text[]) x;
	SELECT wf_define(jsonb_set(wf_export('review'), '{id}', '"secret"'), tenant => 'theirs');
	SELECT wf_start('review', 'mine', '{"page": 1}', tenant => 'mine', actor => 'ann');
	SELECT wf_start('review', 'theirs', '{"page": 1}', tenant => 'theirs', actor => 'ann');
	SELECT wf_start('review', 'held', '{"page": 1}', tenant => 'theirs', actor => 'ann');
	SELECT wf_send(instance_of('theirs'), 'NOTE', tenant => 'theirs', actor => 'ann', request_id => 'theirs', payload => '{"word": "hunter2"}');
	SELECT wf_try_transition(instance_of('theirs'), 'SUBMITTED', 'APPROVED', 1, 1, tenant => 'theirs', actor => 'ann');
	-- Their consumer, stock, lease, machine work, and something that they have closed.
	SELECT wf_define(jsonb_set(wf_export('secret', tenant => 'theirs'), '{states,SUBMITTED,on,LATER}', '"SUBMITTED"'), activate => false, tenant => 'theirs');
	SELECT wf_define('{"id": "job", "initial": "TODO", "states": {"TODO": {"meta": {"lease": "required"}, "on": {"DONE": "DONE"}, "after": {"PT1H": "DONE"}}, "DONE": {"type": "final"}}}', tenant => 'theirs');
	SELECT wf_start('job', 'job', '{}', tenant => 'theirs', actor => 'ann');
	SELECT wf_start('review', 'closed', '{}', tenant => 'theirs', actor => 'ann');
	SELECT wf_transition(instance_of('closed'), 'SUBMITTED', 'REJECTED', 1, 1, tenant => 'theirs', actor => 'ann');
	SELECT wf_outbox_subscribe('their-mail', true, tenant => 'theirs', actor => 'ann');
	SELECT wf_resource_set('their-stock', 5, tenant => 'theirs', actor => 'ann');
	SELECT acquired FROM wf_lease_acquire('their-key', 600000, tenant => 'theirs', actor => 'ann');
	GRANT CREATE ON DATABASE app TO x_participant;
	-- Stand-ins that do what applications do without the extension.
	CREATE SCHEMA naive;
	GRANT USAGE ON SCHEMA naive TO PUBLIC;
	CREATE FUNCTION naive.visible(tenant text) RETURNS boolean LANGUAGE plpgsql COST 1000 AS $$ BEGIN RETURN tenant = 'mine'; END $$;
	CREATE VIEW naive.timeline AS SELECT * FROM workflow.history h WHERE naive.visible(h.tenant_id);
	INSERT INTO workflow.members VALUES ('former', 'x_participant', '{}', 'yesterday');
	CREATE FUNCTION naive.whoami() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text';
	CREATE FUNCTION naive.exists(id uuid) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN
			IF NOT EXISTS (SELECT FROM workflow.instances i WHERE i.id = $1) THEN RETURN 'no such thing'; END IF;
			IF NOT EXISTS (SELECT FROM workflow.instances i WHERE i.id = $1 AND tenant_id = 'mine') THEN RETURN 'not yours'; END IF;
			RETURN 'yours';
		END $$;
	CREATE FUNCTION naive.wrapped_whoami() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT actor FROM wf_whoami()';
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA naive TO PUBLIC;
	GRANT SELECT ON naive.timeline TO PUBLIC;
	-- What an attacker puts in the way of a name: it says that it was reached.
	CREATE SCHEMA evil;
	GRANT USAGE ON SCHEMA evil TO PUBLIC;
	GRANT CREATE ON SCHEMA evil TO x_participant;
	CREATE FUNCTION evil.eq(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'EV001'; END $$;
	CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'EV001'; END $$;
	CREATE OPERATOR evil.= (FUNCTION = evil.eq, LEFTARG = uuid, RIGHTARG = uuid);
	CREATE OPERATOR evil.= (FUNCTION = evil.eq, LEFTARG = text, RIGHTARG = text);
	CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'EV002'; END $$;
	CREATE DOMAIN evil.text AS pg_catalog.text CHECK (false);
	CREATE FUNCTION naive.shadowed() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN 'a'::pg_catalog.text = 'b'::pg_catalog.text; END $$;
	CREATE FUNCTION naive.timed() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RETURN clock_timestamp(); END $$;
	CREATE FUNCTION naive.typed() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'x'::text; END $$;
	CREATE FUNCTION naive.counted() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN (SELECT count(*) FROM outbox); END $$;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA naive TO PUBLIC;
	ANALYZE;}));

my %known = map { $_ => value($node, 'app', "SELECT instance_of('$_')") } qw(mine theirs held);
my ($M, $F, $H) = @known{qw(mine theirs held)};
my $T = value($node, 'app', "SELECT id FROM workflow.tasks WHERE instance_id = '$F' AND status = 'OPEN'");
my $A = value($node, 'app', "SELECT application_id FROM workflow.instances WHERE id = '$F'");
my $r = value($node, 'app', "SELECT revision FROM workflow.instances WHERE id = '$F'");

# Keys for tokens: a secret that nobody but the server has.
my $keys = abs_path($node->data_dir) . '/keys.json';
umask 0077;
append_to_file($keys, '{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "2026", "x": "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw"},'
	. '{"kty": "oct", "kid": "shared", "k": "bm90IGEgc2VjcmV0LCBidXQgMzIgYnl0ZXMgbG9uZyE"}]}');
my $ann = 'eyJhbGciOiJFZERTQSIsImtpZCI6IjIwMjYifQ.eyJhdWQiOiJ3b3JrZmxvdyIsInN1YiI6ImFubiIsInRlbmFudCI6InRva2VuLWEiLCJyb2xlcyI6WyJib3NzIl0sImV4cCI6NDEwMjQ0NDgwMH0'
	. '.1L-1MSppv14-dCideO49IIrC29NEGsXFTXQEiXjnbHxqF9XxFXaPnhyz27fcHyRTKKtUxySJ84lFenxlYJ2KBw';
my ($header, $claims, $signature) = split /\./, $ann;
my $unsigned = 'eyJhbGciOiJub25lIiwia2lkIjoiMjAyNiJ9';
my $ceo = 'eyJhdWQiOiJ3b3JrZmxvdyIsInN1YiI6ImNlbyIsInRlbmFudCI6InRva2VuLWEiLCJyb2xlcyI6WyJib3NzIl0sImV4cCI6NDEwMjQ0NDgwMH0';
for my $mode ('token', 'claims', 'session')
{
	$node->safe_psql('postgres', "CREATE DATABASE by_$mode");
	$node->safe_psql("by_$mode", join("\n", 'CREATE EXTENSION workflow;', (map { "SELECT wf_grant('x_$_', '$_'); SELECT wf_member_set('x_$_', '{}', tenant => 'mine');" } @capabilities), q{
		CREATE SCHEMA naive; GRANT USAGE ON SCHEMA naive TO PUBLIC;
		CREATE FUNCTION naive.claimed(token text) RETURNS text LANGUAGE sql AS $$
			SELECT convert_from(decode(rpad(translate(split_part(token, '.', 2), '-_', '+/'), (length(split_part(token, '.', 2)) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::json ->> 'sub' $$;
		CREATE FUNCTION naive.by_setting() RETURNS text LANGUAGE sql AS $$ SELECT current_setting('naive.actor', true) $$;
		GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA naive TO PUBLIC;}));
	$node->safe_psql('postgres', "ALTER DATABASE by_$mode SET workflow.identity = '$mode'");
}
$node->safe_psql('postgres', "ALTER DATABASE by_token SET workflow.token_keys = '$keys'");

# Controls.
sub member_of { my ($login) = @_; return "UPDATE workflow.members SET tenant_id = 'theirs' WHERE member = '$login' AND tenant_id = 'mine';" }
sub unforced { return join '', map { "ALTER TABLE workflow.$_ DISABLE ROW LEVEL SECURITY;" } @_ }
my $p = member_of('x_participant');
my $writable = 'GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES ON ALL TABLES IN SCHEMA workflow TO x_participant;'
	. unforced(qw(history instances tasks outbox members requests materials));
my $unguarded = 'ALTER TABLE workflow.history DISABLE TRIGGER ALL; ALTER TABLE workflow.materials DISABLE TRIGGER ALL;';
my $superuser = 'ALTER ROLE x_participant SUPERUSER;';
my $trusted = 'GRANT EXECUTE ON FUNCTION wf_as TO x_participant;';
my $nothing = 'SELECT 1;';
my $path = 'SET search_path = evil, pg_catalog, public;';
my $theirs = "tenant_id = 'theirs'";
my $done = "SELECT 'written'";

my @cases = (
	# I1: another tenant's objects are not there.
	[ 'I1', 'reads an instance', 'x_participant', "SELECT state FROM wf_get('$F')", 'WF005', $p, 'SUBMITTED' ],
	[ 'I1', 'reads it by its business key', 'x_participant', "SELECT state FROM wf_get(definition => 'review', business_key => 'theirs')", 'WF005', $p, 'SUBMITTED' ],
	[ 'I1', 'reads it as a reader', 'x_reader', "SELECT state FROM wf_get('$F')", 'WF005', member_of('x_reader'), 'SUBMITTED' ],
	[ 'I1', 'asks what would happen', 'x_participant', "SELECT coalesce(code, 'would apply') FROM wf_check('$F', 'SUBMITTED', 'APPROVED', $r, 1)", 'WF005', $p, 'would apply' ],
	[ 'I1', 'asks why', 'x_participant', "SELECT wf_explain('$F') ->> 'state'", 'WF005', $p, 'SUBMITTED' ],
	[ 'I1', 'sends an event', 'x_participant', "SELECT applied FROM wf_send('$F', 'NOTE')", 'WF005', $p, 't' ],
	[ 'I1', 'takes an edge', 'x_participant', "SELECT applied FROM wf_transition('$F', 'SUBMITTED', 'APPROVED', $r, 1)", 'WF005', $p, 't' ],
	[ 'I1', 'tries to', 'x_participant', "SELECT coalesce(code, 'applied') FROM wf_try_transition('$F', 'SUBMITTED', 'APPROVED', $r, 1)", 'WF005', $p, 'applied' ],
	[ 'I1', 'decides a task', 'x_participant', "SELECT applied FROM wf_decide('$T', 'APPROVE', $r, 1)", 'WF005', $p, 't' ],
	[ 'I1', 'claims a task', 'x_participant', "SELECT applied FROM wf_task_claim('$T')", 'WF005', $p, 't' ],
	[ 'I1', 'locks it', 'x_participant', "SELECT applied FROM wf_lock('$F')", 'WF005', $p, 't' ],
	[ 'I1', 'replaces its material', 'x_participant', "SELECT applied FROM wf_supersede_material('$A', 1, '{}')", 'WF005', $p, 't' ],
	[ 'I1', 'starts by their definition', 'x_participant', "SELECT applied FROM wf_start('secret', 'new', '{}')", 'WF005', $p, 't' ],
	[ 'I1', 'reads their definition', 'x_reader', "SELECT wf_export('secret') ->> 'id'", 'WF005', member_of('x_reader'), 'secret' ],
	[ 'I1', 'lists their work', 'x_participant', "SELECT count(*) > 0 FROM wf_worklist() w WHERE w.task_id = '$T'", 'f', $p, 't' ],
	[ 'I1', 'assigns their task', 'x_operator', "SELECT applied FROM wf_task_assign('$T', 'x_operator')", 'WF005', member_of('x_operator'), 't' ],
	[ 'I1', 'adds a seat', 'x_operator', "SELECT applied FROM wf_seat_add('$F', '{\"name\": \"more\"}', $r)", 'WF005', member_of('x_operator'), 't' ],
	[ 'I1', 'becomes their member', 'x_operator', "SELECT applied FROM wf_member_set('x_operator', '{boss}', tenant => 'theirs')", 'WF007', member_of('x_operator'), 't' ],
	[ 'I1', 'publishes for them', 'x_designer', "SELECT definition FROM wf_define('$WorkflowTest::REVIEW', tenant => 'theirs')", 'WF007', member_of('x_designer'), 'review' ],
	[ 'I1', 'publishes for all', 'x_designer', "SELECT definition FROM wf_define('$WorkflowTest::REVIEW', tenant => '*')", 'WF007', q{UPDATE workflow.members SET tenant_id = '*' WHERE member = 'x_designer';}, 'review' ],
	[ 'I1', 'has their command replayed', 'x_participant', "SELECT coalesce(replayed, false) FROM wf_send('$M', 'NOTE', request_id => 'theirs')", 'f', $p, 'WF008', "SELECT replayed FROM wf_send('$F', 'NOTE', request_id => 'theirs')" ],
	[ 'I1', 'reads their worklist view', 'x_reader', "SELECT count(*) > 0 FROM workflow.worklist WHERE instance_id = '$F'", 'f', member_of('x_reader'), 't' ],
	[ 'I1', 'reads their timeline', 'x_reader', "SELECT count(*) > 0 FROM workflow.timeline WHERE instance_id = '$F'", 'f', member_of('x_reader'), 't' ],
	[ 'I1', 'reads their refusals', 'x_operator', "SELECT count(*) > 0 FROM workflow.refusals WHERE $theirs", 'f', unforced('refusals'), 't' ],
	[ 'I1', 'turns row security off for itself', 'x_operator', "SET row_security = off; SELECT count(*) > 0 FROM workflow.refusals WHERE $theirs", '42501', unforced('refusals'), 't' ],

	[ 'I1', 'ends it', 'x_operator', "SELECT applied FROM wf_cancel('$F', 'no', $r)", 'WF005', member_of('x_operator'), 't' ],
	[ 'I1', 'decides over the heads of those who are asked', 'x_operator', "SELECT applied FROM wf_override('$F', 'APPROVE', 'no', $r, 1)", 'WF005', member_of('x_operator'), 't' ],
	[ 'I1', 'names it among others in one call', 'x_participant', "SELECT coalesce(code, 'applied') FROM wf_transition_many(jsonb_build_array(jsonb_build_object('instance', '$F', 'from_state', 'SUBMITTED', 'to_state', 'APPROVED', 'expected_revision', $r, 'material_version', 1)))", 'WF005', $p, 'applied' ],
	[ 'I1', 'adopts by their definition', 'x_operator', "SELECT applied FROM wf_adopt('secret', 'new', 'SUBMITTED', '{}')", 'WF005', member_of('x_operator'), 't' ],
	[ 'I1', 'migrates their instances', 'x_operator', "SELECT coalesce(code, 'foreseen') FROM wf_migrate('secret', 1, 2)", 'WF005', member_of('x_operator'), 'foreseen' ],
	[ 'I1', 'chooses their version', 'x_designer', "SELECT definition FROM wf_activate('secret', 2)", 'WF005', member_of('x_designer'), 'secret' ],
	[ 'I1', 'purges what they have closed', 'x_operator', "SELECT detail ->> 'instances' FROM wf_purge('0 seconds')", '0', member_of('x_operator') . "DELETE FROM workflow.deliveries; DELETE FROM workflow.outbox_queue; DELETE FROM workflow.outbox;", '1' ],
	[ 'I1', 'takes their events', 'x_worker', "SELECT count(*) > 0 FROM wf_outbox_claim('their-mail')", 'WF005', member_of('x_worker'), 't' ],
	[ 'I1', 'ends their subscription', 'x_operator', "SELECT count(*) FROM wf_outbox_unsubscribe('their-mail')", 'WF005', member_of('x_operator'), '1' ],
	[ 'I1', 'takes from their stock', 'x_worker', "SELECT applied FROM wf_resource_consume('their-stock', 1)", 'WF005', member_of('x_worker'), 't' ],
	[ 'I1', 'takes their machine work', 'x_worker', "SELECT count(*) FROM wf_work_take('job', 'TODO', 'DONE', 'eve')", 'WF005', member_of('x_worker'), '1' ],
	[ 'I1', 'reads their stock', 'x_reader', 'SELECT count(*) > 0 FROM workflow.balances', 'f', member_of('x_reader'), 't' ],
	[ 'I1', 'reads their ledger', 'x_reader', 'SELECT count(*) > 0 FROM workflow.movements', 'f', member_of('x_reader'), 't' ],
	[ 'I1', 'reads their leases', 'x_reader', 'SELECT count(*) > 0 FROM workflow.held_leases', 'f', member_of('x_reader'), 't' ],
	[ 'I1', 'reads their timers', 'x_reader', 'SELECT count(*) > 0 FROM workflow.pending_timers', 'f', member_of('x_reader'), 't' ],
	[ 'I1', 'reads their machine work', 'x_worker', "SELECT count(*) > 0 FROM workflow.machine_work", 'f', member_of('x_worker'), 't' ],
	[ 'I1', 'reads how far their consumers are', 'x_operator', 'SELECT count(*) > 0 FROM workflow.outbox_lag', 'f', member_of('x_operator'), 't' ],

	# I2: nobody writes but the engine.
	[ 'I2', 'reads the table of history', 'x_participant', 'SELECT count(*) > 0 FROM workflow.history', '42501', $writable, 't' ],
	[ 'I2', 'writes history', 'x_participant', "INSERT INTO workflow.history SELECT h.* FROM workflow.history h WHERE false; $done", '42501', $writable, 'written' ],
	[ 'I2', 'moves an instance by hand', 'x_participant', "UPDATE workflow.instances SET state = 'APPROVED' WHERE id = '$M'; $done", '42501', $writable, 'written' ],
	[ 'I2', 'edits history', 'x_participant', "UPDATE workflow.history SET actor = 'eve'; $done", '42501', $writable . $unguarded, 'written' ],
	[ 'I2', 'deletes history', 'x_participant', "DELETE FROM workflow.history; $done", '42501', $writable . $unguarded, 'written' ],
	[ 'I2', 'empties the outbox', 'x_participant', "TRUNCATE workflow.outbox; $done", '42501', $writable, 'written' ],
	[ 'I2', 'completes a task by hand', 'x_participant', "UPDATE workflow.tasks SET status = 'COMPLETED'; $done", '42501', $writable, 'written' ],
	[ 'I2', 'gives itself a role', 'x_participant', "INSERT INTO workflow.members VALUES ('mine', 'eve', '{boss}'); $done", '42501', $writable, 'written' ],
	[ 'I2', 'takes a request key out', 'x_participant', "DELETE FROM workflow.requests; $done", '42501', $writable, 'written' ],
	[ 'I2', 'puts a trigger on a table', 'x_participant', "CREATE FUNCTION pg_temp.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER t BEFORE INSERT ON workflow.history FOR EACH ROW EXECUTE FUNCTION pg_temp.f(); $done", '42501', $writable, 'written' ],
	[ 'I2', 'asks a foreign key which members there are', 'x_participant', "CREATE TABLE evil.guess (tenant text COLLATE \"C\", member text COLLATE \"C\", FOREIGN KEY (tenant, member) REFERENCES workflow.members); $done", '42501', $writable, 'written' ],
	[ 'I2', 'alters a table', 'x_participant', "ALTER TABLE workflow.instances ADD COLUMN x int; $done", '42501', $superuser, 'written' ],
	[ 'I2', 'replaces a function', 'x_participant', "ALTER FUNCTION wf_version() RENAME TO wf_old; $done", '42501', $superuser, 'written' ],
	[ 'I2', 'makes a table in the schema', 'x_participant', "CREATE TABLE workflow.mine (a int); $done", '42501', 'GRANT CREATE ON SCHEMA workflow TO x_participant;', 'written' ],
	[ 'I2', 'takes the extension apart', 'x_participant', "ALTER EXTENSION workflow DROP VIEW workflow.worklist; $done", '42501', $superuser, 'written' ],
	[ 'I2', 'stops everybody by a table lock', 'x_participant', "BEGIN; LOCK TABLE workflow.instances; $done", '42501', $superuser, 'written', "LOCK TABLE workflow.instances; $done" ],
	[ 'I2', 'disables row security', 'x_participant', "ALTER TABLE workflow.refusals DISABLE ROW LEVEL SECURITY; $done", '42501', $superuser, 'written' ],
	[ 'I2', 'adds a policy', 'x_participant', "CREATE POLICY mine ON workflow.refusals USING (true); $done", '42501', $superuser, 'written' ],
	[ 'I2', 'reads through COPY', 'x_participant', "COPY workflow.requests TO STDOUT; $done", '42501', $superuser, 'written' ],
	[ 'I2', 'forges an event', 'x_worker', "INSERT INTO workflow.outbox SELECT o.* FROM workflow.outbox o WHERE false; $done", '42501', 'GRANT INSERT, SELECT ON workflow.outbox TO x_worker;', 'written' ],
	# History is evidence against its owner's ordinary statements as well.
	[ 'I2', 'edits history as its owner', 'postgres', "UPDATE workflow.history SET actor = 'eve'; $done", '42501', $unguarded, 'written' ],
	[ 'I2', 'deletes history as its owner', 'postgres', "DELETE FROM workflow.history; $done", '42501', $unguarded, 'written' ],
	[ 'I2', 'truncates history as its owner', 'postgres', "TRUNCATE workflow.history; $done", '42501', $unguarded, 'written' ],
	[ 'I2', 'edits material as its owner', 'postgres', "UPDATE workflow.materials SET content = '{}'; $done", '42501', $unguarded, 'written' ],

	[ 'I2', 'edits the task log as its owner', 'postgres', "UPDATE workflow.task_log SET actor = 'eve'; $done", '42501', 'ALTER TABLE workflow.task_log DISABLE TRIGGER ALL;', 'written' ],
	[ 'I2', 'edits the ledger as its owner', 'postgres', "UPDATE workflow.resource_moves SET quantity = quantity; $done", '42501', 'ALTER TABLE workflow.resource_moves DISABLE TRIGGER ALL;', 'written' ],
	[ 'I2', 'stocks up by hand', 'x_participant', "UPDATE workflow.resources SET balance = 1000; $done", '42501', $writable, 'written' ],
	[ 'I2', 'ends a lease by hand', 'x_participant', "DELETE FROM workflow.leases; $done", '42501', $writable, 'written' ],
	[ 'I2', 'makes a timer due by hand', 'x_participant', "UPDATE workflow.timers SET due_at = '-infinity'; $done", '42501', $writable, 'written' ],
	[ 'I2', 'lifts its limits', 'x_participant', "DELETE FROM workflow.limits; $done", '42501', $writable, 'written' ],
	[ 'I2', 'loses events of a consumer', 'x_participant', "DELETE FROM workflow.deliveries; $done", '42501', $writable, 'written' ],

	# I3: names that stand in the way.
	[ 'I3', 'puts a cast in the way', 'x_participant', "CREATE FUNCTION pg_temp.c(text) RETURNS workflow.step LANGUAGE sql AS 'SELECT NULL::workflow.step'; CREATE CAST (text AS workflow.step) WITH FUNCTION pg_temp.c(text) AS ASSIGNMENT; $done", '42501', $superuser, 'written' ],
	[ 'I3', 'shadows an operator of a purge', 'x_operator', "$path SELECT applied FROM public.wf_purge('1 day')", 't', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],
	[ 'I3', 'shadows one of many steps at once', 'x_participant', "$path SELECT code FROM public.wf_transition_many(pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('instance', '$M', 'from_state', 'SUBMITTED', 'to_state', 'APPROVED', 'expected_revision', 99, 'material_version', 1)))", 'WF001', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],
	[ 'I3', 'shadows what a lease uses', 'x_participant', "$path SELECT acquired FROM public.wf_lease_acquire('mine', 1000)", 't', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],
	[ 'I3', 'shadows what timers use', 'x_worker', "$path SELECT pg_catalog.count(*) FROM public.wf_run_due()", '0', $nothing, 'EV002', "$path SELECT naive.timed()" ],
	[ 'I3', 'shadows what the check uses', 'x_operator', "$path SELECT pg_catalog.count(*) FROM public.wf_verify()", '0', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],
	[ 'I3', 'shadows an operator', 'x_participant', "$path SELECT applied FROM public.wf_send('$M', 'NOTE')", 't', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],
	[ 'I3', 'the same once plans are kept', 'x_participant', "SELECT wf_send('$M', 'NOTE'); $path SELECT applied FROM public.wf_send('$M', 'NOTE')", 't', $nothing, 'EV001', "SELECT naive.shadowed(); $path SELECT naive.shadowed()" ],
	[ 'I3', 'shadows the clock', 'x_participant', "$path SELECT applied FROM public.wf_send('$M', 'NOTE')", 't', $nothing, 'EV002', "$path SELECT naive.timed()" ],
	[ 'I3', 'shadows a type', 'x_participant', "$path SELECT applied FROM public.wf_send('$M', 'NOTE')", 't', $nothing, '23514', "$path SELECT naive.typed()" ],
	[ 'I3', 'shadows a table from pg_temp', 'x_participant', "CREATE TEMP TABLE instances (tenant_id text, id uuid); CREATE TEMP TABLE outbox (a int); SET search_path = pg_temp, workflow, public; SELECT applied FROM wf_send('$M', 'NOTE')", 't', $nothing, '0', 'CREATE TEMP TABLE outbox (a int); SET search_path = pg_temp, workflow, public; SELECT naive.counted()' ],
	[ 'I3', 'shadows what a view uses', 'x_reader', "$path SELECT pg_catalog.count(*) > 0 FROM workflow.timeline", 't', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],
	[ 'I3', 'shadows what a grant uses', 'postgres', "SET search_path = evil, pg_catalog, public; SELECT public.wf_grant('x_reader', 'reader')", 'reader', $nothing, 'EV001', "$path SELECT naive.shadowed()" ],

	# I4: identity is not what a client says.
	[ 'I4', 'names a person as an argument', 'x_participant', "SELECT actor FROM wf_whoami(actor => 'boss')", 'WF007', $trusted, 'boss' ],
	[ 'I4', 'names a tenant as an argument', 'x_participant', "SELECT tenant FROM wf_whoami(tenant => 'theirs')", 'WF007', $trusted, 'theirs' ],
	[ 'I4', 'names a role as an argument', 'x_participant', "SELECT roles FROM wf_whoami(roles => '{boss}')", 'WF007', $trusted, '{boss}' ],
	[ 'I4', 'by SET', 'x_participant', "SET workflow.actor = 'boss'; SELECT actor FROM wf_whoami()", 'x_participant', $trusted, 'boss' ],
	[ 'I4', 'by set_config', 'x_participant', "SELECT set_config('workflow.tenant', 'theirs', false); SELECT tenant FROM wf_whoami()", 'mine', $trusted, 'theirs' ],
	[ 'I4', 'sets roles', 'x_participant', "SET workflow.roles = 'boss'; SELECT roles FROM wf_whoami()", '{}', $trusted, '{boss}' ],
	[ 'I4', 'by ALTER ROLE, at the next login', 'x_participant', "SELECT wf_version(); ALTER ROLE x_participant SET workflow.actor = 'boss';\n\\c\nSELECT actor FROM wf_whoami()", 'x_participant', $trusted, 'boss', "SET workflow.actor = 'boss'; SELECT actor FROM wf_whoami()" ],
	[ 'I4', 'by options of the connection', 'x_participant', "\\c \"dbname=app user=x_participant options='-c workflow.actor=boss -c workflow.tenant=theirs'\"\nSELECT actor || ' ' || tenant FROM wf_whoami()", 'x_participant mine', $trusted, 'boss theirs', "SET workflow.actor = 'boss'; SET workflow.tenant = 'theirs'; SELECT actor || ' ' || tenant FROM wf_whoami()" ],
	[ 'I4', 'by wf_as', 'x_participant', "SELECT actor FROM wf_as('theirs', 'boss')", '42501', $trusted, 'boss' ],
	[ 'I4', 'by a SECURITY DEFINER function of a superuser', 'x_participant', 'SELECT naive.wrapped_whoami()', 'x_participant', $nothing, 'postgres', 'SELECT naive.whoami()' ],
	[ 'I4', 'invents a setting of the extension', 'x_participant', "SELECT wf_version(); SET workflow.is_admin = 'on'; $done", '42602', $nothing, 'written', "SET workflows.is_admin = 'on'; $done" ],
	[ 'I4', 'chooses the identity mode', 'x_participant', "SELECT wf_version(); SET workflow.identity = 'claims'; $done", '42501', $superuser, 'written' ],
	[ 'I4', 'chooses it before the library is loaded', 'x_participant', "SET workflow.identity = 'claims'; SELECT mode FROM wf_whoami()", 'setting', $superuser, 'claims', "SET workflow.identity = 'claims'; SELECT current_setting('workflow.identity')" ],
	[ 'I4', 'keeps its refusals out of the log', 'x_participant', "SELECT wf_version(); SET workflow.log_refusals = off; $done", '42501', $superuser, 'written' ],
	[ 'I4', 'turns the clock', 'x_participant', "SELECT wf_version(); SET workflow.test_clock = '2000-01-01'; $done", '42501', $superuser, 'written' ],
	[ 'I4', 'becomes somebody else', 'x_participant', 'SET SESSION AUTHORIZATION victim; SELECT tenant FROM wf_whoami()', '42501', $nothing, 'theirs' ],
	[ 'I4', 'takes the role of somebody else', 'x_participant', 'SET ROLE victim; SELECT tenant FROM wf_whoami()', '42501', 'GRANT victim TO x_participant;', 'victim', 'SET ROLE victim; SELECT current_user' ],

	# I5: rights are what was granted.
	[ 'I5', 'acts in a tenant that it has left', 'x_participant', "SELECT tenant FROM wf_whoami(tenant => 'former')", 'WF007', q{UPDATE workflow.members SET valid_until = NULL WHERE tenant_id = 'former';}, 'former' ],
	[ 'I5', 'grants itself a capability', 'x_participant', "SELECT wf_grant('x_participant', 'operator')", '42501', $superuser, 'operator' ],
	[ 'I5', 'takes one from others', 'x_operator', "SELECT wf_revoke('victim', 'operator')", '42501', 'ALTER ROLE x_operator SUPERUSER;', 'operator' ],
	[ 'I5', 'publishes as a participant', 'x_participant', "SELECT definition FROM wf_define('$WorkflowTest::REVIEW')", '42501', q{SELECT wf_grant('x_participant', 'designer');}, 'review' ],
	[ 'I5', 'writes as a reader', 'x_reader', "SELECT applied FROM wf_send('$M', 'NOTE')", '42501', q{SELECT wf_grant('x_reader', 'participant');}, 't' ],
	[ 'I5', 'fires timers as a participant', 'x_participant', 'SELECT count(*) FROM wf_run_due()', '42501', q{SELECT wf_grant('x_participant', 'worker');}, '0' ],
	[ 'I5', 'assigns as a participant', 'x_participant', "SELECT applied FROM wf_task_assign((SELECT task_id FROM workflow.worklist WHERE instance_id = '$M'), 'eve')", '42501', q{SELECT wf_grant('x_participant', 'operator');}, 't' ],
	[ 'I5', 'makes members as a participant', 'x_participant', "SELECT applied FROM wf_member_set('eve', '{boss}')", '42501', q{SELECT wf_grant('x_participant', 'operator');}, 't' ],
	[ 'I5', 'ends an instance as a participant', 'x_participant', "SELECT applied FROM wf_cancel('$M', 'no', 1, on_refusal => 'return')", '42501', q{SELECT wf_grant('x_participant', 'operator');}, 'f' ],
	[ 'I5', 'overrides as a participant', 'x_participant', "SELECT code FROM wf_override('$M', 'APPROVE', 'no', 99, 1, on_refusal => 'return')", '42501', q{SELECT wf_grant('x_participant', 'operator');}, 'WF001' ],
	[ 'I5', 'overrides as a backend', 'x_backend', "SELECT code FROM wf_override('$M', 'APPROVE', 'no', 99, 1, on_refusal => 'return')", '42501', q{SELECT wf_grant('x_backend', 'operator');}, 'WF001' ],
	[ 'I5', 'purges as a participant', 'x_participant', "SELECT applied FROM wf_purge('1 day')", '42501', q{SELECT wf_grant('x_participant', 'operator');}, 't' ],
	[ 'I5', 'steals a lease as a participant', 'x_participant', "SELECT acquired FROM wf_lease_steal('mine', 1000, 'now')", '42501', q{SELECT wf_grant('x_participant', 'operator');}, 't' ],
	[ 'I5', 'sets its own limit', 'x_operator', "SELECT applied FROM wf_limit_set('seats', 100)", '42501', 'GRANT EXECUTE ON FUNCTION wf_limit_set TO x_operator;', 't' ],
	[ 'I5', 'takes events as a participant', 'x_participant', "SELECT count(*) FROM wf_outbox_claim('mail')", '42501', q{SELECT wf_outbox_subscribe('mail', tenant => 'mine'), wf_grant('x_participant', 'worker');}, '0' ],
	[ 'I5', 'takes machine work as a participant', 'x_participant', "SELECT count(*) FROM wf_work_take('job', 'TODO', 'DONE', 'eve')", '42501', q{SELECT wf_grant('x_participant', 'worker');} . member_of('x_participant'), '1' ],
	[ 'I5', 'repairs tenancy', 'x_operator', 'SELECT count(*) FROM wf_enable_tenancy()', '42501', 'ALTER ROLE x_operator SUPERUSER;', '0' ],
	[ 'I5', 'with no capability at all', 'x_nobody', "SELECT wf_version() <> ''", '42501', q{SELECT wf_grant('x_nobody', 'reader');}, 't' ],

	# I8: what one learns without being told.
	[ 'I8', 'a business key that is taken elsewhere', 'x_participant', "BEGIN; SELECT state FROM wf_start('review', 'theirs', '{\"page\": 1}')", 'SUBMITTED', $p, 'WF018', "SELECT state FROM wf_start('review', 'theirs', '{\"page\": 1}')" ],
	[ 'I8', 'a lease key that is taken elsewhere', 'x_participant', "SELECT acquired FROM wf_lease_acquire('their-key', 1000)", 't', $p, 'f' ],
	[ 'I8', 'a resource that is there elsewhere', 'x_operator', "BEGIN; SELECT remaining FROM wf_resource_set('their-stock', 1)", '1', member_of('x_operator'), '5', 'SELECT balance FROM workflow.balances' ],
	[ 'I8', 'what others send', 'x_participant', "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'postgres' AND query <> '<insufficient privilege>'", 'f', 'GRANT pg_read_all_stats TO x_participant;', 't' ],
	[ 'I8', 'statistics of the planner', 'x_operator', "SELECT count(*) > 0 FROM pg_stats WHERE schemaname = 'workflow' AND tablename = 'refusals'", 'f', unforced('refusals'), 't' ],
	[ 'I8', 'a leaky function on a view', 'x_participant', "CREATE FUNCTION pg_temp.leak(uuid) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS \$\$ BEGIN IF \$1 = '$F' THEN RAISE SQLSTATE 'LK001'; END IF; RETURN true; END \$\$; SELECT count(*) > 0 FROM workflow.timeline WHERE pg_temp.leak(instance_id)", 't', $nothing, 'LK001',
		"CREATE FUNCTION pg_temp.leak(uuid) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS \$\$ BEGIN IF \$1 = '$F' THEN RAISE SQLSTATE 'LK001'; END IF; RETURN true; END \$\$; SELECT count(*) > 0 FROM naive.timeline WHERE pg_temp.leak(instance_id)" ],
	[ 'I8', 'an error that depends on the row', 'x_reader', "SELECT count(*) > 0 FROM workflow.worklist WHERE 1 / (CASE WHEN instance_id = '$F' THEN 0 ELSE 1 END) = 1", 't', $nothing, '22012', "SELECT count(*) > 0 FROM naive.timeline WHERE 1 / (CASE WHEN instance_id = '$F' THEN 0 ELSE 1 END) = 1" ],
);

# While somebody holds the lock.
my @held = (
	[ 'I8', 'a lock that somebody holds', 'x_participant', "SELECT applied FROM wf_lock('$H', wait_ms => 0)", 'WF005', $p, '55P03' ],
	[ 'I8', 'the same for a decision', 'x_participant', "SELECT applied FROM wf_transition('$H', 'SUBMITTED', 'APPROVED', 1, 1, wait_ms => 0)", 'WF005', $p, '55P03' ],
);

my @elsewhere = (
	# I6: tokens.
	[ 'by_token', 'I6', 'no token', 'x_participant', 'SELECT actor FROM wf_whoami()', 'WF007', $nothing, 'ann', "SELECT wf_authenticate('$ann'); SELECT actor FROM wf_whoami()" ],
	[ 'by_token', 'I6', 'not signed at all', 'x_participant', "SELECT actor FROM wf_whoami(identity_token => '$unsigned.$claims.')", 'WF007', $nothing, 'ann', "SELECT naive.claimed('$unsigned.$claims.')" ],
	[ 'by_token', 'I6', 'another person under the signature', 'x_participant', "SELECT actor FROM wf_whoami(identity_token => '$header.$ceo.$signature')", 'WF007', $nothing, 'ceo', "SELECT naive.claimed('$header.$ceo.$signature')" ],
	[ 'by_token', 'I6', 'another person beside the token', 'x_participant', "SELECT actor FROM wf_whoami(identity_token => '$ann', actor => 'ceo')", 'WF007', "SET workflow.identity = 'setting';$trusted", 'ceo', "SELECT actor FROM wf_whoami(actor => 'ceo')" ],
	[ 'by_token', 'I6', 'a setting instead of a token', 'x_backend', "SET workflow.actor = 'ceo'; SELECT actor FROM wf_whoami()", 'WF007', "SET workflow.identity = 'setting';", 'ceo' ],
	[ 'by_token', 'I6', 'claims instead of a token', 'x_backend', q{SET request.jwt.claims = '{"sub": "ceo", "tenant": "mine"}'; SELECT actor FROM wf_whoami()}, 'WF007', "SET workflow.identity = 'claims';", 'ceo' ],
	[ 'by_token', 'I6', 'finds the keys', 'x_participant', 'SELECT wf_version(); SHOW workflow.token_keys', '42501', 'GRANT pg_read_all_settings TO x_participant;', $keys ],
	[ 'by_token', 'I6', 'reads the key file', 'x_participant', "SELECT length(pg_read_file('$keys')) > 0", '42501', $superuser, 't' ],
	[ 'by_token', 'I6', 'brings its own keys', 'x_participant', "SELECT wf_version(); SET workflow.token_keys = '/tmp/mine'; $done", '42501', $superuser, 'written' ],
	[ 'by_token', 'I6', 'brings its own audience', 'x_participant', "SELECT wf_version(); SET workflow.token_audience = 'mine'; $done", '42501', $superuser, 'written' ],
	# I7: nobody is carried over to the next client of a pooled connection.
	[ 'by_token', 'I7', 'after COMMIT', 'x_participant', "BEGIN; SELECT wf_authenticate('$ann'); COMMIT; SELECT actor FROM wf_whoami()", 'WF007', $nothing, 'ann', "SET naive.actor = 'ann'; SELECT naive.by_setting()" ],
	[ 'by_token', 'I7', 'after ROLLBACK', 'x_participant', "BEGIN; SELECT wf_authenticate('$ann'); ROLLBACK; SELECT actor FROM wf_whoami()", 'WF007', $nothing, 'ann', "SELECT wf_authenticate('$ann'); SELECT actor FROM wf_whoami()" ],
	[ 'by_token', 'I7', 'after an error', 'x_participant', "BEGIN; SELECT wf_authenticate('$ann'); SELECT 1 FROM nowhere; COMMIT; SELECT actor FROM wf_whoami()", '42P01', $nothing, 'ann', "SELECT wf_authenticate('$ann'); SELECT actor FROM wf_whoami()" ],
	[ 'by_token', 'I7', 'after a prepared transaction', 'x_participant', "BEGIN; SELECT wf_authenticate('$ann'); PREPARE TRANSACTION 'x'; SELECT actor FROM wf_whoami()", 'WF007', $nothing, 'ann', "SELECT wf_authenticate('$ann'); SELECT actor FROM wf_whoami()" ],
	[ 'by_token', 'I7', 'after DISCARD ALL', 'x_participant', "SELECT wf_authenticate('$ann'); DISCARD ALL; SELECT actor FROM wf_whoami()", 'WF007', $nothing, 'ann', "SELECT wf_authenticate('$ann'); DISCARD PLANS; SELECT actor FROM wf_whoami()" ],
	[ 'by_token', 'I7', 'inside a block that commits', 'x_participant', "DO \$\$ BEGIN PERFORM wf_authenticate('$ann'); COMMIT; PERFORM wf_whoami(); END \$\$; SELECT 'kept'", 'WF007', $nothing, 'kept', "DO \$\$ BEGIN PERFORM wf_authenticate('$ann'); PERFORM wf_whoami(); END \$\$; SELECT 'kept'" ],
	[ 'by_token', 'I7', 'after a savepoint was rolled back', 'x_participant', "BEGIN; SAVEPOINT s; SELECT wf_authenticate('$ann'); ROLLBACK TO s; SELECT actor FROM wf_whoami()", 'WF007', $nothing, 'ann', "SAVEPOINT s; SELECT wf_authenticate('$ann'); RELEASE s; SELECT actor FROM wf_whoami()" ],
	[ 'by_token', 'I7', 'in the views', 'x_participant', "SELECT wf_authenticate('$ann'); SELECT coalesce(workflow.current_tenant(), 'nobody')", 'nobody', $nothing, 'token-a', "SELECT wf_authenticate('$ann'); SELECT coalesce(workflow.current_tenant(), 'nobody')" ],
	[ 'app', 'I7', 'after wf_as', 'x_backend', "SELECT wf_as('theirs', 'boss'); SELECT actor FROM wf_whoami()", 'x_backend', $nothing, 'boss', "SELECT wf_as('theirs', 'boss'); SELECT actor FROM wf_whoami()" ],
	# Claims of a gateway, from somebody who came in by another way; logins that prove themselves.
	[ 'by_claims', 'I4', 'sets the claims itself', 'x_participant', q{SET request.jwt.claims = '{"sub": "ceo", "tenant": "mine"}'; SELECT actor FROM wf_whoami()}, 'WF007', $trusted, 'ceo' ],
	[ 'by_claims', 'I4', 'another person than the claims', 'x_backend', q{SET request.jwt.claims = '{"sub": "ann", "tenant": "mine"}'; SELECT actor FROM wf_whoami(actor => 'ceo')}, 'WF007', "SET workflow.identity = 'setting';", 'ceo' ],
	[ 'by_session', 'I5', 'a backend names somebody', 'x_backend', q{SELECT actor FROM wf_whoami(actor => 'ceo')}, 'WF007', "SET workflow.identity = 'setting';", 'ceo' ],
	[ 'by_session', 'I5', 'a superuser names somebody', 'postgres', q{SELECT actor FROM wf_whoami(actor => 'ceo')}, 'WF007', "SET workflow.identity = 'setting';", 'ceo' ],
);

sub run_as
{
	my ($database, $login, $sql) = @_;
	my ($out, $err);
	$node->psql($database, "\\set VERBOSITY sqlstate\n$sql", stdout => \$out, stderr => \$err,
		on_error_stop => 0, extra_params => [ '-U', $login ]);
	return $1 if $err =~ /(?:ERROR|FATAL):\s+(\w{5})\b/;
	return (split /\n/, $out)[-1] // "nothing: $err";
}

sub judge
{
	my ($database, $invariant, $name, $login, $attack, $expected, $control, $succeeds, $instead) = @_;
	is(run_as($database, $login, $attack), $expected, "$invariant, $login: $name");
	my $as = $login eq 'postgres' ? '' : "SET SESSION AUTHORIZATION $login;";
	is(run_as($database, 'postgres', "BEGIN;\n$control\n$as\n" . ($instead // $attack) . ";\nROLLBACK;"),
		$succeeds, '  control: succeeds without the defence');
}

judge('app', @$_) for @cases;
$node->safe_psql('app', q{BEGIN; SELECT wf_lock(instance_of('held'), tenant => 'theirs', actor => 'ann'); PREPARE TRANSACTION 'held';});
judge('app', @$_) for @held;
$node->safe_psql('app', q{ROLLBACK PREPARED 'held'});
judge(@$_) for @elsewhere;
my $attacks = @cases + @held + @elsewhere;
cmp_ok($attacks, '>=', 60, "there are $attacks attacks");

# Whatever is wrong with an object that is not one's own, it is wrong in the same words.
my @said = map { my ($out, $err); $node->psql('app', "\\set VERBOSITY verbose\nSELECT wf_get('$_')", stderr => \$err, extra_params => [ '-U', 'x_participant' ]); $err =~ s/psql:<stdin>:\d+: //g; $err }
	($F, '00000000-0000-7000-8000-000000000000');
is($said[0], $said[1], 'I8: absent and foreign, word by word');
unlike($said[0], qr/hunter2|theirs|\Q$F\E/, 'and nothing of the other tenant in it');
isnt(run_as('app', 'postgres', "SELECT naive.exists('$F')"), run_as('app', 'postgres', "SELECT naive.exists(gen_random_uuid())"), '  control: a naive check tells them apart');

# I9: events are what the outbox says, whoever shouts: a notification and a WAL message can be forged by anybody.
my $events = 'SELECT count(*) FROM workflow.outbox';
my $before = value($node, 'app', $events);
is(run_as('app', 'x_nobody', "SELECT pg_notify('workflow', 'APPROVE'); SELECT 'sent'"), 'sent', 'I9: anybody can notify');
is(run_as('app', 'x_nobody', "SELECT pg_logical_emit_message(true, 'workflow', 'APPROVE'); SELECT 'sent'"), 'sent', 'I9: anybody can write to the log');
is_value($node, 'app', $events, $before, 'and no event came of it');

# The installation.
$node->safe_psql('postgres', 'CREATE DATABASE trapped');
$node->safe_psql('trapped', 'CREATE ROLE trapper LOGIN; GRANT CREATE ON DATABASE trapped TO trapper; GRANT CREATE ON SCHEMA public TO trapper');
is(run_as('trapped', 'trapper', 'CREATE EXTENSION workflow'), '42501', 'install: not by just anybody');
run_as('trapped', 'trapper', 'CREATE SCHEMA workflow');
is(sqlstate($node, 'trapped', 'CREATE EXTENSION workflow'), '42P06', 'install: a schema that waits there is not adopted');
run_as('trapped', 'trapper', q{DROP SCHEMA workflow; CREATE FUNCTION wf_grant(name, text) RETURNS text LANGUAGE sql AS 'SELECT $2'});
is(sqlstate($node, 'trapped', 'CREATE EXTENSION workflow'), '42723', 'install: nor is a function');
run_as('trapped', 'trapper', q{DROP FUNCTION wf_grant(name, text);
	CREATE FUNCTION no(text, text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE SQLSTATE $$EV001$$; END';
	CREATE OPERATOR = (FUNCTION = no, LEFTARG = text, RIGHTARG = text);
	CREATE FUNCTION format(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE SQLSTATE $$EV002$$; END'});
is(run_as('trapped', 'postgres', q{SET search_path = public, pg_catalog; SELECT format('a', 'b')}), 'EV002', '  control: the trap is set');
is(sqlstate($node, 'trapped', 'SET search_path = public, pg_catalog; CREATE EXTENSION workflow'), '', 'install: operators and functions in its schema are passed by');
is(value($node, 'trapped', 'SELECT count(*) FROM wf_enable_tenancy()'), '0', 'and do not reach it later');

# What the attacks left behind.
$node->safe_psql('by_token', q{ROLLBACK PREPARED 'x'});
is_sound($node, 'app', 'after all that wf_verify() finds nothing');
is_value($node, 'app', 'SELECT count(*) FROM wf_enable_tenancy()', '0', 'and row-level security is as it was');
my $log = slurp_file($node->logfile);
like($log, qr/identity_token =>/, 'every statement was logged');
unlike($log, qr/bm90IGEgc2VjcmV0/, 'but no key');
unlike($log, qr/XX000|was terminated by signal|PANIC/, 'no internal error');
my $bindir = $node->config_data('--bindir');
my ($dump) = run_command([ "$bindir/pg_dumpall", '-d', $node->connstr('postgres') ]);
like($dump, qr/workflow\.token_keys/, 'a dump names the key file');
unlike($dump, qr/bm90IGEgc2VjcmV0|6kpsY-KcUgq/, 'and has no key');

# pg_locks shows everybody the number of a key lock. It is another one for the same key in another installation, so nobody
# who knows how it is made can tell which key it is by trying names. The number is found where it can be: by holding the key.
{
	my $numbers = sub {
		my ($database) = @_;
		my $number = "SELECT string_agg(classid || ':' || objid, ' ' ORDER BY classid, objid) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
		return $node->safe_psql($database, "BEGIN; SELECT count(*) FROM wf_start('review', 'guessed', '{}', request_id => 'guessed', tenant => 'theirs'); $number; ROLLBACK;");
	};
	install($node, 'elsewhere');
	$node->safe_psql('elsewhere', q{SELECT count(*) FROM wf_define(wf_export('review'), tenant => 'theirs')});
	my ($here, $again, $elsewhere) = ($numbers->('app'), $numbers->('app'), $numbers->('elsewhere'));
	like($here, qr/^1\n\d+:\d+ \d+:\d+$/, 'the numbers of two keys are seen');
	is($again, $here, 'control: the same key has the same number, else it would lock nothing');
	my %seen = map { $_ => 1 } split(/\s+/, $here);
	ok(!(grep { $_ ne '1' && $seen{$_} } split(/\s+/, $elsewhere)), 'and another one in another installation');
	is($node->psql('app', 'SELECT salt FROM workflow.secret', extra_params => [ '-U', 'x_operator' ]), 3, 'what makes the difference is for nobody');
}

done_testing();
