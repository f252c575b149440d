# What the tests of this folder share.
package WorkflowTest;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(new_node install sqlstate message value is_value is_sound session);

# A small definition with every kind of step: an event that is always legal, a verdict, and a way
# back from an approval when new material comes in.
our $REVIEW = <<'JSON';
{"id": "review", "initial": "SUBMITTED", "states": {
  "SUBMITTED": {"meta": {"task": {"seats": [{"name": "reviewer"}]}},
    "on": {"NOTE": "SUBMITTED",
           "APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
           "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}}}},
  "APPROVED": {"meta": {"on_supersede": "SUBMITTED"}, "on": {"ARCHIVE": "ARCHIVED"}},
  "ARCHIVED": {"type": "final"},
  "REJECTED": {"type": "final"}}}
JSON

# A running server of our own. More settings may follow the name.
sub new_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n", 'max_connections = 50', "log_statement = 'none'", @settings));
	$node->start;
	return $node;
}

# The extension with the definition, in a new database.
sub install
{
	my ($node, $database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database") if $database ne 'postgres';
	$node->safe_psql(
		$database, qq{
		CREATE EXTENSION workflow;
		SELECT wf_define('$REVIEW');
		-- By text, so that it outlives a drop of the tables.
		CREATE FUNCTION instance_of(key text) RETURNS uuid LANGUAGE sql STABLE AS \$\$
			SELECT i.id FROM workflow.instances i
			JOIN workflow.applications a ON a.id = i.application_id WHERE a.business_key = key \$\$;});
}

# SQLSTATE of the first error that the statements raise; empty if they raise none.
sub sqlstate
{
	my ($node, $database, $sql) = @_;
	my (undef, undef, $errors) = $node->psql($database, "\\set VERBOSITY sqlstate\n$sql");
	return $errors =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? $1 : '';
}

# Its message and what follows it.
sub message
{
	my ($node, $database, $sql) = @_;
	my (undef, undef, $errors) = $node->psql($database, $sql);
	return $errors;
}

sub value
{
	my ($node, $database, $sql) = @_;
	return $node->safe_psql($database, $sql);
}

sub is_value
{
	my ($node, $database, $sql, $expected, $name) = @_;
	is(value($node, $database, $sql), $expected, $name);
}

sub is_sound
{
	my ($node, $database, $name) = @_;
	is_value($node, $database, 'SELECT * FROM wf_verify()', '', $name // 'wf_verify() finds nothing');
}

# One backend for several rounds of statements: a function that sends some and gives what they print,
# errors included unless quiet.
sub session
{
	my ($node, $database, %options) = @_;
	my ($in, $out) = ('', '');
	my $psql = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr($database) ],
		'<', \$in, '>', \$out, '2>', $options{quiet} ? '/dev/null' : \$out,
		IPC::Run::timeout(600));
	my $round = 0;
	return sub {
		my ($sql) = @_;
		my $end = 'end of round ' . ++$round;
		$out = '';
		if (!defined $sql)
		{
			$in .= "\\q\n";
			$psql->finish;
			return;
		}
		$in .= "$sql\n\\echo '$end'\n";
		$psql->pump while $psql->pumpable && $out !~ /^\Q$end\E$/m;
		$out =~ s/^\Q$end\E\n//m;
		chomp $out;
		return $out;
	};
}

1;
