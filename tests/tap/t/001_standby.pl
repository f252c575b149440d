# On a hot standby every command says 25006 before it looks at anything else, and readers work.
# The same holds for a read-only transaction on a primary.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $primary = new_node('primary');
install($primary, 'app');
$primary->safe_psql('app', q{SELECT wf_start('review', 'case', '{"page": 1}', actor => 'sue')});
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
# A change that came by streaming.
$primary->safe_psql('app', q{SELECT wf_send(instance_of('case'), 'NOTE', actor => 'ann')});
$primary->wait_for_catchup($standby);

# Volatile functions write, but for wf_as and wf_authenticate, which only say who calls. A call with nothing but NULLs would otherwise be told 22004.
my @writers = split /\n/, value(
	$primary, 'app', q{
	SELECT p.oid::regproc || '(' || array_to_string(array_fill('NULL'::text, ARRAY[p.pronargs::int]), ', ') || ')'
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	WHERE p.proname LIKE 'wf\_%' AND p.proname NOT IN ('wf_as', 'wf_authenticate') AND p.provolatile = 'v' AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
	ORDER BY 1});
cmp_ok(scalar @writers, '>=', 9, 'there are writers to try');
for my $call (@writers, q{wf_grant(NULL, NULL)}, q{wf_revoke(NULL, NULL)}, q{wf_enable_tenancy()})
{
	is(sqlstate($standby, 'app', "SELECT * FROM $call"), '25006', "on a standby: $call");
	is(sqlstate($primary, 'app', "BEGIN READ ONLY; SELECT * FROM $call"), '25006', "read-only: $call");
}
is(sqlstate($standby, 'app', q{SELECT * FROM wf_transition(instance_of('case'), 'SUBMITTED', 'APPROVED', 1, 1)}),
	'25006', 'nor is a stale command told that it is stale');

my %readers = (
	q{SELECT state, revision FROM wf_get(instance_of('case'))} => 'SUBMITTED|2',
	q{SELECT state, revision FROM wf_get(definition => 'review', business_key => 'case')} => 'SUBMITTED|2',
	q{SELECT applied, state, revision FROM wf_check(instance_of('case'), 'SUBMITTED', 'APPROVED', 2, 1)} =>
	  't|APPROVED|3',
	q{SELECT applied, code FROM wf_check(instance_of('case'), 'SUBMITTED', 'APPROVED', 1, 1)} => 'f|WF001',
	q{SELECT wf_export('review') ->> 'initial'} => 'SUBMITTED',
	q{SELECT count(*) FROM wf_validate(wf_export('review')) WHERE severity = 'error'} => '0',
	q{SELECT tenant, actor, roles FROM wf_whoami(actor => 'ann', roles => '{law}')} => 'default|ann|{law}',
	q{SELECT wf_version() = extversion FROM pg_extension WHERE extname = 'workflow'} => 't',
	q{SELECT count(*) FROM wf_verify()} => '0');
for my $query (sort keys %readers)
{
	is_value($standby, 'app', $query, $readers{$query}, "on a standby: $query");
	is_value($primary, 'app', "BEGIN READ ONLY; $query", $readers{$query}, "read-only: $query");
}

is_value($standby, 'app', q{BEGIN; SELECT actor FROM wf_as('default', 'ann', '{law}'); SELECT actor, roles FROM wf_whoami()},
	"ann\nann|{law}", 'on a standby: readers may be called on behalf of somebody');

$standby->promote;
is_value($standby, 'app',
	q{SELECT applied, state, revision FROM wf_transition(instance_of('case'), 'SUBMITTED', 'APPROVED', 2, 1)},
	't|APPROVED|3', 'after promotion the next transition works');
is_sound($standby, 'app');

done_testing();
