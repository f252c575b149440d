# The library and the SQL objects belong together. After a package upgrade without ALTER EXTENSION every
# function says so, naming both versions, in old backends and new ones; nothing crashes, and as soon as
# it is put right everything works. Dropped and made again in the same session, too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $node = new_node('main');
install($node, 'app');
my $version = value($node, 'app', 'SELECT wf_version()');
$node->safe_psql('app', q{SELECT wf_start('review', 'case', '{"page": 1}', actor => 'sue')});

my $note = q{SELECT applied FROM wf_send(instance_of('case'), 'NOTE', actor => 'ann');};
my %calls = (
	wf_define => q{wf_define(jsonb_build_object('id', 'x'))},
	wf_validate => q{wf_validate('{}')},
	wf_export => q{wf_export('review')},
	wf_start => q{wf_start('review', 'other', '{}')},
	wf_transition => q{wf_transition(instance_of('case'), 'SUBMITTED', 'APPROVED', 1, 1)},
	wf_try_transition => q{wf_try_transition(instance_of('case'), 'SUBMITTED', 'APPROVED', 1, 1)},
	wf_transition_many => q{wf_transition_many('[]')},
	wf_check => q{wf_check(instance_of('case'), 'SUBMITTED', 'APPROVED', 1, 1)},
	wf_send => q{wf_send(instance_of('case'), 'NOTE', on_refusal => 'return')},
	wf_supersede_material => q{wf_supersede_material((SELECT id FROM workflow.applications), 1, '{}')},
	wf_lock => q{wf_lock(instance_of('case'))},
	wf_decide => q{wf_decide(gen_random_uuid(), 'APPROVE', 1, 1)},
	wf_task_claim => q{wf_task_claim(gen_random_uuid())},
	wf_task_release => q{wf_task_release(gen_random_uuid())},
	wf_task_assign => q{wf_task_assign(gen_random_uuid(), 'ann')},
	wf_task_delegate => q{wf_task_delegate(gen_random_uuid(), 'ann')},
	wf_task_transfer => q{wf_task_transfer(gen_random_uuid(), 'ann')},
	wf_seat_add => q{wf_seat_add(instance_of('case'), '{"name": "more", "roles": ["r"]}', 1)},
	wf_seat_remove => q{wf_seat_remove(instance_of('case'), 'more', 1)},
	wf_withdraw => q{wf_withdraw(instance_of('case'), 1)},
	wf_worklist => q{wf_worklist()},
	wf_activate => q{wf_activate('review', 1)},
	wf_cancel => q{wf_cancel(instance_of('case'), 'x', 1)},
	wf_override => q{wf_override(instance_of('case'), 'NOTE', 'x', 1, 1)},
	wf_adopt => q{wf_adopt('review', 'other', 'SUBMITTED', '{}')},
	wf_migrate => q{wf_migrate('review', 1, 2)},
	wf_purge => q{wf_purge('1 day')},
	wf_diagram => q{wf_diagram('review')},
	wf_explain => q{wf_explain(instance_of('case'))},
	wf_get => q{wf_get(instance_of('case'))},
	wf_as => q{wf_as('default', 'ann')},
	wf_authenticate => q{wf_authenticate('x')},
	wf_whoami => q{wf_whoami()},
	wf_limit_set => q{wf_limit_set('seats', -1)},
	wf_member_set => q{wf_member_set('ann', '{}')},
	wf_member_remove => q{wf_member_remove('ann')},
	wf_resource_set => q{wf_resource_set('seats', 1)},
	wf_resource_consume => q{wf_resource_consume('seats', 1)},
	wf_resource_restock => q{wf_resource_restock('seats', 1)},
	wf_resource_consume_many => q{wf_resource_consume_many('[{"resource": "seats", "quantity": 1}]')},
	wf_outbox_subscribe => q{wf_outbox_subscribe('c')},
	wf_outbox_unsubscribe => q{wf_outbox_unsubscribe('c')},
	wf_outbox_claim => q{wf_outbox_claim('c')},
	wf_outbox_ack => q{wf_outbox_ack('c', gen_random_uuid(), '{}')},
	wf_outbox_nack => q{wf_outbox_nack('c', gen_random_uuid(), '{}', 0, 'no')},
	wf_outbox_requeue => q{wf_outbox_requeue('c', '{}')},
	wf_outbox_skip => q{wf_outbox_skip('c', '{}')},
	wf_inbox_accept => q{wf_inbox_accept('s', 'm')},
	wf_lease_acquire => q{wf_lease_acquire('k', 1000)},
	wf_lease_acquire_many => q{wf_lease_acquire_many('{k}', 1000)},
	wf_lease_steal => q{wf_lease_steal('k', 1000, 'test')},
	wf_lease_renew => q{wf_lease_renew('k', gen_random_uuid(), 1000)},
	wf_lease_release => q{wf_lease_release('k', gen_random_uuid())},
	wf_lease_inspect => q{wf_lease_inspect('k')},
	wf_work_take => q{wf_work_take('review', 'S', 'E', 'w')},
	wf_work_finish => q{wf_work_finish(gen_random_uuid(), 1, 'E')},
	wf_work_fail => q{wf_work_fail(gen_random_uuid(), 1, 'no')},
	wf_work_extend => q{wf_work_extend(gen_random_uuid(), 1, 1000)},
	wf_work_give_back => q{wf_work_give_back(gen_random_uuid(), 1)},
	wf_run_due => q{wf_run_due()},
	wf_verify => q{wf_verify()});
