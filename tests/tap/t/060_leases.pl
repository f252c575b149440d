# What becomes of leases when servers die and databases move: a killed client, a killed backend, a killed
# postmaster, a promoted standby, prepared transactions, restored dumps. A lease is never held by two, no
# number is given twice, and who is refused writes nothing, not even a byte of WAL.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use WorkflowTest;

my $node = new_node('primary', 'fsync = on', 'restart_after_crash = on', 'max_prepared_transactions = 5',
	'autovacuum = off', "bgwriter_lru_maxpages = 0", "workflow.lease_grace = '20s'");
install($node, 'app');
$node->safe_psql(
	'app', q{
	CREATE TABLE tenure (key text, who text, token uuid, fence bigint);
	CREATE FUNCTION take(key text, who text, ttl_ms int DEFAULT 60000) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE l workflow.lease;
	BEGIN
		SELECT * INTO l FROM wf_lease_acquire(key, ttl_ms, who);
		IF l.acquired THEN INSERT INTO tenure VALUES (key, who, l.token, l.fence); END IF;
		RETURN CASE WHEN l.acquired THEN 'acquired' ELSE concat_ws(' by ', l.reason, l.holder) END;
	END $$;
	SELECT wf_start('review', 'case', '{"page": 1}')});

sub fence { return value($node, 'app', "SELECT max(fence) FROM tenure WHERE key = '$_[0]'") }
sub is_taken { my ($key, $who, $expected, $name) = @_; is_value($node, 'app', "SELECT take('$key', '$who')", $expected, $name) }

sub comes_back
{
	my $tries = 300;
	sleep 0.1 until run_log([ 'psql', '-XAtq', '-d', $node->connstr('app'), '-c', 'SELECT 1' ]) || !$tries--;
	cmp_ok($tries, '>', 0, 'the server comes back');
}

# A refusal and WAL.
{
	is_taken('hot', 'ann', 'acquired', 'taken');
	my $refuse = q{SELECT count(*) FILTER (WHERE acquired) FROM generate_series(1, 1000), wf_lease_acquire('hot', 1000, 'bob')};
	my $many = q{SELECT count(*) FILTER (WHERE acquired) FROM generate_series(1, 200), wf_lease_acquire_many(ARRAY['hot', 'cold'], 1000, 'bob')};
	my $waits = q{SELECT acquired FROM wf_lease_acquire('hot', 1000, 'bob', wait_ms => 200)};
	# Catalogue caches and hint bits; then nothing else is at work.
	$node->safe_psql('app', "$refuse; $many; $waits; CHECKPOINT");
	my $psql = session($node, 'app');
	my $session = sub { $psql->("$_[0];") };
	$session->("$refuse; $many");
	$session->('CHECKPOINT');
	my $wal = 'SELECT pg_current_wal_insert_lsn()';
	my ($before, $xid) = ($session->($wal), $session->('SELECT txid_snapshot_xmax(txid_current_snapshot())'));
	is($session->($refuse), '0', 'a thousand are refused');
	is($session->($many), '0', 'and two hundred who want several');
	is($session->($waits), 'f', 'and one who waits');
	my $after = $session->($wal);
	is($session->("SELECT '$after'::pg_lsn - '$before'::pg_lsn"), '0', 'WAL bytes for 1201 refusals');
	is($session->('SELECT txid_snapshot_xmax(txid_current_snapshot())'), $xid, 'no transaction ids for them');
	is($session->(q{SELECT count(*) FROM workflow.lease_log WHERE holder = 'bob'}), '0', 'and no rows');
	my $grant = $session->($wal);
	$session->(q{SELECT acquired FROM wf_lease_acquire('cold', 1000, 'bob')});
	cmp_ok($session->("SELECT pg_current_wal_insert_lsn() - '$grant'::pg_lsn"), '>', 0, 'while a grant writes some');
	$psql->();
}

# L7: a client that is killed keeps its lease for its time and nothing else.
{
	my $in = "SELECT take('killed', 'ann', 1500);\n";
	my $out = '';
	my $client = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('app') ], '<', \$in, '>', \$out);
	$client->pump until $out =~ /acquired/;
	$client->kill_kill(grace => 0);
	is_taken('killed', 'bob', 'held by ann', 'L7: the lease of a killed client is held for its time');
	is_value($node, 'app', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}, '0', 'L7: nothing is left in pg_locks');
	sleep 1.6;
	is_taken('killed', 'bob', 'acquired', 'L7: after its time the key is free');
}

