# A database with open work is dumped and restored elsewhere: everything is there, the next transition
# works, and a request key that was used before the dump still answers as it did.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $source = new_node('source');
my $target = new_node('target');
for my $node ($source, $target)
{
	$node->safe_psql('postgres', 'CREATE ROLE clerk LOGIN; CREATE ROLE app LOGIN');
}
install($source, 'app');
$source->safe_psql(
	'app', q{
	-- A second version of the definition, and one for all tenants.
	SELECT wf_define(jsonb_set(wf_export('review'), '{states,SUBMITTED,on,HOLD}', '"SUBMITTED"'));
	SELECT wf_define(jsonb_set(wf_export('review'), '{id}', '"shared"'), tenant => '*');
	SELECT wf_member_set('clerk', '{law,fin}'), wf_grant('clerk', 'participant'), wf_grant('app', 'backend');
	-- Half-done, decided, closed, taken back by new material, of another tenant.
	SELECT wf_start('review', 'open', '{"page": 1}', actor => 'sue', request_id => 'start-open');
	SELECT wf_start('review', 'approved', '{"page": 1}', version => 1, actor => 'sue');
	SELECT wf_transition(instance_of('approved'), 'SUBMITTED', 'APPROVED', 1, 1, comment => 'fine',
		payload => '{"amount": 3}', actor => 'ann', request_id => 'approve');
	SELECT wf_start('review', 'rejected', '{"page": 1}', actor => 'sue');
	SELECT wf_transition(instance_of('rejected'), 'SUBMITTED', 'REJECTED', 1, 1, actor => 'ann', request_id => 'reject');
	SELECT wf_start('review', 'back', '{"page": 1}', actor => 'sue');
	SELECT wf_transition(instance_of('back'), 'SUBMITTED', 'APPROVED', 1, 1, actor => 'ann');
	SELECT wf_supersede_material((SELECT id FROM workflow.applications WHERE business_key = 'back'), 1,
		'{"page": 2}', actor => 'sue');
	SELECT wf_start('shared', 'theirs', '{"page": 1}', tenant => 'other', actor => 'sue');
	-- Events on their way: queued, handed out, failed, acknowledged; and a message that came in.
	SELECT wf_outbox_subscribe('mail', true);
	SELECT wf_outbox_ack('mail', claim, ARRAY[id]) FROM wf_outbox_claim('mail', 1);
	SELECT wf_outbox_nack('mail', claim, ARRAY[id], 86400000, 'away') FROM wf_outbox_claim('mail', 1);
	SELECT count(*) FROM wf_outbox_claim('mail', 1);
	INSERT INTO workflow.outbox_unremoved SELECT tenant_id, instance_id, revision, gen_random_uuid() FROM workflow.deliveries LIMIT 1;
	SELECT wf_inbox_accept('bank', 'm-1');
	SELECT wf_start('review', 'queued', '{"page": 1}', actor => 'sue');
	-- Decided by an operator in the place of others; limits.
	SELECT wf_start('review', 'over', '{"page": 1}', actor => 'sue');
	SELECT wf_override(instance_of('over'), 'REJECT', 'nobody there', 1, 1, actor => 'otto');
	SELECT wf_limit_set('open_instances', 8), wf_limit_set('seats', 3, tenant => '*');
	-- A stored refusal.
	SELECT wf_try_transition(instance_of('back'), 'SUBMITTED', 'APPROVED', 1, 1, actor => 'rob');});
is_sound($source, 'app');

# The rows of every table, whatever tables there are, but the salt of an installation, which is not to leave it.
my @tables = split /\n/, value($source, 'app',
	q{SELECT relname FROM pg_class WHERE relnamespace = 'workflow'::regnamespace AND relkind = 'r' AND relname <> 'secret' ORDER BY 1});
my $rows = join ' UNION ALL ', map {
	"SELECT '$_' AS name, count(*), md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM workflow.$_ t"
} @tables;
my $rights = q{SELECT p.proname, p.proacl FROM pg_proc p WHERE p.proname LIKE 'wf\_%' ORDER BY 1};
my $policies = q{SELECT p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid),
	c.relrowsecurity, c.relforcerowsecurity FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid ORDER BY 1, 2};
my $empty = value($source, 'app', "SELECT string_agg(name, ' ') FROM ($rows) s WHERE count = 0");
diag("tables without a row in this test: $empty") if $empty ne '';

