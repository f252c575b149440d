# L13: many sessions want the same stock at once. What there is is sold, each piece once; the others are
# told insufficient, and nobody is while there is some left. Directly, in a transaction that has written
# before (which waits for the row and not for the gate), and by an edge of cases of their own.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $sessions = 130;
my $node = new_node('main', 'max_connections = 200', q{log_min_messages = 'error'});
install($node, 'app');
$node->safe_psql(
	'app', q{
	CREATE TABLE note (session int);
	SELECT wf_define('{"id": "order", "initial": "NEW", "states": {
		"NEW": {"on": {"BUY": {"target": "SOLD", "meta": {"consume": {"resource": "edge", "quantity": 1}}}}},
		"SOLD": {"type": "final"}}}');
	SELECT wf_start('order', 'order ' || n, '{}') FROM generate_series(1, 130) n;});

# So many psql at once, each with a script of its own; they start together, released by a lock that all
# of them wait for. Gives the last line that each of them printed.
sub crowd
{
	my ($sql) = @_;
	my $start = session($node, 'app');
	my $scripts = PostgreSQL::Test::Utils::tempdir();
	$start->('SELECT pg_advisory_lock(1);');
	my @sessions = map {
		my $out = '';
		my $file = "$scripts/$_.sql";
		append_to_file($file, "SET workflow.wait_ms = '120s'; SELECT pg_advisory_lock_shared(1); SELECT pg_advisory_unlock_shared(1);\n" . $sql->($_) . "\n");
		my $psql = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('app'), '-f', $file ],
			'>', \$out, '2>', \$out, IPC::Run::timeout(300));
		{ psql => $psql, out => \$out };
	} 1 .. $sessions;
	$node->poll_query_until('app',
		"SELECT count(*) = $sessions FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted");
	$start->('SELECT pg_advisory_unlock(1);');
	$start->();
	$_->{psql}->finish for @sessions;
	return map { (split /\n/, ${ $_->{out} })[-1] // '' } @sessions;
}

sub tally
{
	my %count;
	$count{$_}++ for @_;
	return join ', ', map { "$_: $count{$_}" } sort keys %count;
}

my %ways = (
	direct => sub { "SELECT coalesce(o.code, 'ok') FROM wf_resource_consume('direct', 1, on_refusal => 'return') o;" },
	raised => sub { "\\set VERBOSITY sqlstate\nSELECT CASE WHEN o.applied THEN 'ok' END FROM wf_resource_consume('raised', 1) o;" },
	written => sub { "BEGIN; INSERT INTO note VALUES ($_[0]); SELECT coalesce(o.code, 'ok') FROM wf_resource_consume('written', 1, on_refusal => 'return') o; COMMIT;" },
	several => sub { q{SELECT coalesce(max(o.code), 'ok') FROM wf_resource_consume_many('[} . join(', ', map { qq({"resource": "$_", "quantity": 1}) } $_[0] % 2 ? ('several', 'plenty') : ('plenty', 'several')) . q{]', on_refusal => 'return') o;} },
	edge => sub { "SELECT coalesce(o.code, 'ok') FROM wf_send(instance_of('order $_[0]'), 'BUY', on_refusal => 'return') o;" });

$node->safe_psql('app', q{SELECT wf_resource_set('plenty', 1000)});
for my $way (sort keys %ways)
{
	$node->safe_psql('app', "SELECT wf_resource_set('$way', 100)");
	my @answers = map { s/.*ERROR:\s+//r } crowd($ways{$way});
	is(tally(@answers), 'WF012: 30, ok: 100', "$way: 100 pieces, 130 buyers");
	is_value($node, 'app', "SELECT balance, moves FROM workflow.balances WHERE key = '$way'", '0|101', "$way: all of it is sold, once");
}
is_value($node, 'app', q{SELECT balance FROM workflow.balances WHERE key = 'plenty'}, '900', 'and nothing else is taken from those that went away empty');

# One of two gives back what it took: the other one is not told 'insufficient' meanwhile.
$node->safe_psql('app', q{SELECT wf_resource_set('last', 1)});
my $first = session($node, 'app');
my $second = session($node, 'app');
is($first->(q{BEGIN; SELECT remaining FROM wf_resource_consume('last', 1);}), '0', 'the last one is taken');
is($second->(q{SELECT code FROM wf_resource_consume('last', 1, wait_ms => 0, on_refusal => 'return');}), '55P03', 'whether there is one is not known');
$first->('ROLLBACK;');
is($second->(q{SELECT remaining FROM wf_resource_consume('last', 1, wait_ms => 0);}), '0', 'it is given up, and taken by the other');
$_->() for $first, $second;

is_sound($node, 'app');
done_testing();