# Prepared transactions: nobody knows how it ends.
{
	$node->safe_psql('app', q{BEGIN; SELECT take('prepared', 'ann', 300); PREPARE TRANSACTION 'lease'});
	is_taken('prepared', 'bob', 'busy', 'a lease in a prepared transaction is busy');
	$node->restart;
	sleep 0.4;
	is_taken('prepared', 'bob', 'busy', 'also after a restart and after its time');
	$node->safe_psql('app', q{ROLLBACK PREPARED 'lease'});
	my $highest = value($node, 'app', 'SELECT last_value FROM workflow.lease_fence');
	is_taken('prepared', 'bob', 'acquired', 'and free once that is undone');
	cmp_ok(fence('prepared'), '>', $highest - 1, 'with a number of its own');
	$node->safe_psql('app', q{BEGIN; SELECT take('prepared', 'cora', 300) FROM wf_lease_steal('prepared', 1, 'test'), pg_sleep(0.01);
		SELECT released FROM wf_lease_release('prepared', (SELECT token FROM workflow.leases WHERE key = 'prepared'));
		PREPARE TRANSACTION 'release'; COMMIT PREPARED 'release'});
	is_taken('prepared', 'dora', 'acquired', 'a prepared release frees it when it is committed');
}

# kill -9 of a backend: the server starts anew by itself. Who had a lease could not renew meanwhile.
{
	is_taken('crash', 'ann', 'acquired', 'taken before the crash');
	is_taken('long', 'ann', 'acquired', 'another one');
	my $before = value($node, 'app', 'SELECT last_value FROM workflow.lease_fence');
	# Its holder is told the number in a transaction that never ends.
	my $open = session($node, 'app', quiet => 1);
	my $told = $open->(q{BEGIN; SELECT fence FROM wf_lease_acquire('open', 60000);});
	cmp_ok($told, '>', $before, 'a number is told in an open transaction');
	$node->safe_psql('app', q{UPDATE workflow.leases SET expires_at = clock_timestamp() + interval '100 ms' WHERE key = 'crash'});
	my $pid = $open->('SELECT pg_backend_pid();');
	kill 'KILL', $pid;
	sleep 0.3;
	comes_back();
	eval { $open->() };
	is_value($node, 'app', q{SELECT held FROM wf_lease_inspect('open')}, 'f', 'what was not committed is gone');
	is_taken('open', 'bob', 'acquired', 'and free');
	cmp_ok(fence('open'), '>', $told, 'its number is not given again');
	is_value($node, 'app', q{SELECT expires_at < clock_timestamp() FROM workflow.leases WHERE key = 'crash'}, 't', 'the time of a lease ran out in the crash');
	is_taken('crash', 'bob', 'held by ann', 'it is held for a grace');
	is_value($node, 'app', q{SELECT renewed FROM wf_lease_renew('crash', (SELECT token FROM tenure WHERE key = 'crash'), 300)}, 't', 'in which its holder renews it');
	is_taken('long', 'bob', 'held by ann', 'one that had not run out is held');
	sleep 0.4;
	is_taken('crash', 'bob', 'acquired', 'a renewed one has no grace any more');
	is_value($node, 'app', q{SELECT applied FROM wf_send(instance_of('case'), 'NOTE', lease_key => 'long', fence => (SELECT max(fence) FROM tenure WHERE key = 'long'))},
		't', 'the holder still writes under it');
	is_value($node, 'app', q{SELECT code FROM wf_send(instance_of('case'), 'NOTE', lease_key => 'open', fence => } . $told . q{, on_refusal => 'return')},
		'WF009', 'the one whose transaction died does not');
}

# kill -9 of the postmaster.
{
	my $fence = fence('long');
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	is_taken('last', 'ann', 'acquired', 'taken just before the end');
	my $last = fence('last');
	$node->kill9;
	my $tries = 200;
	sleep 0.1 while kill(0, $postmaster) && $tries--;
	sleep 0.1 until $node->start(fail_ok => 1) || !$tries--;
	is(fence('last'), $last, 'a grant that was acknowledged is there');
	is_taken('last', 'bob', 'held by ann', 'and holds');
	is(fence('long'), $fence, 'fences are as they were');
	is_taken('after', 'ann', 'acquired', 'the next');
	cmp_ok(fence('after'), '>', $last, 'has a higher number');
	is_sound($node, 'app');
}

