# The background worker, with the library preloaded: due timers of all tenants in every database that has
# the extension, and nobody in the way of DROP EXTENSION, DROP DATABASE, a reload, a restart or a crash.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use WorkflowTest;

my $node = new_node('main', "shared_preload_libraries = 'workflow'", "workflow.worker_interval = '100ms'", 'restart_after_crash = on');

my $TIMER = q{{"id": "wait", "initial": "A", "states": {"A": {"on": {"GO": "B"}, "after": {"100": "B"}}, "B": {"type": "final"}}}};
my $number = 0;

sub prepare
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION workflow; SELECT wf_define('$TIMER', tenant => '*')");
}

# One more instance; its business key.
sub begin
{
	my ($database, $tenant) = @_;
	my $key = 'case ' . ++$number;
	value($node, $database, "SELECT wf_start('wait', '$key', '{}', tenant => '" . ($tenant // 'default') . "')");
	return $key;
}

sub state_of
{
	my ($database, $key) = @_;
	return "SELECT i.state FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id WHERE a.business_key = '$key'";
}

sub fires
{
	my ($database, $key, $name) = @_;
	ok($node->poll_query_until($database, state_of($database, $key), 'B'), $name);
}

sub rests
{
	my ($database, $key, $name) = @_;
	sleep 1;
	is_value($node, $database, state_of($database, $key), 'A', $name);
}

sub launcher
{
	return value($node, 'postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'workflow launcher'});
}

prepare('one');
prepare('two');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
my @keys = (begin('one'), begin('one', 'acme'), begin('two'));
fires('one', $keys[0], 'a timer fires by itself');
fires('one', $keys[1], 'of another tenant, too');
fires('two', $keys[2], 'in another database, too');
is_value(
	$node, 'one',
	"SELECT h.actor || ' ' || h.proof || ' ' || h.event FROM workflow.history h WHERE h.tenant_id = 'acme' AND h.revision = 2",
	'workflow.timer engine after.100', 'in the name of time');
is_value($node, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'workflow launcher'}, '1', 'there is one launcher');
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'workflow worker'}), 'and its workers show');

# More than one batch.
$node->safe_psql('one', "SELECT count(*) FROM generate_series(1, 500) n CROSS JOIN LATERAL wf_start('wait', 'bulk ' || n, '{}') o");
ok($node->poll_query_until('one', q{SELECT count(*) = 500 FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id WHERE a.business_key LIKE 'bulk %' AND i.state = 'B'}),
	'more than one batch');

# A tenant whose timers end every transaction: the ones before and behind it go on.
$node->safe_psql(
	'one', q{
	CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF NEW.event = 'after.100' AND NEW.tenant_id = 'm at commit' THEN RAISE EXCEPTION 'spoilt at commit'; END IF;
		IF NEW.event = 'after.100' AND NEW.tenant_id = 'm at once' THEN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'spoilt at once'; END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER spoil AFTER INSERT ON workflow.history DEFERRABLE INITIALLY IMMEDIATE FOR EACH ROW WHEN (NEW.tenant_id = 'm at once') EXECUTE FUNCTION spoil();
	CREATE CONSTRAINT TRIGGER spoil_later AFTER INSERT ON workflow.history DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.tenant_id = 'm at commit') EXECUTE FUNCTION spoil();});
my $log = -s $node->logfile;
my @spoilt = (begin('one', 'm at once'), begin('one', 'm at commit'));
@keys = (begin('one', 'a'), begin('one', 'z'));
fires('one', $keys[0], 'a tenant before the spoilt ones');
fires('one', $keys[1], 'a tenant behind them');
ok($node->wait_for_log(qr/workflow worker failed: .*"code":"53100".*spoilt at once/, $log), 'the failure is in the log');
ok($node->wait_for_log(qr/workflow worker failed: .*"code":"P0001".*spoilt at commit/, $log), 'and so is that of a commit');
is_value($node, 'one', state_of('one', $_), 'A', 'nothing of it stays') for @spoilt;
$node->safe_psql('one', 'DROP TRIGGER spoil ON workflow.history; DROP TRIGGER spoil_later ON workflow.history');
fires('one', $_, 'when it is mended, it fires') for @spoilt;

