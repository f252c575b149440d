# A standby is promoted while clients work on the primary. Synchronous: no acknowledged step is missing.
# Asynchronous: what is there is a whole, and what is missing is the end of it. Fences only grow, across the
# promotion as well. pg_rewind makes a standby of the old primary again.
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

# A chain of notes on one instance by one client, each after the answer to the one before.
sub load
{
	my ($node, $round) = @_;
	my $script = '';
	$script .= "SELECT 'noted', '$round-$_' FROM wf_send(instance_of('hot'), 'NOTE', actor => 'c', request_id => '$round-$_', on_refusal => 'return') WHERE applied;\n"
	  for 1 .. 20000;
	my $out = '';
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app') ],
		'<', \$script, '>', \$out, '2>', '/dev/null');
	my $until = time + 60;
	while (($out =~ tr/\n//) < 100)
	{
		$run->pump_nb;
		die 'the client does not get on' if time > $until;
		sleep 0.02;
	}
	return sub {
		eval { $run->finish };
		return map { /\|(.+)/ ? $1 : () } split /\n/, $out =~ s/[^\n]*\z//r;
	};
}

# Of the keys told, in their order, how many are in the history and up to which one without a gap.
sub missing
{
	my ($node, @told) = @_;
	my %there = map { $_ => 1 } split /\n/, value($node, 'app', 'SELECT request_id FROM workflow.history WHERE request_id IS NOT NULL');
	my @there = map { $there{$_} ? 1 : 0 } @told;
	is(join('', @there) =~ /^1*0*$/ ? 1 : 0, 1, 'what is missing is the end, with no gap before it');
	return scalar grep { !$_ } @there;
}

sub fence
{
	my ($node) = @_;
	return value($node, 'app', q{SELECT fence FROM wf_lease_acquire('k' || gen_random_uuid(), 60000, actor => 'a')});
}

my $first = PostgreSQL::Test::Cluster->new('first');
$first->init(allows_streaming => 1, extra => ['--data-checksums']);
$first->append_conf('postgresql.conf', "max_connections = 50\nwal_keep_size = '128MB'\nwal_log_hints = on\n");
$first->start;
install($first, 'app');
$first->safe_psql('app', q{SELECT wf_start('review', 'hot', '{"page": 1}', actor => 'sue')});
$first->backup('backup');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($first, 'backup', has_streaming => 1);
$second->start;
$first->wait_for_catchup($second);

# Synchronous.
$first->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$first->reload;
$first->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
  or die 'no synchronous standby';
my $before = fence($first);
my $told = load($first, 'sync');
my ($postmaster) = slurp_file($first->data_dir . '/postmaster.pid') =~ /^(\d+)/;
$first->kill9;
my @told = $told->();
sleep 0.5;
$second->promote;
cmp_ok(scalar @told, '>=', 100, scalar(@told) . ' steps were acknowledged before the promotion');
is(missing($second, @told), 0, 'synchronous: none of them is missing');
is_sound($second, 'app', 'synchronous: wf_verify() finds nothing on the new primary');
cmp_ok(fence($second), '>', $before, 'fences go on growing on the new primary');
is_value($second, 'app', qq{SELECT replayed FROM wf_send(instance_of('hot'), 'NOTE', actor => 'c', request_id => '$told[-1]', on_refusal => 'return')},
	't', 'the last answer comes again from the new primary');

# The old primary comes back as a standby of the new one.
my $tries = 200;
sleep 0.1 while kill(0, $postmaster) && $tries--;
sleep 0.1 until $first->start(fail_ok => 1) || !$tries--;
$first->stop;
$second->safe_psql('postgres', 'CHECKPOINT');
command_ok(
	[ 'pg_rewind', '--target-pgdata', $first->data_dir, '--source-server', $second->connstr('postgres'), '--no-sync' ],
	'pg_rewind of the old primary');
$first->append_conf('postgresql.conf', "synchronous_standby_names = ''\nport = " . $first->port
	. "\nunix_socket_directories = '" . $first->host . "'");
$first->enable_streaming($second);
$first->start;
$second->wait_for_catchup($first);
is(sqlstate($first, 'app', q{SELECT * FROM wf_send(instance_of('hot'), 'NOTE')}), '25006', 'as a standby it refuses writers');
is_sound($first, 'app', 'and wf_verify() finds nothing there');

# Asynchronous, back again.
$before = fence($second);
$second->wait_for_catchup($first);
$told = load($second, 'async');
$second->stop('immediate');
@told = $told->();
$first->promote;
my $missing = missing($first, @told);
diag(scalar(@told) . " acknowledged, $missing of them missing after an asynchronous promotion");
is_sound($first, 'app', 'asynchronous: wf_verify() finds nothing on the new primary');
cmp_ok(fence($first), '>', $before, 'fences go on growing');
is_value($first, 'app', q{SELECT applied FROM wf_send(instance_of('hot'), 'NOTE', actor => 'ann')}, 't', 'work goes on');

done_testing();
