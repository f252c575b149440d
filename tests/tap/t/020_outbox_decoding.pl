# The outbox as change data capture reads it: logical decoding gives every event that was committed, each
# once, in the order of the commits and of the revisions of each instance, and nothing else, also when the
# postmaster is killed in the middle. Removing an event is no news.
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

my $node = new_node('main', 'fsync = on', 'wal_level = logical', 'max_replication_slots = 4', 'max_wal_senders = 4',
	'workflow.log_refusals = off');
my $plugin = $node->config_data('--pkglibdir') . '/test_decoding';
plan skip_all => 'this server comes without test_decoding' if !-e "$plugin.so" && !-e "$plugin.dylib";
install($node, 'app');
value($node, 'app', q{SELECT slot_name FROM pg_create_logical_replication_slot('outbox', 'test_decoding')});
$node->safe_psql('app', q{SELECT wf_start('review', 'hot', '{"page": 1}', actor => 'sue'); SELECT wf_outbox_subscribe('mail', true);
	ALTER DATABASE app SET workflow.wait_ms = '2s'});

my $clients = 3;

sub client_script
{
	my ($client, $round) = @_;
	my $script = '';
	for my $i (1 .. 3000)
	{
		my $key = "$round-$client-$i";
		$script .= qq{SELECT 1 FROM wf_start('review', '$key', '{"page": 1}', on_refusal => 'return');
BEGIN; SELECT 1 FROM wf_send(instance_of('$key'), 'NOTE'); SAVEPOINT s; SELECT 1 FROM wf_send(instance_of('hot'), 'NOTE', on_refusal => 'return'); ROLLBACK TO s;
SELECT 1 FROM wf_send(instance_of('$key'), 'NOTE'); COMMIT;
BEGIN; SELECT 1 FROM wf_send(instance_of('$key'), 'NOTE'); ROLLBACK;
SELECT 1 FROM wf_send(instance_of('hot'), 'NOTE', on_refusal => 'return');
};
	}
	return $script;
}

# A consumer at the same time, so that events are removed while others come in.
my $consume = join '', map {
	q{SELECT count(*) FROM (SELECT claim, array_agg(id) AS ids FROM wf_outbox_claim('mail', 20) GROUP BY 1) c CROSS JOIN LATERAL wf_outbox_ack('mail', c.claim, c.ids);
}
} 1 .. 20000;

sub under_load
{
	my ($round, $kill) = @_;
	my (@runs, @out);
	my @scripts = ((map { client_script($_, $round) } 1 .. $clients), $consume);
	for my $n (0 .. $#scripts)
	{
		$out[$n] = '';
		push @runs, IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app') ],
			'<', \$scripts[$n], '>', \$out[$n], '2>', '/dev/null');
	}
	my $until = time + 60;
	while (grep { ($out[$_] =~ tr/\n//) < 150 } 0 .. $clients - 1)
	{
		$_->pump_nb for @runs;
		die 'the clients do not get on' if time > $until;
		sleep 0.02;
	}
	$kill->();
	eval { $_->finish } for @runs;
}

my @seen;
my $position = 0;

# Decoded transactions in order: the inserts of the outbox; removals are counted. A slot that was not
# checkpointed before a crash begins again further back. Who reads it remembers the last commit.
sub decode
{
	my ($name) = @_;
	my $changes = value($node, 'app',
		q{SELECT lsn - '0/0'::pg_lsn, data FROM pg_logical_slot_get_changes('outbox', NULL, NULL, 'include-xids', '0')
		WHERE data LIKE 'table workflow.outbox:%' OR data LIKE 'COMMIT%'});
	my ($removed, @transaction) = (0);
	for my $line (split /\n/, $changes)
	{
		my ($lsn, $change) = split /\|/, $line, 2;
		if ($change =~ /^COMMIT/)
		{
			if ($lsn > $position)
			{
				push @seen, @transaction;
				$position = $lsn;
			}
			@transaction = ();
		}
		elsif ($change =~ /^table workflow\.outbox: INSERT: .* id\[uuid\]:'([^']+)' .* aggregateid\[text\]:'([^']+)' .* revision\[bigint\]:(\d+) /)
		{
			push @transaction, [ $1, $2, $3 ];
		}
		elsif ($change =~ /^table workflow\.outbox: DELETE:/) { $removed++; }
		else { fail("neither inserted nor removed: $change"); }
	}
	cmp_ok($removed, '>', 0, "$removed events were removed meanwhile, $name");
	return;
}

sub is_right
{
	my ($name) = @_;
	decode($name);
	my (%times, %last);
	my $disorder = 0;
	for my $event (@seen)
	{
		my ($id, $instance, $revision) = @$event;
		$times{"$instance $revision"}++;
		$disorder++ if $revision <= ($last{$instance} // 0);
		$last{$instance} = $revision;
	}
	cmp_ok(scalar @seen, '>', 100, scalar(@seen) . " events decoded so far, $name");
	is($disorder, 0, "each instance in the order of its revisions, $name");
	is(scalar(grep { $_ > 1 } values %times), 0, "none twice, $name");
	# Every step of this machine is published.
	my $stored = join "\n", sort split /\n/, value($node, 'app', q{SELECT instance_id || ' ' || revision FROM workflow.history});
	is(join("\n", sort keys %times) eq $stored, 1, "exactly what was committed, $name");
	is_sound($node, 'app', "wf_verify() finds nothing, $name");
}

# The order of the commits, where the test knows it.
my $first = session($node, 'app');
my $second = session($node, 'app');
$first->(q{BEGIN; SELECT 1 FROM wf_start('review', 'late', '{}');});
$second->(q{SELECT 1 FROM wf_start('review', 'early', '{}');});
$first->(q{COMMIT;});
$second->(q{SELECT 1 FROM wf_send(instance_of('late'), 'NOTE');});
my $changes = value($node, 'app', q{SELECT string_agg(a.business_key || ' ' || o.revision, ', ' ORDER BY c.n)
	FROM (SELECT row_number() OVER () AS n, substring(data from 'id\[uuid\]:''([^'']+)') AS id
	        FROM pg_logical_slot_peek_changes('outbox', NULL, NULL) WHERE data LIKE 'table workflow.outbox: INSERT%') c
	JOIN workflow.outbox o ON o.id::text = c.id JOIN workflow.instances i ON i.id::text = o.aggregateid JOIN workflow.applications a ON a.id = i.application_id});
is($changes, 'hot 1, early 1, late 1, late 2', 'events come in the order of the commits');
$first->();
$second->();

for my $crash (1 .. $ENV{WORKFLOW_CRASHES} // 2)
{
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	under_load("crash$crash", sub { $node->kill9 });
	my $tries = 200;
	sleep 0.1 while kill(0, $postmaster) && $tries--;
	sleep 0.1 until $node->start(fail_ok => 1) || !$tries--;
	is_right("after kill -9 of the postmaster, $crash");
}

# Nothing is lost for the consumer either.
$node->safe_psql('app', q{UPDATE workflow.deliveries SET available_at = clock_timestamp() WHERE claim IS NOT NULL});
my $left = 1;
for (1 .. 2000)
{
	$left = value($node, 'app', q{SELECT count(*) FROM (SELECT claim, array_agg(id) AS ids FROM wf_outbox_claim('mail', 10000) GROUP BY 1) c
		CROSS JOIN LATERAL wf_outbox_ack('mail', c.claim, c.ids)});
	last if !$left;
}
is($left, 0, 'the consumer has worked everything off');
is_value($node, 'app', q{SELECT count(*) FROM workflow.outbox}, '0', 'and nothing is left in the outbox');
is_sound($node, 'app');

done_testing();
