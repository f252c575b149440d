# kill -9 of a backend, and then of the postmaster, in the middle of concurrent transitions. Every
# decision that a client was told about is in the history, exactly once; nothing is half-done. What a
# client was not told of, it learns by sending the command again with its request key.
#
# WORKFLOW_CRASHES sets how many times the postmaster is killed; `make chaos` kills it 200 times.
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

my $crashes = $ENV{WORKFLOW_CRASHES} // 3;
my $clients = 4;

# A killed backend makes the server start again by itself; fsync is on, as for anybody who cares.
my $node = new_node('main', 'fsync = on', 'restart_after_crash = on', 'workflow.log_refusals = off');
install($node, 'app');
$node->safe_psql(
	'app', q{SELECT wf_start('review', 'hot', '{"page": 1}', actor => 'sue');
	ALTER DATABASE app SET workflow.wait_ms = '2s'});

# What one client does, again and again: start a case of its own and decide it, and add a note to
# the case that all of them share. It prints what it was told after the commit.
sub client_script
{
	my ($client, $round) = @_;
	my $script = '';
	for my $i (1 .. 3000)
	{
		my $key = "$round-$client-$i";
		$script .= <<"SQL";
SELECT 'started', '$key' FROM wf_start('review', '$key', '{"page": 1}', actor => 'c$client', request_id => 's$key', on_refusal => 'return') WHERE applied;
SELECT 'approved', '$key' FROM wf_try_transition(instance_of('$key'), 'SUBMITTED', 'APPROVED', 1, 1, actor => 'c$client', request_id => 'a$key') WHERE applied;
SELECT 'noted', '$key' FROM wf_send(instance_of('hot'), 'NOTE', actor => 'c$client', request_id => 'n$key', on_refusal => 'return') WHERE applied;
SQL
	}
	return $script;
}

# Of the last round; and in all: acknowledged, lost, doubled; not known to their clients, and of these
# carried out before the crash.
my @told;
my %count = map { $_ => 0 } qw(kills acknowledged lost doubled unknown done);