is_value(
	$node, 'app', q{
	SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM pg_proc p
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	WHERE p.proname LIKE 'wf\_%' AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')},
	join(' ', sort keys %calls, 'wf_version'), 'every function is called below');

# A backend that has used the extension, one that has only connected, and new ones.
my $old = session($node, 'app');
is($old->($note), 't', 'an old backend has worked');
my $idle = session($node, 'app');
is($idle->('SELECT 1;'), '1', 'another one has not yet');

my $history = value($node, 'app', 'SELECT count(*) FROM workflow.history');
$node->safe_psql('app', q{UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'workflow'});
my $both = qr/0\.0\.9.*\Q$version\E/;
like($idle->($note), $both, 'the idle backend names both versions');
for my $name (sort keys %calls)
{
	my $sql = "SELECT * FROM $calls{$name};";
	my $said = message($node, 'app', $sql);
	like($said, $both, "a new backend, $name");
	like($said, qr/ALTER EXTENSION workflow UPDATE/, 'with the remedy');
}
is_value($node, 'app', 'SELECT wf_version()', $version, 'wf_version() tells the library in any case');
is(sqlstate($node, 'app', $note), '0A000', 'by a code that nobody retries');

# An UPDATE of the catalogue is not seen by backends that know better; ALTER EXTENSION is, because it
# touches functions or tables. Any such change stands in for it here.
my $touch = q{COMMENT ON FUNCTION wf_version() IS 'touched'; ALTER FUNCTION wf_version() COST 2;};
$node->safe_psql('app', $touch);
for my $name (sort keys %calls)
{
	like($old->("SELECT * FROM $calls{$name};"), $both, "the old backend, $name");
}
like($old->("BEGIN; SAVEPOINT s; $note ROLLBACK TO s; SELECT 'alive'; COMMIT;"), qr/^alive$/m, 'in a savepoint, too');
is_value($node, 'app', 'SELECT count(*) FROM workflow.history', $history, 'nothing was written');

$node->safe_psql('app', qq{UPDATE pg_extension SET extversion = '$version' WHERE extname = 'workflow'; $touch});
is($idle->($note), 't', 'put right: the idle backend works');
is($old->($note), 't', 'put right: the old backend works');
is_value($node, 'app', $note, 't', 'put right: a new backend works');
is_sound($node, 'app');

# Dropped: what is left of it in a backend says that it is gone, and does not crash.
my $drop = q{SET client_min_messages = error; DROP EXTENSION workflow CASCADE;};
$old->(q{CREATE FUNCTION stand_in() RETURNS text AS '$libdir/workflow', 'wf_version' LANGUAGE c;
	CREATE FUNCTION whoami() RETURNS record AS '$libdir/workflow', 'wf_whoami' LANGUAGE c;});
is($old->("BEGIN; $drop ROLLBACK; $note"), 't', 'a drop that is rolled back did not happen');
$old->($drop);
like($old->($note), qr/wf_send.*does not exist/, 'after the drop there is no function');
$old->("SELECT whoami(); SELECT stand_in();");
is($old->('SELECT 1;'), '1', 'the library called without its extension does not crash');

# Made again in the same session: new tables, the same plans' text, the same cached definitions.
my $again = qq{CREATE EXTENSION workflow; SELECT version FROM wf_define('$WorkflowTest::REVIEW');
	SELECT state FROM wf_start('review', 'case', '{"page": 1}', actor => 'sue');};
is($old->($again), "1\nSUBMITTED", 'made again in the same session');
is($old->($note), 't', 'and works there');
is($old->('SELECT count(*) FROM workflow.history; SELECT count(*) FROM wf_verify();'), "2\n0", 'on the new tables');
is($idle->($note), 't', 'and in another session that knew the old ones');
for my $round (1 .. 3)
{
	is($old->("$drop $again $note"), "1\nSUBMITTED\nt", "again, round $round");
	is($idle->($note), 't', 'and elsewhere');
}

# Its tables gone under it: only an administrator who insists can do that.
my $insist = q{SET client_min_messages = error; BEGIN;
	ALTER EXTENSION workflow DROP VIEW workflow.dead_letters; DROP VIEW workflow.dead_letters;
	ALTER EXTENSION workflow DROP TABLE workflow.outbox; DROP TABLE workflow.outbox;};
like($old->("$insist $note ROLLBACK;"), qr/outbox.*does not exist/, 'a missing table is named');
$insist =~ s/outbox/instances/g;
like($old->("$insist SELECT * FROM wf_verify(); ROLLBACK;"), qr/ERROR/, 'the missing main table is an error');
is($old->($note), 't', 'and rolled back it works again');
is_sound($node, 'app');

unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|server process .* exited/, 'no backend crashed');
$old->();
$idle->();

done_testing();
