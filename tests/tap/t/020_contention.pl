# How many sessions share one case, with the settings as they are shipped: what they wait, what they are
# told, and what the adaptive mode makes of it. Sessions are many psql at once that start together;
# nothing here is measured against the clock but that a wait ends well before one that has no end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time);
use WorkflowTest;

my $node = new_node('main', "log_min_messages = 'log'");
install($node, 'app');
$node->safe_psql(
	'app', q{
	CREATE TABLE answer (session int, code text, at timestamptz DEFAULT clock_timestamp());
	-- Sends notes for a while, each in a transaction of its own, and keeps what was answered.
	CREATE PROCEDURE send_notes(session int, key text, ms int, mode text DEFAULT NULL) LANGUAGE plpgsql AS $$
	DECLARE
		instance uuid := instance_of(key);
		until timestamptz := clock_timestamp() + ms * interval '1 ms';
		code text;
	BEGIN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
		COMMIT;
		WHILE clock_timestamp() < until LOOP
			SELECT coalesce(o.code, 'ok') INTO code
			  FROM wf_send(instance, 'NOTE', lock_mode => mode, on_refusal => 'return') o;
			INSERT INTO answer (session, code) VALUES (session, code);
			COMMIT;
		END LOOP;
	END
	$$;
	SELECT wf_start('review', key, '{}') FROM unnest(ARRAY['held', 'optimistic', 'hot', 'undone', 'old', 'work']) key;
	SELECT wf_start('review', 'cold ' || n, '{}') FROM generate_series(1, 100) n;});

# Runs so many sessions at once: each is given its number and says what to run. They start together,
# released by a lock that send_notes waits for.
sub crowd
{
	my ($number, $sql) = @_;
	my $start = session($node, 'app');
	my $scripts = PostgreSQL::Test::Utils::tempdir();
	$start->('SELECT pg_advisory_lock(1);');
	my @sessions = map {
		my $out = '';
		my $file = "$scripts/$_.sql";
		PostgreSQL::Test::Utils::append_to_file($file, $sql->($_));
		my $psql = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('app'), '-f', $file ],
			'>', \$out, '2>', \$out, IPC::Run::timeout(120));
		{ psql => $psql, out => \$out };
	} 1 .. $number;
	$node->poll_query_until('app',
		"SELECT count(*) = $number FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted");
	$start->('SELECT pg_advisory_unlock(1);');
	$start->();
	$_->{psql}->finish for @sessions;
	return map { ${ $_->{out} } } @sessions;
}

sub contention
{
	my ($key, $columns) = @_;
	return value($node, 'app', "SELECT $columns FROM workflow.contention WHERE instance_id = instance_of('$key')");
}

my $revision = q{SELECT revision FROM workflow.instances WHERE id = instance_of('%s')};

# A8: the row is held; who does not wait is told so at once, who waits a little a little later.
for my $mode (qw(optimistic pessimistic adaptive))
{
	my $holder = session($node, 'app');
	$holder->(q{BEGIN; SELECT wf_lock(instance_of('held'));});
	my $waiter = session($node, 'app');
	$waiter->(q{SET lock_timeout = '7 min';});
	for my $wait (0, 200)
	{
		my $sql = "SELECT code FROM wf_send(instance_of('held'), 'NOTE', lock_mode => '$mode', wait_ms => $wait, on_refusal => 'return');";
		my $began = time;
		is($waiter->($sql), '55P03', "$mode, wait_ms $wait: busy");
		my $took = (time - $began) * 1000;
		cmp_ok($took, '>=', $wait, 'not before its time');
		cmp_ok($took, '<', 4000, 'well before workflow.wait_ms');
		(my $raise = $sql) =~ s/, on_refusal => 'return'//;
		like($waiter->("\\set VERBOSITY verbose\n$raise"), qr/55P03: busy:/, 'raised, too');
	}
	is($waiter->('SHOW lock_timeout;'), '7min', 'the lock_timeout of the session is what it was');
	$holder->('ROLLBACK;');
	$_->() for $holder, $waiter;
}

# L9: notes are always legal, so nobody is refused for what another did; each one that was applied is
# there, and no other.
crowd(10, sub { "CALL send_notes($_[0], 'optimistic', 1000, 'optimistic');" });
is_value($node, 'app', 'SELECT count(DISTINCT session) FROM answer', 10, 'all sessions had their turn');
is_value($node, 'app', q{SELECT string_agg(DISTINCT code, ' ') FROM answer WHERE code NOT IN ('ok', '55P03')},
	'', 'notes are applied, or told busy');
is_value(
	$node, 'app',
	sprintf($revision, 'optimistic'),
	1 + value($node, 'app', q{SELECT count(*) FROM answer WHERE code = 'ok'}),
	'the revision has risen by the number of successes');
is(contention('optimistic', 'mode'), 'optimistic', 'what was forced leaves the mode alone');
$node->safe_psql('app', 'TRUNCATE answer');