# DROP EXTENSION and back again.
my $pid = launcher();
$node->safe_psql('two', 'DROP EXTENSION workflow');
fires('one', begin('one'), 'the other database does not notice');
$node->safe_psql('two', "CREATE EXTENSION workflow; SELECT wf_define('$TIMER', tenant => '*')");
fires('two', begin('two'), 'made again, it is looked after again');

# Nobody holds a database.
my $since = time;
for (1 .. 5)
{
	is($node->psql('postgres', 'CREATE DATABASE copy TEMPLATE two'), 0, 'a database can be copied');
	is($node->psql('postgres', 'ALTER DATABASE copy RENAME TO renamed'), 0, 'renamed');
	is($node->psql('postgres', 'DROP DATABASE renamed'), 0, 'and dropped');
}
is($node->psql('postgres', 'DROP DATABASE two'), 0, 'a database that was looked after can be dropped');
fires('one', begin('one'), 'the other one does not notice');
is(launcher(), $pid, 'all that by the same launcher');

# Settings, by reload.
$node->safe_psql('postgres', 'ALTER SYSTEM SET workflow.worker = off; SELECT pg_reload_conf()');
sleep 0.5;
my $key = begin('one');
rests('one', $key, 'switched off, nothing fires');
$node->safe_psql('postgres', q{ALTER SYSTEM SET workflow.worker_databases = 'plain, two'; ALTER SYSTEM SET workflow.worker = on; SELECT pg_reload_conf()});
rests('one', $key, 'nor does it in a database that is not listed');
$node->safe_psql('postgres', q{ALTER SYSTEM SET workflow.worker_databases = 'plain, one'; SELECT pg_reload_conf()});
fires('one', $key, 'listed, it does');
$node->safe_psql('postgres', q{ALTER SYSTEM RESET workflow.worker_databases; ALTER SYSTEM SET workflow.worker_interval = '1h'; SELECT pg_reload_conf()});
sleep 0.5;
$key = begin('one');
rests('one', $key, 'a long interval is long');
$node->safe_psql('postgres', q{ALTER SYSTEM RESET workflow.worker_interval; SELECT pg_reload_conf()});
fires('one', $key, 'and a short one counts at once');
is(launcher(), $pid, 'all that by the same launcher');

# Ends.
is_value($node, 'postgres', "SELECT pg_terminate_backend($pid)", 't', 'the launcher is told to end');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'workflow launcher' AND pid <> $pid"), 'and there is a new one');
fires('one', begin('one'), 'which works');
$log = -s $node->logfile;
kill 9, launcher();
ok($node->wait_for_log(qr/database system is ready to accept connections/, $log), 'killed, the server starts anew, as for any backend');
$node->poll_query_until('postgres', 'SELECT true');
fires('one', begin('one'), 'and so does the launcher');
cmp_ok(value($node, 'one', 'SELECT count(*) FROM workflow.outbox'), '>', 500, 'nobody has subscribed, and the events are there');
value($node, 'one', q{SELECT wf_start('wait', 'keyed', '{}', request_id => 'k', tenant => 'acme')});
is_value($node, 'one', 'SELECT count(*) FROM workflow.requests', '1', 'a request key is kept');
$node->append_conf('postgresql.conf', "workflow.outbox_retention = 0\nworkflow.request_retention = 0");
$since = time;
$node->stop('fast');
cmp_ok(time - $since, '<', 20, 'a shutdown does not wait for it');
$node->start;
ok($node->poll_query_until('one', 'SELECT count(*) = 0 FROM workflow.outbox'), 'events that nobody waits for go when their time is over');
ok($node->poll_query_until('one', 'SELECT count(*) = 0 FROM workflow.requests'), 'and so do request keys');
fires('one', begin('one'), 'it works after a restart');
is_sound($node, 'one');

# On a standby nobody may write; after a promotion it does.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is_value($standby, 'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'workflow %'}, '0', 'on a standby there is none');
$node->safe_psql('postgres', 'ALTER SYSTEM SET workflow.worker = off; SELECT pg_reload_conf()');
sleep 0.5;
$key = begin('one');
$node->wait_for_catchup($standby);
$node->stop('fast');
$standby->promote;
ok($standby->poll_query_until('one', state_of('one', $key), 'B'), 'after the promotion there is');
is_sound($standby, 'one');

done_testing();