# A standby: who wants a lease is told 25006; who looks sees it. Promoted, numbers begin above all that were given, also
# above those that had not arrived.
my $standby;
{
	$node->backup('backup');
	$standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->start;
	is_taken('standby', 'ann', 'acquired', 'taken on the primary');
	$node->wait_for_catchup($standby);
	is(sqlstate($standby, 'app', q{SELECT * FROM wf_lease_acquire('standby', 1000)}), '25006', 'on a standby: acquire');
	is(sqlstate($standby, 'app', q{SELECT * FROM wf_lease_renew('standby', gen_random_uuid(), 1000)}), '25006', 'on a standby: renew');
	is_value($standby, 'app', q{SELECT held, holder FROM wf_lease_inspect('standby')}, 't|ann', 'on a standby: inspect');
	is_value($standby, 'app', q{SELECT count(*) FROM workflow.held_leases WHERE key = 'standby'}, '1', 'on a standby: held_leases');
	my $arrived = fence('standby');
	# The network is gone; the primary goes on.
	$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
	$standby->reload;
	ok($node->poll_query_until('app', q{SELECT NOT EXISTS (SELECT FROM pg_stat_replication)}), 'the standby is cut off');
	$node->safe_psql('app', q{SELECT count(*) FROM generate_series(1, 100) n, wf_lease_acquire('lost ' || n, 60000)});
	is_taken('contested', 'ann', 'acquired', 'taken where nobody will see it');
	my $lost = fence('contested');
	$standby->promote;
	is_value($standby, 'app', q{SELECT take('standby', 'bob')}, 'held by ann', 'after promotion a lease holds');
	my $fence = value($standby, 'app', q{SELECT fence FROM wf_lease_acquire('contested', 60000, 'bob')});
	cmp_ok($fence, '>', $lost, 'a key that was taken again has a higher number');
	cmp_ok($lost, '>', $arrived, 'than the one that was lost');
	is_value($standby, 'app', qq{SELECT code FROM wf_send(instance_of('case'), 'NOTE', lease_key => 'contested', fence => $lost, on_refusal => 'return')},
		'WF009', 'under which nothing is written any more');
	is_sound($standby, 'app');
}

# Dumps, into the same cluster under another name and into another cluster: the leases are void, and numbers leap.
{
	my $other = new_node('other');
	my $bindir = $node->config_data('--bindir');
	my $file = "$PostgreSQL::Test::Utils::tmp_check/leases.sql";
	command_ok([ "$bindir/pg_dump", '-d', $node->connstr('app'), '-f', $file ], 'dump');
	is_taken('after the dump', 'ann', 'acquired', 'the source goes on');
	my ($known, $unknown) = (fence('long'), fence('after the dump'));
	for my $target ($node, $other)
	{
		my $name = $target->name;
		$target->safe_psql('postgres', 'CREATE DATABASE restored');
		command_ok([ "$bindir/psql", '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $target->connstr('restored'), '-f', $file ], "restore into $name");
		is_value($target, 'restored', q{SELECT count(*) FROM workflow.held_leases}, '0', "$name: nobody holds a lease");
		is_value($target, 'restored', q{SELECT reason FROM wf_lease_renew('long', (SELECT token FROM workflow.leases WHERE key = 'long'), 1000)},
			'void', "$name: nor renews one");
		is_value($target, 'restored', qq{SELECT code FROM wf_send(instance_of('case'), 'NOTE', lease_key => 'long', fence => $known, on_refusal => 'return')},
			'WF009', "$name: nor writes under one");
		is_value($target, 'restored', q{SELECT take('long', 'bob'), take('after the dump', 'bob')}, 'acquired|acquired', "$name: all are free");
		is_value($target, 'restored', qq{SELECT bool_and(fence > $unknown + (1::bigint << 31)) FROM tenure WHERE who = 'bob' AND key IN ('long', 'after the dump')},
			't', "$name: fences are beyond what the source gave since");
		is_value($target, 'restored', qq{SELECT ended FROM workflow.lease_log WHERE key = 'long' AND fence = $known}, 'void', "$name: the log says so");
		is_sound($target, 'restored');
	}
}

done_testing();