# L10: one hot case among a hundred others, with all settings as shipped.
crowd(
	25,
	sub {
		my ($n) = @_;
		return $n <= 20 ? "CALL send_notes($n, 'hot', 2000);" : "CALL send_notes($n, 'cold $n', 2000);";
	});
is(contention('hot', 'mode'), 'pessimistic', 'the hot case is gated');
is_value($node, 'app', q{SELECT count(*) FROM workflow.contention WHERE mode = 'pessimistic'}, 1, 'it alone');
is_value($node, 'app', q{SELECT string_agg(DISTINCT code, ' ') FROM answer WHERE code NOT IN ('ok', '55P03')},
	'', 'nobody was refused');
cmp_ok(contention('hot', 'races'), '>=', 6, 'races were counted');
cmp_ok(contention('hot', 'rate'), '>', 0.05, 'the rate it was gated for is shown');
my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
my $hot = value($node, 'app', q{SELECT instance_of('hot')});
my @switches = grep { /"instance_id":"$hot"/ } $log =~ /workflow contention: (\{.*\})/g;
is(scalar @switches, 1, 'the switch was logged once');
like($switches[0], qr/"mode":"pessimistic".*"rate":0\.\d+,"samples":\d+/, 'with rate and samples');
like($switches[0], qr/"tenant":"default","why":"\d+ of the last 20|more than 5 %/, 'and the reason');
is_value($node, 'app', sprintf($revision, 'hot'),
	1 + value($node, 'app', q{SELECT count(*) FROM answer WHERE session <= 20 AND code = 'ok'}), 'nothing was lost');

# The way back: nobody finds the gate taken any more. Behind the dwell time, here a short one.
my $alone = session($node, 'app');
$alone->('SET workflow.adaptive_dwell = 100;');
for (1 .. 600)
{
	$alone->(q{SELECT count(*) FROM generate_series(1, 30) n, wf_send(instance_of('hot'), 'NOTE', to_jsonb(n));});
	last if contention('hot', 'mode') eq 'optimistic';
}
is(contention('hot', 'mode'), 'optimistic', 'a case that nobody contends any more is let go');
like(contention('hot', 'why'), qr/found the gate taken/, 'and the view says why');
$alone->();
$node->safe_psql('app', 'TRUNCATE answer');

# L11: everything is taken back, and was a race all the same.
crowd(
	20,
	sub {
		return qq{SELECT pg_advisory_lock_shared(1); SELECT pg_advisory_unlock_shared(1);\n}
		  . q{BEGIN; SELECT wf_send(instance_of('undone'), 'NOTE', on_refusal => 'return'); SELECT pg_sleep(0.01); ROLLBACK;} x 3;
	});
is_value($node, 'app', sprintf($revision, 'undone'), 1, 'nothing was committed');
cmp_ok(contention('undone', 'races'), '>', 0, 'the races are counted');

# L12: one client with a revision of long ago.
$node->safe_psql('app', q{SELECT wf_send(instance_of('old'), 'NOTE');});
sleep 1;
is_value(
	$node, 'app', q{
	SELECT count(*) FROM generate_series(1, 50) n, wf_try_transition(instance_of('old'), 'SUBMITTED', 'SUBMITTED', 1, 1, payload => to_jsonb(n)) o
	 WHERE o.code = 'WF001'}, 50, 'an old page is refused each time');
is(contention('old', 'attempts, races, stale, mode'), '50|0|50|optimistic', 'and is no race');

# L8: twenty sessions of 200 ms each go through the gate, which takes 4 s; one does not wait for that.
my @answers = crowd(
	21,
	sub {
		my ($n) = @_;
		my $ready = 'SELECT pg_advisory_lock_shared(1); SELECT pg_advisory_unlock_shared(1);';
		return qq{$ready
			SELECT pg_sleep(0.05);
			SELECT 'began ' || extract(epoch FROM clock_timestamp());
			SELECT 'code ' || coalesce(code, 'ok') FROM wf_send(instance_of('work'), 'NOTE', lock_mode => 'pessimistic', wait_ms => 300, on_refusal => 'return');
			SELECT 'ended ' || extract(epoch FROM clock_timestamp());
		} if $n == 21;
		return qq{$ready
			BEGIN;
			SELECT wf_send(instance_of('work'), 'NOTE', lock_mode => 'pessimistic', wait_ms => 60000);
			SELECT pg_sleep(0.2);
			COMMIT;
		};
	});
my ($began, $code, $ended) = $answers[20] =~ /began ([\d.]+)\ncode (\w+)\nended ([\d.]+)/;
# Where it came among the first it had its turn.
like($code, qr/^(55P03|ok)$/, 'the one that waits 300 ms has an answer');
cmp_ok($ended - $began, '<', 2.5, 'in time, not after all others');
is_value($node, 'app', sprintf($revision, 'work'), 21 + ($code eq 'ok'), 'all others were carried out');

is_sound($node, 'app');
$node->stop;
done_testing();
