# Every refusal, raised or returned, writes one line to the server log, with everything an operator
# needs to find out what happened, and nothing that is private: no comment, payload or material.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

# The statement of an error would show what must not be shown.
my $node = new_node('main', 'log_min_error_statement = panic', "log_line_prefix = '%p '");
install($node, 'app');
$node->safe_psql(
	'app', q{
	SELECT wf_define(wf_export('review'), tenant => 'acme');
	SELECT wf_start('review', 'case', '{"iban": "secret material"}', tenant => 'acme', actor => 'sue');
	SELECT wf_send(instance_of('case'), 'NOTE', '{"text": "secret payload"}', tenant => 'acme', actor => 'sue');});
my $instance = value($node, 'app', q{SELECT instance_of('case')});
my $application = value($node, 'app', q{SELECT id FROM workflow.applications});

# The lines that a piece of SQL writes.
sub lines
{
	my ($sql) = @_;
	my $before = -s $node->logfile;
	$node->psql('app', $sql);
	return grep { /workflow refusal/ } split /\n/, slurp_file($node->logfile, $before);
}

my $stale = qq{wf_transition('$instance', 'SUBMITTED', 'APPROVED', 1, 1, comment => 'secret comment',
	payload => '{"amount": "secret payload"}', tenant => 'acme', actor => 'ann'};
for my $kind ('raise', 'return')
{
	my @lines = lines("SELECT * FROM $stale, on_refusal => '$kind')");
	is(scalar @lines, 1, "$kind: one line");
	like($lines[0], qr/^\d+ LOG:  /, "$kind: of level LOG");
	unlike($lines[0], qr/secret/, "$kind: nothing private");
	my ($json) = $lines[0] =~ /(\{.*\})/;
	my $line = decode_json($json);
	is($line->{tenant}, 'acme', "$kind: tenant");
	is($line->{actor}, 'ann', "$kind: actor");
	is($line->{code}, 'WF001', "$kind: code");
	is($line->{instance_id}, $instance, "$kind: instance");
	is($line->{application_id}, $application, "$kind: application");
	is_deeply($line->{expected}, { state => 'SUBMITTED', revision => 1, material_version => 1 }, "$kind: expected");
	is_deeply($line->{actual}, { state => 'SUBMITTED', revision => 2, material_version => 1 }, "$kind: actual");
}

is(scalar(lines("BEGIN; SELECT * FROM $stale, on_refusal => 'return'); ROLLBACK")), 1, 'rolled back: the line stays');
is(scalar(lines("DO \$\$ BEGIN PERFORM $stale); EXCEPTION WHEN OTHERS THEN NULL; END \$\$")), 1, 'handled: one line');
is(scalar(lines("SELECT * FROM wf_check('$instance', 'SUBMITTED', 'APPROVED', 1, 1, tenant => 'acme')")),
	0, 'a dry run refuses nothing');
is(scalar(lines("SELECT * FROM wf_transition('$instance', 'SUBMITTED', 'SUBMITTED', 2, 1, tenant => 'acme', actor => 'ann')")),
	0, 'a success is no refusal');

# Other refusals and other commands.
my %others = (
	"wf_send('$instance', 'ARCHIVE', tenant => 'acme')" => 'WF003',
	"wf_send('$instance', 'NOWHERE', tenant => 'acme')" => 'WF004',
	"wf_send('$instance', 'NOTE', tenant => 'globex')" => 'WF005',
	"wf_start('review', 'case', tenant => 'acme')" => 'WF018',
	"wf_supersede_material('$application', 7, '{\"iban\": \"secret\"}', tenant => 'acme')" => 'WF002',
	"wf_define('{\"id\": \"secret\"}', tenant => 'acme')" => 'WF014');
for my $call (sort keys %others)
{
	my @lines = lines("SELECT * FROM $call");
	is(scalar @lines, 1, "one line for $call");
	like($lines[0], qr/"$others{$call}"/, 'which names the code');
	like($lines[0], qr/"(acme|globex)"/, 'and the tenant');
}

# Where an instance was locked for too long.
my $holder = session($node, 'app');
$holder->("BEGIN; SELECT FROM wf_lock('$instance', tenant => 'acme');");
for my $kind ('raise', 'return')
{
	my @lines = lines("SELECT * FROM wf_send('$instance', 'NOTE', wait_ms => 0, tenant => 'acme', actor => 'ann', on_refusal => '$kind')");
	is(scalar @lines, 1, "busy, $kind: one line");
	like($lines[0], qr/55P03/, "busy, $kind: code");
}
$holder->('ROLLBACK;');
$holder->();

# The operator may turn it off; the caller may not.
is(scalar(lines("SET workflow.log_refusals = off; SELECT * FROM $stale)")), 0, 'off for a superuser session');
$node->safe_psql('app', q{CREATE ROLE backend LOGIN; SELECT wf_grant('backend', 'backend')});
is(sqlstate($node, 'app', q{SELECT wf_version(); SET SESSION AUTHORIZATION backend; SET workflow.log_refusals = off}),
	'42501', 'a caller cannot turn it off');
$node->safe_psql('app', 'ALTER DATABASE app SET workflow.log_refusals = off');
is(scalar(lines("SELECT * FROM $stale)")), 0, 'off for the database');

done_testing();