my $bindir = $source->config_data('--bindir');
for my $format ('plain', 'custom')
{
	my $file = "$PostgreSQL::Test::Utils::tmp_check/app.$format";
	command_ok([ "$bindir/pg_dump", '-d', $source->connstr('app'), '-F', $format, '-f', $file ], "dump, $format");
	my $database = "app_$format";
	$target->safe_psql('postgres', "CREATE DATABASE $database");
	command_ok(
		$format eq 'plain'
		? [ "$bindir/psql", '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $target->connstr($database), '-f', $file ]
		: [ "$bindir/pg_restore", '-j', '2', '--exit-on-error', '-d', $target->connstr($database), $file ],
		"restore, $format");

	is_value($target, $database, $rows, value($source, 'app', $rows), 'every row is there');
	isnt(value($target, $database, 'SELECT salt FROM workflow.secret'), value($source, 'app', 'SELECT salt FROM workflow.secret'),
		'but the salt, which is another');
	is_value($target, $database, $rights, value($source, 'app', $rights), 'and every right');
	is_value($target, $database, $policies, value($source, 'app', $policies), 'and every policy, forced');
	is_value($target, $database, 'SELECT * FROM wf_enable_tenancy()', '', 'with nothing to repair');
	is_value($target, $database,
		q{GRANT SELECT ON workflow.instances TO clerk; SET SESSION AUTHORIZATION clerk;
		SELECT DISTINCT tenant_id FROM workflow.instances}, 'default', 'which keep the other tenant out');
	is_sound($target, $database);

	is_value($target, $database,
		q{SELECT applied, state, revision, replayed FROM wf_transition(instance_of('approved'), 'SUBMITTED', 'APPROVED',
			1, 1, comment => 'fine', payload => '{"amount": 3}', actor => 'ann', request_id => 'approve')},
		't|APPROVED|2|t', 'a used request key replays');
	is(sqlstate($target, $database,
			q{SELECT * FROM wf_transition(instance_of('open'), 'SUBMITTED', 'REJECTED', 1, 1, actor => 'ann', request_id => 'approve')}),
		'WF008', 'and refuses another command');
	is_value($target, $database,
		q{SELECT applied, state, revision FROM wf_transition(instance_of('open'), 'SUBMITTED', 'APPROVED', 1, 1, actor => 'ann')},
		't|APPROVED|2', 'the next transition works');
	is_value($target, $database,
		q{SELECT applied, state, revision, material_version FROM wf_transition(instance_of('back'), 'SUBMITTED', 'REJECTED', 3, 2, actor => 'ann')},
		't|REJECTED|4|2', 'also about material that came back');
	is(sqlstate($target, $database, q{SELECT * FROM wf_start('review', 'open', '{"page": 1}')}),
		'WF018', 'the open instance still keeps a second one out');
	is(sqlstate($target, $database, q{DELETE FROM workflow.history}), '42501', 'history still is append-only');
	is_value($target, $database,
		q{SELECT applied, code, detail ->> 'limit' FROM generate_series(1, 9) n,
			wf_start('review', 'new-' || n, '{"page": 1}', on_refusal => 'return') ORDER BY n DESC LIMIT 1}, 'f|WF019|open_instances', 'limits hold');
	$target->safe_psql($database, q{ALTER TABLE workflow.history DISABLE ROW LEVEL SECURITY; ALTER TABLE workflow.tasks NO FORCE ROW LEVEL SECURITY;
		DROP POLICY tenant ON workflow.instances; CREATE POLICY open ON workflow.members USING (true)});
	is_value($target, $database, q{SELECT relation, finding FROM wf_enable_tenancy() ORDER BY relation COLLATE "C"},
		"history|row-level security was not enabled\ninstances|policy tenant was missing\n"
		. "members|policy open was not the extension's\ntasks|row-level security was not forced", 'what somebody has broken is mended, and said');
	is_value($target, $database, $policies, value($source, 'app', $policies), 'and is as it was');
	is_value($target, $database,
		q{SELECT version FROM wf_define(jsonb_set(wf_export('review'), '{states,SUBMITTED,on,LATER}', '"SUBMITTED"'))},
		'3', 'the next version of the definition is the next one');
	is_value($target, $database,
		q{SET SESSION AUTHORIZATION clerk; SELECT tenant, actor, roles, proof FROM wf_whoami()},
		'default|clerk|{law,fin}|session', 'members are who they were');
	is_sound($target, $database);
}

# A role that may read everything and is under no policy dumps as well; one that is under them gets an
# error, and not a dump with rows missing.
$source->safe_psql('app', 'CREATE ROLE keeper LOGIN BYPASSRLS; CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO keeper, reader');
my @dump = ("$bindir/pg_dump", '-d', $source->connstr('app'), '-f', "$PostgreSQL::Test::Utils::tmp_check/keeper.sql");
command_ok([ @dump, '-U', 'keeper' ], 'dump by a role with BYPASSRLS');
command_fails_like([ @dump, '-U', 'reader' ], qr/would be affected by row-level security/, 'a dump without it is refused');

done_testing();
