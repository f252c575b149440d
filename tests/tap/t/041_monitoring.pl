# Every query of the collector in monitoring/ runs for a role with the capabilities that the collector names,
# and gives the columns that its metric is made of; the board asks for no other metric.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $folder = "$FindBin::Bin/../monitoring";
my $collector = slurp_file("$folder/workflow.collector.yml");

my $node = new_node('main');
install($node, 'app');
$node->safe_psql(
	'app', q{CREATE ROLE monitor;
	SELECT wf_grant('monitor', 'reader'), wf_grant('monitor', 'operator');
	SELECT wf_start('review', 'case', '{"page": 1}', actor => 'sue');
	SELECT wf_outbox_subscribe('mail', true)});

my (undef, @metrics) = split /^  - metric_name: /m, $collector;
cmp_ok(scalar @metrics, '>=', 5, 'there are metrics');
my %known;
for my $metric (@metrics)
{
	my ($name) = $metric =~ /^(\w+)/;
	$known{$name} = 1;
	my @columns = map { split /, */ } $metric =~ /^    (?:key_labels|values): \[(.*)\]$/mg;
	my ($query) = $metric =~ /^    query: \|\n((?:      .*\n?)+)/m;
	my $list = join ', ', map { qq{"$_"} } @columns;
	cmp_ok(value($node, 'app', "SET ROLE monitor; SELECT count(*) FROM (SELECT $list FROM ($query) q) r"), '>=', 1, "$name gives rows");
	my $unlabelled = join ' OR ', map { qq{"$_" IS NULL} } @columns;
	is_value($node, 'app', "SET ROLE monitor; SELECT count(*) FROM ($query) q WHERE $unlabelled", '0', "$name: no value is NULL");
}

my @asked = slurp_file("$folder/grafana.json") =~ /\b(workflow_\w+)/g;
cmp_ok(scalar @asked, '>=', 5, 'the board asks for metrics');
is(join(' ', grep { !$known{$_} } @asked), '', 'and each is of the collector');

done_testing();
