-- Who may call what: one line per function, view or table. A new one gets a line here, and nothing else
-- hands out a right to it. A capability includes what those that it includes may do; what two
-- capabilities may do is listed with both.

CREATE VIEW workflow.capabilities WITH (security_barrier) AS
WITH RECURSIVE listed(object, capabilities) AS (VALUES
    ('function contention_counts', 'reader'),
    ('function current_actor', 'reader'),
    ('function current_tenant', 'reader'),
    ('function outer_role', 'reader'),
    ('function wf_activate', 'designer'),
    ('function wf_adopt', 'operator'),
    ('function wf_as', 'backend'),
    ('function wf_authenticate', 'reader'),
    ('function wf_cancel', 'backend operator'),
    ('function wf_check', 'reader'),
    ('function wf_decide', 'participant'),
    ('function wf_define', 'designer'),
    ('function wf_diagram', 'reader'),
    ('function wf_explain', 'reader'),
    ('function wf_export', 'reader'),
    ('function wf_get', 'reader'),
    ('function wf_inbox_accept', 'worker'),
    ('function lease_ends_at', 'reader'),
    ('function wf_lease_acquire', 'participant worker'),
    ('function wf_lease_acquire_many', 'participant worker'),
    ('function wf_lease_inspect', 'reader'),
    ('function wf_lease_release', 'participant worker'),
    ('function wf_lease_renew', 'participant worker'),
    ('function wf_lease_steal', 'operator'),
    ('function wf_lock', 'participant'),
    ('function wf_member_remove', 'operator'),
    ('function wf_member_set', 'operator'),
    ('function wf_migrate', 'operator'),
    ('function wf_migrate_all', 'operator'),
    ('function wf_resource_consume', 'backend operator worker'),
    ('function wf_resource_consume_many', 'backend operator worker'),
    ('function wf_resource_restock', 'backend operator worker'),
    ('function wf_resource_set', 'backend operator'),
    ('function wf_outbox_ack', 'worker'),
    ('function wf_outbox_claim', 'worker'),
    ('function wf_outbox_nack', 'worker'),
    ('function wf_outbox_requeue', 'operator'),
    ('function wf_outbox_skip', 'operator'),
    ('function wf_outbox_subscribe', 'worker operator'),
    ('function wf_outbox_unsubscribe', 'operator'),
    ('function wf_override', 'operator'),
    ('function wf_purge', 'operator'),
    ('function wf_purge_all', 'operator'),
    ('function wf_run_due', 'worker'),
    ('function wf_seat_add', 'backend operator'),
    ('function wf_seat_remove', 'backend operator'),
    ('function wf_send', 'participant'),
    ('function wf_start', 'participant'),
    ('function wf_supersede_material', 'participant'),
    ('function wf_task_assign', 'backend operator'),
    ('function wf_task_claim', 'participant'),
    ('function wf_task_delegate', 'participant'),
    ('function wf_task_release', 'participant'),
    ('function wf_task_transfer', 'participant'),
    ('function wf_transition', 'participant'),
    ('function wf_transition_many', 'participant'),
    ('function wf_try_transition', 'participant'),
    ('function wf_validate', 'reader'),
    ('function wf_verify', 'operator'),
    ('function wf_version', 'reader'),
    ('function wf_whoami', 'reader'),
    ('function wf_withdraw', 'participant'),
    ('function wf_work_extend', 'worker'),
    ('function wf_work_fail', 'worker'),
    ('function wf_work_finish', 'worker'),
    ('function wf_work_give_back', 'worker'),
    ('function wf_work_take', 'worker'),
    ('function wf_worklist', 'reader'),
    ('table refusals', 'operator'),
    ('view balances', 'reader'),
    ('view capabilities', 'reader'),
    ('view movements', 'reader'),
    ('view contention', 'reader'),
    ('view dead_letters', 'worker operator'),
    ('view exhausted_work', 'worker operator'),
    ('view held_leases', 'reader'),
    ('view lease_overlaps', 'reader'),
    ('view lease_usage', 'reader'),
    ('view machine_work', 'worker operator'),
    ('view outbox_lag', 'worker operator'),
    ('view pending_timers', 'reader'),
    ('view timeline', 'reader'),
    ('view worklist', 'reader'),
    ('view worklist_counts', 'reader')
), direct(capability, included) AS (VALUES
    ('reader', NULL),
    ('participant', 'reader'),
    ('backend', 'participant'),
    ('worker', 'reader'),
    ('operator', 'reader'),
    ('designer', 'reader')
), includes(capability, part) AS (
    SELECT d.capability, d.capability FROM direct d
    UNION ALL
    SELECT i.capability, d.included
      FROM includes i
      JOIN direct d ON d.capability OPERATOR(pg_catalog.=) i.part AND d.included IS NOT NULL
)
SELECT i.capability,
       pg_catalog.split_part(l.object, ' ', 1) AS object_kind,
       pg_catalog.split_part(l.object, ' ', 2) AS object_name,
       NOT i.part OPERATOR(pg_catalog.=) i.capability AS inherited,
       l.capabilities OPERATOR(pg_catalog.=) i.capability AS telling
  FROM listed l
  CROSS JOIN LATERAL pg_catalog.string_to_table(l.capabilities, ' ') c(capability)
  JOIN includes i ON i.part OPERATOR(pg_catalog.=) c.capability;
COMMENT ON VIEW workflow.capabilities IS 'What each capability may call (functions) and read (views, tables).';
COMMENT ON COLUMN workflow.capabilities.inherited IS 'Through a capability that this one includes.';
COMMENT ON COLUMN workflow.capabilities.telling IS 'No other capability gives it but those that include this one: who holds the right to it was given this capability.';
