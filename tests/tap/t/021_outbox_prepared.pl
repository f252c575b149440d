# An event of a prepared transaction that nobody ends is not delivered, and delays nothing but its own
# instance: not other instances, not other consumers, not a new consumer, not the removal of what was
# acknowledged. A transaction that wakes listeners cannot be prepared, and says so.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkflowTest;

my $node = new_node('main', 'max_prepared_transactions = 5');
install($node, 'app');
$node->safe_psql('app', q{
	CREATE FUNCTION work_off(consumer text) RETURNS text LANGUAGE sql AS $$
		WITH d AS (SELECT * FROM wf_outbox_claim($1, 1000)),
		a AS (SELECT (wf_outbox_ack($1, c.claim, c.ids)).applied FROM (SELECT claim, array_agg(id) AS ids FROM d GROUP BY 1) c)
		SELECT string_agg(b.business_key || ' ' || d.revision, ', ' ORDER BY b.business_key, d.revision)
		FROM d JOIN workflow.instances i ON i.id::text = d.aggregateid JOIN workflow.applications b ON b.id = i.application_id
		WHERE (SELECT count(*) FROM a) > 0 $$;
	SELECT wf_outbox_subscribe('mail');
	SELECT wf_start('review', 'stuck', '{}'), wf_start('review', 'free', '{}')});
is_value($node, 'app', q{SELECT work_off('mail')}, 'free 1, stuck 1', 'both cases were started');

$node->safe_psql('app', q{BEGIN; SELECT wf_send(instance_of('stuck'), 'NOTE'); PREPARE TRANSACTION 'orphan'});
$node->restart;
is_value($node, 'app', q{SELECT count(*) FROM pg_prepared_xacts}, '1', 'a prepared transaction outlives a restart');
for my $round (2 .. 4)
{
	is_value($node, 'app', q{SELECT state FROM wf_send(instance_of('free'), 'NOTE')}, 'SUBMITTED', 'others write');
	is_value($node, 'app', q{SELECT work_off('mail')}, "free $round", 'and their events come, only those');
}
is_value($node, 'app', q{SELECT count(*) FROM workflow.outbox}, '0', 'and go, when they are acknowledged');
is_value($node, 'app', q{SELECT applied FROM wf_outbox_subscribe('index', true)}, 't', 'a new consumer may come');
is_value($node, 'app', q{SELECT state FROM wf_send(instance_of('free'), 'NOTE')}, 'SUBMITTED', 'others write');
is_value($node, 'app', q{SELECT work_off('index')}, 'free 5', 'and the new one receives it');
is_value($node, 'app', q{SELECT code, reason FROM wf_send(instance_of('stuck'), 'NOTE', wait_ms => 50, on_refusal => 'return')},
	'55P03|busy', 'the instance itself is busy');

$node->safe_psql('app', q{COMMIT PREPARED 'orphan'});
is_value($node, 'app', q{SELECT work_off('mail')}, 'free 5, stuck 2', 'committed at last, it is delivered');
is_value($node, 'app', q{SELECT work_off('index')}, 'stuck 2', 'to each consumer');
$node->safe_psql('app', q{BEGIN; SELECT wf_send(instance_of('stuck'), 'NOTE'); PREPARE TRANSACTION 'orphan'});
$node->safe_psql('app', q{ROLLBACK PREPARED 'orphan'; SELECT wf_send(instance_of('stuck'), 'NOTE')});
is_value($node, 'app', q{SELECT work_off('mail')}, 'stuck 3', 'rolled back, it never was');
is_value($node, 'app', q{SELECT work_off('index')}, 'stuck 3', 'for nobody');
is_value($node, 'app', q{SELECT count(*) FROM workflow.outbox}, '0', 'nothing is left');

# A claim and an acknowledgement can be prepared as well.
$node->safe_psql('app', q{SELECT wf_send(instance_of('free'), 'NOTE'); BEGIN; SELECT work_off('mail'); PREPARE TRANSACTION 'consumed'});
is_value($node, 'app', q{SELECT coalesce(work_off('mail'), 'nothing')}, 'nothing', 'what a prepared transaction claimed is with nobody else');
$node->safe_psql('app', q{ROLLBACK PREPARED 'consumed'});
is_value($node, 'app', q{SELECT work_off('mail')}, 'free 6', 'rolled back it comes again');
is_value($node, 'app', q{SELECT work_off('index')}, 'free 6', 'and to the other one');
is_sound($node, 'app');

# Wake-ups: none unless asked for, one for each transaction that has events, without content.
my $listener = session($node, 'app');
$listener->('LISTEN workflow_outbox;');
$node->safe_psql('app', q{SELECT wf_send(instance_of('free'), 'NOTE')});
unlike($listener->('SELECT 1;'), qr/notification/, 'nobody is woken by default');
$node->safe_psql('app', q{SET workflow.notify = on; BEGIN; SELECT wf_send(instance_of('free'), 'NOTE'), wf_send(instance_of('stuck'), 'NOTE');
	SAVEPOINT s; SELECT wf_send(instance_of('free'), 'NOTE'); ROLLBACK TO s; SELECT wf_send(instance_of('free'), 'NOTE'); COMMIT});
my $woken = $listener->('SELECT 1;');
is(() = $woken =~ /Asynchronous notification "workflow_outbox" received/g, 1, 'one wake-up for a transaction');
unlike($woken, qr/payload/, 'without content');
$node->safe_psql('app', q{SET workflow.notify = on; BEGIN; SELECT wf_send(instance_of('free'), 'NOTE'); ROLLBACK; SELECT wf_get(instance_of('free'))});
unlike($listener->('SELECT 1;'), qr/notification/, 'none for one that was rolled back, or had no event');
$listener->();
is(sqlstate($node, 'app', q{SET workflow.notify = on; BEGIN; SELECT wf_send(instance_of('free'), 'NOTE'); PREPARE TRANSACTION 'loud'}),
	'0A000', 'a transaction that wakes listeners cannot be prepared');
is_value($node, 'app', q{SELECT count(*) FROM pg_prepared_xacts}, '0', 'and is rolled back');
is_sound($node, 'app');

done_testing();