sub under_load
{
	my ($round, $kill) = @_;
	my (@runs, @out);
	for my $client (1 .. $clients)
	{
		my $script = client_script($client, $round);
		$out[$client] = '';
		push @runs, IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app') ],
			'<', \$script, '>', \$out[$client], '2>', '/dev/null');
	}
	my $until = time + 60;
	while (grep { ($out[$_] =~ tr/\n//) < 100 } 1 .. $clients)
	{
		$_->pump_nb for @runs;
		die 'the clients do not get on' if time > $until;
		sleep 0.02;
	}
	$kill->();
	eval { $_->finish } for @runs;
	# An answer cut off in the middle was not given.
	@told = map { $_ =~ s/[^\n]*\z//r } @out[ 1 .. $clients ];
	$count{kills}++;
}

# Each client goes on where it was cut off: it sends again what it has no answer to.
sub resolve
{
	my ($round) = @_;
	my $again = '';
	for my $client (1 .. $clients)
	{
		my ($last) = $told[ $client - 1 ] =~ /-(\d+)\n\z/;
		for my $i ($last, $last + 1)
		{
			my $key = "$round-$client-$i";
			my %told = map { $_ => 1 } $told[ $client - 1 ] =~ /^(\w+)\|\Q$key\E$/mg;
			my %step = (
				started => qq{wf_start('review', '$key', '{"page": 1}', actor => 'c$client', request_id => 's$key', on_refusal => 'return')},
				approved => qq{wf_try_transition(instance_of('$key'), 'SUBMITTED', 'APPROVED', 1, 1, actor => 'c$client', request_id => 'a$key')},
				noted => qq{wf_send(instance_of('hot'), 'NOTE', actor => 'c$client', request_id => 'n$key', on_refusal => 'return')});
			$again .= "SELECT '$_', '$key', applied, replayed FROM $step{$_};\n" for grep { !$told{$_} } qw(started approved noted);
		}
	}
	my @answers = split /\n/, value($node, 'app', $again);
	is(scalar(grep { !/\|t\|[tf]$/ } @answers), 0, scalar(@answers) . " commands without an answer have one now, $round");
	$count{unknown} += @answers;
	$count{done} += grep { /\|t\|t$/ } @answers;
	push @told, join '', map { /^(\w+\|[^|]+)/ ? "$1\n" : () } @answers;
}

# Everything told is there once, and what was not told is there once or not at all.
sub is_right
{
	my ($name) = @_;
	my @lines = map { split /\n/ } @told;
	my $values = join ',', map { my ($what, $key) = split /\|/; "('$what','$key')" } @lines;
	cmp_ok(scalar @lines, '>', 100, scalar(@lines) . " answers, $name");
	my ($lost, $doubled) = split /\|/, value(
		$node, 'app', qq{
		CREATE TEMP TABLE told (what text, key text);
		INSERT INTO told VALUES $values;
		SELECT count(*) FILTER (WHERE n = 0), count(*) FILTER (WHERE n > 1) FROM (
			SELECT t.what, t.key, count(h.*) AS n FROM told t
			LEFT JOIN workflow.history h ON h.instance_id = instance_of(CASE t.what WHEN 'noted' THEN 'hot' ELSE t.key END)
				AND CASE t.what WHEN 'started' THEN h.step = 'start' WHEN 'approved' THEN h.event = 'APPROVE'
					ELSE h.request_id = 'n' || t.key END
			GROUP BY 1, 2) s});
	is("$lost lost, $doubled doubled", '0 lost, 0 doubled', "every acknowledged step is there exactly once, $name");
	$count{acknowledged} += @lines;
	$count{lost} += $lost;
	$count{doubled} += $doubled;
	is_value($node, 'app', q{SELECT request_id, count(*) FROM workflow.history WHERE request_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1},
		'', "no request was carried out twice, $name");
	is_value($node, 'app', q{SELECT count(*) FROM workflow.history h FULL JOIN workflow.requests r USING (tenant_id, request_id)
		WHERE (h.request_id IS NULL AND h.instance_id IS NOT NULL AND h.actor <> 'sue') OR (r.request_id IS NULL AND h.actor <> 'sue')
			OR h.instance_id IS NULL}, '0', "each request has its step and each step its request, $name");
	is_sound($node, 'app', "wf_verify() finds nothing, $name");
}

under_load(
	'backend',
	sub {
		my $pid = value($node, 'app',
			q{SELECT pid FROM pg_stat_activity WHERE datname = 'app' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1});
		kill 'KILL', $pid;
		sleep 0.1;
	});
my $tries = 300;
sleep 0.1 until run_log([ 'psql', '-XAtq', '-d', $node->connstr('app'), '-c', 'SELECT 1' ]) || !$tries--;
cmp_ok($tries, '>', 0, 'the server comes back after a backend was killed');
resolve('backend');
is_right('after kill -9 of a backend');

for my $crash (1 .. $crashes)
{
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	under_load("crash$crash", sub { $node->kill9 });
	# Itself until somebody has taken notice, and its backends, may live a moment longer.
	$tries = 200;
	sleep 0.1 while kill(0, $postmaster) && $tries--;
	sleep 0.1 until $node->start(fail_ok => 1) || !$tries--;
	resolve("crash$crash");
	is_right("after kill -9 of the postmaster, $crash");
}

# An immediate stop is a crash that somebody asked for.
under_load('immediate', sub { $node->stop('immediate') });
$node->start;
resolve('immediate');
is_right('after an immediate stop');

diag("$count{kills} kills, $count{acknowledged} acknowledged, $count{lost} lost, $count{doubled} doubled; "
	. "$count{unknown} asked for again by request key, of which $count{done} had been carried out");

# Work goes on.
is_value($node, 'app', q{SELECT applied, state FROM wf_send(instance_of('hot'), 'NOTE', actor => 'ann')}, 't|SUBMITTED', 'work goes on');
is_sound($node, 'app');

done_testing();
