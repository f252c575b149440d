# L14 and what lies around it: workers that are killed lose nothing. Every job is finished once; one whose
# worker is gone is handed out again when its lease has run out, as the next attempt and under a higher fence;
# a worker that comes back late is refused. Eight schedulers run a slot once.
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

my $node = new_node('main', 'fsync = on', 'restart_after_crash = on', 'workflow.log_refusals = off', 'workflow.lease_grace = 500ms');
install($node, 'app');
$node->safe_psql(
	'app', q{SELECT wf_define('{"id": "job", "initial": "READY", "states": {
		"READY": {"meta": {"retry": {}}, "on": {"DONE": "DONE"}}, "DONE": {"type": "final"}}}')});

sub start_jobs
{
	my ($name, $count) = @_;
	$node->safe_psql('app', "SELECT count(*) FROM generate_series(1, $count) n, wf_start('job', '$name ' || n, '{}') o");
}

# What a take gives, as instance, attempt and fence.
my $take = q{SELECT instance_id, attempt, fence FROM wf_work_take('job', 'READY', 'DONE', '%s', 1, %d);};

sub until_taken
{
	my ($worker) = @_;
	for (1 .. 200)
	{
		my $got = value($node, 'app', sprintf $take, $worker, 60000);
		return split /\|/, $got if $got;
		sleep 0.05;
	}
	return;
}

# A client that is killed after its take was committed.
start_jobs('killed', 1);
my ($in, $out) = ('', '');
my $client = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('app') ], '<', \$in, '>', \$out, IPC::Run::timeout(60));
$in .= sprintf("$take\n\\echo taken\n", 'doomed', 400);
$client->pump until $out =~ /taken/;
my (undef, $first, $fence) = split /\|/, (split /\n/, $out)[0];
is($first, 1, 'a worker has a job');
is(value($node, 'app', sprintf $take, 'other', 1000), '', 'nobody else gets it');
$client->kill_kill(grace => 0);
my ($job, $attempt, $higher) = until_taken('next');
is($attempt, 2, 'its worker was killed: the next one gets it, as the second attempt');
cmp_ok($higher, '>', $fence, 'under a higher fence');
is(sqlstate($node, 'app', "SELECT * FROM wf_work_finish('$job', $fence, 'DONE')"), 'WF009', 'the killed one would be refused');
is_value($node, 'app', "SELECT state, revision FROM wf_work_finish('$job', $higher, 'DONE')", 'DONE|2', 'the next one finishes');

