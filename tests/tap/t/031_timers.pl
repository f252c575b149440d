# Timers under load: schedulers with small batches, one of which takes half of its work back, against
# people who decide and new material. Each case leaves each state once, by time or by a person; what was
# answered and committed is what history says; in the end nothing is due and nothing is left.
# WORKFLOW_TIMER_CASES: how many cases, 300 if not set.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More;
use WorkflowTest;

my $cases = $ENV{WORKFLOW_TIMER_CASES} // 300;
my $node = new_node('main');
install($node, 'app');
$node->safe_psql(
	'app', q{
	SELECT wf_define('{"id": "wait", "initial": "WAIT", "states": {
		"WAIT": {"on": {"APPROVE": {"target": "DONE", "meta": {"decision": "approve"}}}, "after": {"1": "LATE", "2": "DONE"}},
		"LATE": {"on": {"APPROVE": {"target": "DONE", "meta": {"decision": "approve"}}}, "after": {"1": "DONE"}},
		"DONE": {"type": "final"}}}');
	CREATE TABLE cases (number int PRIMARY KEY, instance uuid, application uuid);
	CREATE TABLE answer (instance uuid, revision bigint, event text, actor text, code text);

	CREATE PROCEDURE schedule(seed float8, half boolean) LANGUAGE plpgsql
	AS $$
	BEGIN
		PERFORM setseed(seed);
		WHILE EXISTS (SELECT FROM workflow.instances WHERE NOT closed) LOOP
			INSERT INTO answer SELECT o.instance_id, o.revision, o.event, 'workflow.timer', o.code FROM wf_run_due(1 + (random() * 5)::int) o;
			PERFORM pg_sleep(random() * 0.002);
			IF half AND random() < 0.5 THEN ROLLBACK; ELSE COMMIT; END IF;
		END LOOP;
	END
	$$;

	CREATE PROCEDURE decide(seed float8, person text) LANGUAGE plpgsql
	AS $$
	DECLARE
		known record;
	BEGIN
		PERFORM setseed(seed);
		FOR n IN 1 .. (SELECT count(*) FROM cases) LOOP
			SELECT i.id, i.state, i.revision, i.material_version INTO known FROM workflow.instances i
			  JOIN cases c ON c.instance = i.id WHERE NOT i.closed ORDER BY random() LIMIT 1;
			EXIT WHEN NOT FOUND;
			INSERT INTO answer SELECT o.instance_id, o.revision, o.event, person, o.code
			  FROM wf_try_transition(known.id, known.state, 'DONE', known.revision, known.material_version, event => 'APPROVE', actor => person) o;
			PERFORM pg_sleep(random() * 0.002);
			COMMIT;
		END LOOP;
	END
	$$;

	CREATE PROCEDURE supersede(seed float8) LANGUAGE plpgsql
	AS $$
	DECLARE
		known record;
	BEGIN
		PERFORM setseed(seed);
		FOR n IN 1 .. (SELECT count(*) FROM cases) LOOP
			SELECT i.application_id, i.material_version INTO known FROM workflow.instances i WHERE NOT i.closed ORDER BY random() LIMIT 1;
			EXIT WHEN NOT FOUND;
			PERFORM wf_supersede_material(known.application_id, known.material_version, jsonb_build_object('v', n), on_refusal => 'return', actor => 'sue');
			PERFORM pg_sleep(random() * 0.002);
			COMMIT;
		END LOOP;
	END
	$$;});

for my $level ('read committed', 'repeatable read')
{
	$node->safe_psql(
		'app', qq{
		TRUNCATE cases, answer;
		INSERT INTO cases SELECT n, o.instance_id, o.application_id FROM generate_series(1, $cases) n
			CROSS JOIN LATERAL wf_start('wait', '$level ' || n, '{}', actor => 'sue') o});
	# The scheduler of the second level reads a snapshot that may be too old, and is told 40001: it goes on.
	my @calls = ('CALL decide(0.1, \'ann\')', 'CALL decide(0.2, \'bob\')', 'CALL supersede(0.3)',
		'CALL schedule(0.4, true)', 'CALL schedule(0.5, false)', 'CALL schedule(0.6, false)');
	my @sessions;
	for my $call (@calls)
	{
		my $errors = '';
		my $settings = "SET statement_timeout = '120s'";
		$settings .= "; SET default_transaction_isolation = 'repeatable read'" if $level ne 'read committed' && $call =~ /schedule/;
		# 40001 ends a procedure: it is called again.
		my $times = $settings =~ /isolation/ ? 200 : 1;
		my $psql = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('app'), '-c', $settings, ('-c', $call) x $times ],
			'<', \undef, '>', \my $out, '2>', \$errors, IPC::Run::timeout(240));
		push @sessions, [ $call, $psql, \$errors ];
	}
	for my $session (@sessions)
	{
		my ($call, $psql, $errors) = @$session;
		$psql->finish;
		my $unexpected = join "\n", grep { /ERROR/ && !/could not serialize/ } split /\n/, $$errors;
		is($unexpected, '', "$level: $call");
	}
	# What is left when 40001 has ended them all, and the timers whose visit is over.
	my $rest = q{INSERT INTO answer SELECT o.instance_id, o.revision, o.event, 'workflow.timer', o.code FROM wf_run_due(1000) o; SELECT count(*) FROM workflow.timers};
	my $tries = 0;
	1 while value($node, 'app', $rest) > 0 && ++$tries < 100;

	is_value($node, 'app', q{SELECT count(*) FROM workflow.instances i JOIN cases c ON c.instance = i.id WHERE NOT i.closed}, '0', "$level: every case has ended");
	is_value($node, 'app', q{SELECT count(*) FROM workflow.timers}, '0', "$level: no timer is left");
	is_value($node, 'app', q{SELECT h.instance_id, h.event FROM workflow.history h JOIN cases c ON c.instance = h.instance_id
		WHERE h.step = 'edge' GROUP BY h.instance_id, h.from_state, h.event HAVING count(*) > 1}, '', "$level: no state was left twice");
	my $differs = q{
		(SELECT instance, revision, event, actor FROM answer WHERE code IS NULL
		 EXCEPT ALL SELECT h.instance_id, h.revision, h.event, h.actor FROM workflow.history h WHERE h.step = 'edge')
		UNION ALL
		(SELECT h.instance_id, h.revision, h.event, h.actor FROM workflow.history h JOIN cases c ON c.instance = h.instance_id WHERE h.step = 'edge'
		 EXCEPT ALL SELECT instance, revision, event, actor FROM answer WHERE code IS NULL)};
	is_value($node, 'app', $differs, '', "$level: what was answered is what history says");
	is_value($node, 'app', q{SELECT count(*) FROM answer WHERE code NOT IN ('WF001', 'WF002', 'WF013') OR (actor = 'workflow.timer' AND code IS NOT NULL)}, '0', "$level: who lost was told so, and no timer ever is");
	cmp_ok(value($node, 'app', qq{SELECT count(*) FROM answer WHERE code IS NULL AND actor = '$_'}), '>', 0, "$level: $_ took part") for ('ann', 'bob', 'workflow.timer');
	note(value($node, 'app', q{SELECT actor || ' ' || coalesce(code, 'applied') || ': ' || count(*) FROM answer GROUP BY actor, code ORDER BY 1}));
	is_sound($node, 'app', "$level: wf_verify() finds nothing");
}

done_testing();
