# One backend, very many commands: its memory stays flat, whether they succeed, are refused as an error
# or as an answer, or wait in vain. As separate statements, and as calls in one transaction with an
# exception handler each.
#
# WORKFLOW_CALLS sets how many of each kind; 1000000 takes an hour on a small machine, so the suite runs fewer.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $calls = $ENV{WORKFLOW_CALLS} // 10000;
my $warm_up = 1000;

my $node = new_node('main', 'fsync = off', 'autovacuum = off', 'jit = off', 'log_min_messages = panic');
install($node, 'app');
$node->safe_psql(
	'app', q{
	ALTER DATABASE app SET workflow.log_refusals = off;
	SELECT wf_start('review', 'case', '{"page": 1}', actor => 'sue'), wf_start('review', 'held', '{"page": 1}', actor => 'sue');});

my ($case, $held) = split /\|/, value($node, 'app', q{SELECT instance_of('case'), instance_of('held')});

# Bytes in memory contexts, and of the process without what it shares with others.
my $backend = session($node, 'app', quiet => 1);
my $measure = q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts;
	SELECT 1024 * substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\s+(\d+)')::bigint;};

sub is_flat
{
	my ($name, $round, $calls) = @_;
	$round->($warm_up);
	$backend->($measure);
	my ($contexts, $process) = split /\n/, $backend->($measure);
	$round->($calls);
	my ($contexts_after, $process_after) = split /\n/, $backend->($measure);
	note(sprintf '%s, %d calls: contexts %d -> %d, process %d -> %d', $name, $calls,
		$contexts, $contexts_after, $process, $process_after);
	cmp_ok($contexts_after - $contexts, '<', 100_000, "$name: memory contexts");
	cmp_ok($process_after - $process, '<', 1_000_000, "$name: process");
}

# Separate statements, which psql reads from a file.
sub separate
{
	my ($sql) = @_;
	return sub {
		my ($count) = @_;
		my $file = "$PostgreSQL::Test::Utils::tmp_check/statements.sql";
		open my $statements, '>', $file or die "$file: $!";
		print $statements "$sql;\n" x $count;
		close $statements or die "$file: $!";
		$backend->("\\o /dev/null\n\\i $file\n\\o");
	};
}

my $stale = "'SUBMITTED', 'APPROVED', 999999999, 1, comment => 'no', payload => '{\"a\": [1, 2, 3]}'";
is_flat('an error, each its statement', separate("SELECT * FROM wf_transition('$case', $stale)"), $calls);
is_flat('an answer, each its statement', separate("SELECT * FROM wf_try_transition('$case', $stale)"), $calls);
is_flat('a success, each its statement',
	separate("SELECT * FROM wf_send('$case', 'NOTE', '{\"a\": [1, 2, 3]}', request_id => gen_random_uuid()::text)"), $calls);
# Somebody who never lets go. Not before now: while a transaction is open, the server keeps the old
# versions of every row, and the successes would be ever slower.
my $holder = session($node, 'app');
$holder->(q{BEGIN; SELECT FROM wf_lock(instance_of('held'));});
is_flat('a wait in vain, raised, each its statement',
	separate("SELECT * FROM wf_send('$held', 'NOTE', wait_ms => 1)"), $calls / 10);
is_flat('a wait in vain, returned, each its statement',
	separate("SELECT * FROM wf_send('$held', 'NOTE', wait_ms => 1, on_refusal => 'return')"), $calls / 10);
is_flat('a reader, each its statement', separate("SELECT * FROM wf_get('$case')"), $calls / 4);

# In one transaction. Measured inside it, for its end gives back what has grown.
$backend->(
	q{CREATE PROCEDURE loop_over(call text, times int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. times LOOP
			BEGIN
				EXECUTE call USING i;
			EXCEPTION WHEN OTHERS THEN
				NULL;
			END;
		END LOOP;
	END $$;});

sub looped
{
	my ($call) = @_;
	return sub { $backend->("CALL loop_over(\$\$$call\$\$, $_[0]);") };
}

$backend->('BEGIN;');
is_flat('an error, in a loop', looped("SELECT * FROM wf_transition('$case', $stale)"), $calls);
is_flat('a reader, in a loop', looped("SELECT * FROM wf_get('$case')"), $calls / 4);
is_flat('a wait in vain, raised, in a loop', looped("SELECT * FROM wf_send('$held', 'NOTE', wait_ms => 1)"), $calls / 10);
$backend->('ROLLBACK;');
is($backend->('SELECT 1;'), '1', 'the backend lives');

is_sound($node, 'app');
$backend->();
$holder->();

done_testing();
