# The last two voters of a round vote at the same moment, on a real server and as fast as it goes. A
# count in which each saw the other's seat as open would leave the case where it is, for ever. Every
# round must end with three votes and exactly one transition, in READ COMMITTED and, where who is told
# 40001 votes again, in REPEATABLE READ and SERIALIZABLE.
# WORKFLOW_VOTE_ROUNDS: rounds per isolation level, 200 if not set.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More;
use WorkflowTest;

my $rounds = $ENV{WORKFLOW_VOTE_ROUNDS} // 200;
my %voters = (legal => 'lea', quality => 'quin');

my $node = new_node('main');
install($node, 'app');
$node->safe_psql(
	'app', q{
	SELECT wf_define('{"id": "panel", "initial": "REVIEW", "states": {
		"REVIEW": {"meta": {"task": {"seats": [{"name": "finance"}, {"name": "legal"}, {"name": "quality"}],
				"rule": "all"}},
			"on": {"APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
				"REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}}}},
		"APPROVED": {"type": "final"},
		"REJECTED": {"type": "final"}}}');

	CREATE TABLE round (number int PRIMARY KEY, instance uuid);
	CREATE TABLE answer (round int, seat text, code text, refused int, attempts int);
	CREATE FUNCTION task_of(instance uuid, seat text) RETURNS uuid LANGUAGE sql STABLE
	RETURN (SELECT id FROM workflow.tasks t WHERE t.instance_id = instance AND t.seat = task_of.seat);

	-- One vote is in; two are missing.
	CREATE PROCEDURE prepare(rounds int) LANGUAGE plpgsql
	AS $$
	BEGIN
		TRUNCATE answer, round;
		DROP SEQUENCE IF EXISTS arrivals;
		CREATE SEQUENCE arrivals;
		INSERT INTO round
			SELECT n, s.instance_id FROM generate_series(1, rounds) n,
				wf_start('panel', format('%s %s', gen_random_uuid(), n), '["page 1"]', actor => 'sue') s;
		PERFORM d.applied FROM round r, wf_decide(task_of(r.instance, 'finance'), 'APPROVE', 1, 1, actor => 'fay') d;
	END
	$$;

	-- Votes on one seat in every round, each time when the other voter has arrived there as well. In
	-- every other round the transaction stays open for a moment, so that the two surely meet.
	CREATE PROCEDURE vote(seat text, voter text) LANGUAGE plpgsql
	AS $$
	DECLARE
		rounds int := (SELECT count(*) FROM round);
		task uuid;
		outcome workflow.outcome;
		refused int;
		done boolean;
	BEGIN
		FOR n IN 1 .. rounds LOOP
			task := (SELECT task_of(r.instance, seat) FROM round r WHERE r.number = n);
			PERFORM nextval('arrivals');
			COMMIT;
			WHILE (SELECT last_value FROM arrivals) < 2 * n LOOP
			END LOOP;
			COMMIT;
			refused := 0;
			LOOP
				BEGIN
					SELECT * INTO STRICT outcome FROM wf_decide(task, 'APPROVE', 1, 1, on_refusal => 'return', actor => voter);
					INSERT INTO answer VALUES (n, seat, outcome.code, refused, outcome.attempts);
					done := true;
				EXCEPTION WHEN serialization_failure THEN
					refused := refused + 1;
					done := false;
				END;
				IF done THEN
					PERFORM pg_sleep(0.001) WHERE n % 2 = 0;
					COMMIT;
					EXIT;
				END IF;
				ROLLBACK;
			END LOOP;
		END LOOP;
	END
	$$;});

for my $level ('read committed', 'repeatable read', 'serializable')
{
	$node->safe_psql('app', "CALL prepare($rounds)");
	my %session;
	for my $seat (sort keys %voters)
	{
		my ($out, $errors) = ('', '');
		my $psql = IPC::Run::start(
			[   'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('app'),
				'-c', "SET statement_timeout = '60s'; SET default_transaction_isolation = '$level'",
				'-c', "CALL vote('$seat', '$voters{$seat}')" ],
			'<', \undef, '>', \$out, '2>', \$errors, IPC::Run::timeout(120));
		$session{$seat} = [ $psql, \$errors ];
	}
	for my $seat (sort keys %session)
	{
		my ($psql, $errors) = @{ $session{$seat} };
		$psql->finish;
		is($$errors, '', "$level: $voters{$seat} votes in every round");
	}

	is_value($node, 'app', 'SELECT count(*) FROM answer WHERE code IS NULL', 2 * $rounds, "$level: every vote applies");
	is_value($node, 'app', q{SELECT r.number, count(*) FROM round r JOIN workflow.tasks t ON t.instance_id = r.instance
		WHERE t.in_favour AND t.status = 'COMPLETED' GROUP BY r.number HAVING count(*) <> 3
		UNION ALL SELECT r.number, 0 FROM round r
		WHERE NOT EXISTS (SELECT FROM workflow.tasks t WHERE t.instance_id = r.instance AND t.in_favour)},
		'', "$level: three votes in every round");
	is_value($node, 'app', q{SELECT r.number, i.state, i.revision, i.work, count(h.*)
		FROM round r JOIN workflow.instances i ON i.id = r.instance
		LEFT JOIN workflow.history h ON h.instance_id = i.id AND h.step = 'edge'
		GROUP BY r.number, i.state, i.revision, i.work
		HAVING (i.state, i.revision, i.work, count(h.*)) <> ('APPROVED', 2, 2, 1)},
		'', "$level: exactly one transition in every round");
	is_sound($node, 'app', "$level: wf_verify() finds nothing");

	my $met = value($node, 'app', 'SELECT count(DISTINCT round) FROM answer WHERE attempts > 1 OR refused > 0');
	cmp_ok($met, '>', 0, "$level: the two votes met");
	note("in $met of $rounds rounds");
}

done_testing();
