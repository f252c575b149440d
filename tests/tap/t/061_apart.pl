# L15: 50 sessions stay in an open transaction each, with a lease, the gate and the row of an instance, and a piece of
# stock, all of different keys. None of them may wait for another (workflow.wait_ms = 0: it would be told busy), and all
# of them are open at once when it is asked.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $many = 50;
my $node = new_node('main', 'max_connections = 80');
install($node, 'app');
$node->safe_psql('app', qq{
	SELECT count(*) FROM generate_series(1, $many) n CROSS JOIN LATERAL wf_start('review', 'apart ' || n, '{}') o;
	SELECT count(*) FROM generate_series(1, $many) n CROSS JOIN LATERAL wf_resource_set('stock ' || n, 1) o;});

my @sessions = map { session($node, 'app') } 1 .. $many;
my @answers;
for my $n (1 .. $many)
{
	push @answers, $sessions[ $n - 1 ]->(qq{
		SET workflow.wait_ms = 0;
		BEGIN;
		SELECT concat_ws(' ', l.acquired, o.applied, s.applied)
		  FROM wf_lease_acquire('lease $n', 60000) l,
		       wf_send((SELECT i.id FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id
		                 WHERE a.business_key = 'apart $n'), 'NOTE', lock_mode => 'pessimistic') o,
		       wf_resource_consume('stock $n', 1) s;});
}
is(scalar(grep { $_ eq 't t t' } @answers), $many, "each of $many sessions has a lease, an instance and a piece of stock");
is_value($node, 'app', q{SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = 'app'}, $many,
	'while all of them are open');
# Control: a key that somebody has is one to wait for.
is(sqlstate($node, 'app', q{SELECT wf_resource_consume('stock 1', 1, wait_ms => 0)}), '55P03', 'control: the same key is busy');
$_->('COMMIT;') for @sessions;
is_value($node, 'app', q{SELECT count(*) FROM workflow.balances WHERE balance = 0}, $many, 'and what they did stands');
is_sound($node, 'app');
done_testing();