# A backend that is killed with signal 9 in the middle of a take and of a finish: the server starts again.
for my $step ('take', 'finish')
{
	start_jobs($step, 1);
	my $before = $step eq 'finish' ? value($node, 'app', sprintf $take, 'doomed', 1000) : '';
	my ($instance, undef, $held) = split /\|/, $before;
	my $session = session($node, 'app', quiet => 1);
	my $pid = $session->('SELECT pg_backend_pid();');
	$session->('BEGIN;');
	like(
		$session->($step eq 'take' ? sprintf $take, 'doomed', 60000 : "SELECT state FROM wf_work_finish('$instance', $held, 'DONE');"),
		$step eq 'take' ? qr/\|1\|/ : qr/^DONE$/, "in the middle of a $step");
	kill 'KILL', $pid;
	my $up = 0;
	for (1 .. 200)
	{
		sleep 0.1;
		last if $up = $node->psql('app', 'SELECT 1', on_error_die => 0) == 0;
	}
	ok($up, 'the server has started again');
	my ($again, $try, $new) = until_taken('next');
	is($try, $step eq 'take' ? 1 : 2, $step eq 'take' ? 'a take that was not committed has not been' : 'a finish that was not committed has not been, and its lease ran out');
	cmp_ok($new, '>', $held // 0, 'the fence has risen');
	is_value($node, 'app', "SELECT state, revision FROM wf_work_finish('$again', $new, 'DONE')", 'DONE|2', 'finished by the next one');
}
is_sound($node, 'app');

# Many workers, some of which are never heard of again after a take; a few come back late.
my ($jobs, $workers) = ($ENV{WORKFLOW_JOBS} // 400, 6);
start_jobs('many', $jobs);
$node->safe_psql(
	'app', q{
	CREATE TABLE told (number serial, worker text, instance uuid, fence bigint, attempt int, what text);
	CREATE PROCEDURE work(worker text, seed double precision) LANGUAGE plpgsql AS $$
	DECLARE
		w record;
		late_instance uuid;
		late_fence bigint;
		late_attempt int;
		late_from timestamptz;
		answer record;
	BEGIN
		PERFORM setseed(seed);
		LOOP
			SELECT * INTO w FROM wf_work_take('job', 'READY', 'DONE', worker, 1, 400);
			IF NOT FOUND THEN
				EXIT WHEN NOT EXISTS (SELECT FROM workflow.work_items);
				COMMIT;
				PERFORM pg_sleep(0.02);
				CONTINUE;
			END IF;
			INSERT INTO told (worker, instance, fence, attempt, what) VALUES (worker, w.instance_id, w.fence, w.attempt, 'taken');
			COMMIT;
			IF random() < 0.05 THEN
				-- as if it had been killed here, or was only slow: then it comes back when its lease is over
				late_instance := w.instance_id; late_fence := w.fence; late_attempt := w.attempt; late_from := w.expires_at;
				CONTINUE;
			END IF;
			SELECT * INTO answer FROM wf_work_finish(w.instance_id, w.fence, 'DONE', actor => worker, on_refusal => 'return');
			INSERT INTO told (worker, instance, fence, attempt, what) VALUES (worker, w.instance_id, w.fence, w.attempt, coalesce(answer.code, 'done'));
			COMMIT;
			IF late_from < clock_timestamp() THEN
				SELECT * INTO answer FROM wf_work_finish(late_instance, late_fence, 'DONE', actor => worker, on_refusal => 'return');
				INSERT INTO told (worker, instance, fence, attempt, what) VALUES (worker, late_instance, late_fence, late_attempt, 'late ' || coalesce(answer.code, 'done'));
				late_from := NULL;
				COMMIT;
			END IF;
		END LOOP;
	END
	$$;});
my @runs = map { IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app'), '-c', "CALL work('w$_', 0.$_)" ]) } 1 .. $workers;
my @failed = grep { !$_->finish } @runs;
is(scalar @failed, 0, 'every worker has come to its end');
is_value($node, 'app', q{SELECT count(*), count(DISTINCT instance) FROM told WHERE what = 'done'}, "$jobs|$jobs", "each of $jobs jobs is finished once");
is_value($node, 'app', q{SELECT count(*) FROM workflow.instances WHERE state <> 'DONE'}, '0', 'none is left');
is_value(
	$node, 'app', q{SELECT count(*) FROM workflow.history h JOIN (SELECT instance, max(fence) AS fence FROM told WHERE what = 'taken' GROUP BY 1) l
		ON l.instance = h.instance_id WHERE h.event = 'DONE' AND h.fence <> l.fence}, '0', 'by whoever took it last');
cmp_ok(value($node, 'app', q{SELECT count(*) FROM told WHERE what = 'taken' AND attempt > 1}), '>', 0, 'some were handed out again');
is_value($node, 'app', q{SELECT DISTINCT what FROM told WHERE what LIKE 'late%'}, 'late WF009', 'late workers are refused');
is_value(
	$node, 'app', q{SELECT count(*) FROM (SELECT attempt, fence, lag(attempt) OVER w AS a, lag(fence) OVER w AS f FROM told WHERE what = 'taken'
		WINDOW w AS (PARTITION BY instance ORDER BY fence)) x WHERE attempt <> coalesce(a, 0) + 1}, '0', 'attempts count one by one, in the order of the fences');
is_sound($node, 'app');

# Eight schedulers, all of which believe that it is their turn: each slot is run once.
$node->safe_psql('app', q{CREATE TABLE ran (slot text, scheduler int)});
my $go = value($node, 'app', q{SELECT clock_timestamp() + '1 s'});
my @schedulers;
for my $scheduler (1 .. 8)
{
	my $script = "SELECT pg_sleep(extract(epoch FROM '$go'::timestamptz - clock_timestamp()));\n";
	# each in an order of its own
	for my $slot (map { ($_ + 5 * $scheduler) % 40 } 1 .. 40)
	{
		$script .= "BEGIN; INSERT INTO ran SELECT 'nightly\@$slot', $scheduler FROM wf_inbox_accept('scheduler', 'nightly\@$slot') WHERE accepted; COMMIT;\n";
	}
	my $file = $node->basedir . "/scheduler-$scheduler.sql";
	append_to_file($file, $script);
	push @schedulers, IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app'), '-f', $file ], '>', '/dev/null');
}
is(scalar(grep { !$_->finish } @schedulers), 0, 'no scheduler has failed');
is_value($node, 'app', q{SELECT count(*), count(DISTINCT slot) FROM ran}, '40|40', 'eight schedulers, forty slots, forty runs');
cmp_ok(value($node, 'app', q{SELECT count(DISTINCT scheduler) FROM ran}), '>', 1, 'by more than one of them');
is_sound($node, 'app');

done_testing();
