-- What people read. Each view shows the caller's tenant only, behind a barrier that keeps a leaky
-- function in a query from seeing other rows first.

CREATE VIEW workflow.worklist WITH (security_barrier) AS
SELECT t.id AS task_id, t.seat, t.roles, t.veto,
       CASE WHEN t.held_until IS NULL OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
            THEN t.holder ELSE t.delegated_by END AS holder,
       CASE WHEN t.held_until IS NULL OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
            THEN t.delegated_by END AS delegated_by,
       CASE WHEN t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN t.held_until END AS held_until,
       t.opened_at, t.due_at,
       COALESCE(t.due_at OPERATOR(pg_catalog.<) pg_catalog.clock_timestamp(), false) AS overdue,
       t.instance_id, i.application_id, a.business_key, i.definition, t.state, t.round,
       i.revision, t.material_version
  FROM workflow.tasks t
  JOIN workflow.instances i
    ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id AND i.id OPERATOR(pg_catalog.=) t.instance_id
  JOIN workflow.applications a
    ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id AND a.id OPERATOR(pg_catalog.=) i.application_id
 WHERE t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
   AND t.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.worklist IS 'Open tasks of the caller''s tenant, with what a page needs to decide them.';
COMMENT ON COLUMN workflow.worklist.holder IS 'Who alone may decide it; NULL: anybody of the roles.';
COMMENT ON COLUMN workflow.worklist.held_until IS 'End of the holder''s claim; NULL: until released.';

CREATE VIEW workflow.worklist_counts WITH (security_barrier) AS
SELECT r.role, pg_catalog.count(*) AS open,
       pg_catalog.count(*) FILTER (WHERE CASE WHEN t.held_until IS NULL OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
            THEN t.holder ELSE t.delegated_by END IS NULL) AS free,
       pg_catalog.count(*) FILTER (WHERE t.due_at OPERATOR(pg_catalog.<) pg_catalog.clock_timestamp()) AS overdue
  FROM workflow.tasks t
  LEFT JOIN LATERAL pg_catalog.unnest(t.roles) r(role) ON true
 WHERE t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
   AND t.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant())
 GROUP BY r.role;
COMMENT ON VIEW workflow.worklist_counts IS 'Open tasks per role; role NULL: tasks that anybody may decide.';

CREATE VIEW workflow.timeline WITH (security_barrier) AS
SELECT e.instance_id, e.at, e.kind, e.revision, e.work, e.actor, e.on_behalf_of, e.what, e.comment,
       e.material_version, e.round, e.task_id, e.request_id
  FROM (
    SELECT h.tenant_id, h.instance_id, h.at, h.step::pg_catalog.text AS kind, h.revision,
           NULL::pg_catalog.int8 AS work, h.actor, h.on_behalf_of,
           CASE
               WHEN h.step OPERATOR(pg_catalog.=) 'start'::workflow.step THEN pg_catalog.format('started in %s', h.to_state)
               WHEN h.step OPERATOR(pg_catalog.=) 'edge'::workflow.step THEN CASE
                   WHEN h.event IS NULL THEN pg_catalog.format('went on from %s to %s', h.from_state, h.to_state)
                   ELSE pg_catalog.format('%s: from %s to %s', h.event, h.from_state, h.to_state) END
               WHEN h.step OPERATOR(pg_catalog.=) 'supersede'::workflow.step THEN CASE
                   WHEN h.from_state OPERATOR(pg_catalog.=) h.to_state
                       THEN pg_catalog.format('material %s came into force', h.material_version)
                   ELSE pg_catalog.format('material %s came into force: back from %s to %s',
                                          h.material_version, h.from_state, h.to_state) END
               WHEN h.step OPERATOR(pg_catalog.=) 'seat'::workflow.step THEN (
                   SELECT pg_catalog.format(CASE WHEN k.opened_revision OPERATOR(pg_catalog.=) h.revision
                                                 THEN 'added seat %s' ELSE 'removed seat %s' END, k.seat)
                     FROM workflow.tasks k
                    WHERE k.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
                      AND k.id OPERATOR(pg_catalog.=) h.task_id)
               WHEN h.step OPERATOR(pg_catalog.=) 'override'::workflow.step
                   THEN pg_catalog.format('%s, in the place of those who were asked: from %s to %s', h.event, h.from_state, h.to_state)
               WHEN h.step OPERATOR(pg_catalog.=) 'cancel'::workflow.step THEN 'ended it'
               WHEN h.step OPERATOR(pg_catalog.=) 'migrate'::workflow.step THEN CASE
                   WHEN h.from_state OPERATOR(pg_catalog.=) h.to_state
                       THEN pg_catalog.format('went over to version %s', h.definition_version)
                   ELSE pg_catalog.format('went over to version %s: from %s to %s', h.definition_version,
                                          h.from_state, h.to_state) END
               ELSE h.step::pg_catalog.text END AS what,
           h.comment, h.material_version, h.round, h.task_id, h.request_id
      FROM workflow.history h
    UNION ALL
    SELECT l.tenant_id, l.instance_id, l.at, l.step::pg_catalog.text, l.revision, l.work, l.actor,
           l.on_behalf_of,
           CASE
               WHEN l.step OPERATOR(pg_catalog.=) 'vote'::workflow.task_step THEN pg_catalog.format('voted %s for seat %s', l.event, l.seat)
               WHEN l.step OPERATOR(pg_catalog.=) 'claim'::workflow.task_step THEN pg_catalog.format('claimed the task of seat %s', l.seat)
               WHEN l.step OPERATOR(pg_catalog.=) 'release'::workflow.task_step THEN pg_catalog.format('gave back the task of seat %s', l.seat)
               WHEN l.step OPERATOR(pg_catalog.=) 'assign'::workflow.task_step THEN pg_catalog.format('assigned the task of seat %s to %s', l.seat, l.to_actor)
               WHEN l.step OPERATOR(pg_catalog.=) 'delegate'::workflow.task_step THEN pg_catalog.format('delegated the task of seat %s to %s', l.seat, l.to_actor)
               WHEN l.step OPERATOR(pg_catalog.=) 'transfer'::workflow.task_step THEN pg_catalog.format('transferred the task of seat %s to %s', l.seat, l.to_actor)
               ELSE l.step::pg_catalog.text END,
           l.comment, l.material_version, l.round, l.task_id, l.request_id
      FROM workflow.task_log l
    UNION ALL
    SELECT r.tenant_id, r.instance_id, r.at, 'refusal', (r.detail OPERATOR(pg_catalog.#>>) '{actual,revision}')::pg_catalog.int8,
           NULL, r.actor, NULL,
           pg_catalog.format('was refused %s (%s)', r.command, r.reason),
           NULL, (r.detail OPERATOR(pg_catalog.#>>) '{actual,material_version}')::pg_catalog.int4, NULL, r.task_id, NULL
      FROM workflow.refusals r
     WHERE r.instance_id IS NOT NULL
       AND (r.actor OPERATOR(pg_catalog.=) (SELECT workflow.current_actor())
            OR (SELECT pg_catalog.has_table_privilege('workflow.refusals', 'SELECT')))
  ) e
 WHERE e.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.timeline IS 'What happened to an instance, in words: steps, votes, changes of hands, and refusals (one''s own, or all for those who may read workflow.refusals). Order by at, revision, work.';

CREATE VIEW workflow.balances WITH (security_barrier) AS
SELECT r.key, r.balance::pg_catalog.int8 AS balance, r.moves, m.at AS moved_at
  FROM workflow.resources r
  LEFT JOIN workflow.resource_moves m
    ON m.tenant_id OPERATOR(pg_catalog.=) r.tenant_id AND m.key OPERATOR(pg_catalog.=) r.key
   AND m.move OPERATOR(pg_catalog.=) r.moves
 WHERE r.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.balances IS 'What is left of each resource of the caller''s tenant.';
COMMENT ON COLUMN workflow.balances.moves IS 'How often it changed.';

CREATE VIEW workflow.movements WITH (security_barrier) AS
SELECT m.key, m.move, m.step::pg_catalog.text AS step, m.quantity, m.balance, m.instance_id, m.revision,
       m.actor, m.request_id, m.at
  FROM workflow.resource_moves m
 WHERE m.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.movements IS 'The ledger of the caller''s tenant: who took what, gave it back or counted it. Order by key, move.';
COMMENT ON COLUMN workflow.movements.quantity IS 'What was added; negative for what was taken.';
COMMENT ON COLUMN workflow.movements.balance IS 'What was left after it.';

CREATE VIEW workflow.outbox_lag WITH (security_barrier) AS
SELECT c.consumer, c.subscribed_at,
       q.events AS queued,
       d.waiting, d.claimed, d.failed, d.dead,
       LEAST(q.oldest, d.oldest) AS oldest_at,
       pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) LEAST(q.oldest, d.oldest) AS lag
  FROM workflow.consumers c
 CROSS JOIN LATERAL (
    SELECT pg_catalog.count(*) FILTER (WHERE w.attempt OPERATOR(pg_catalog.=) 0) AS waiting,
           pg_catalog.count(*) FILTER (WHERE w.claim IS NOT NULL
               AND w.available_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()) AS claimed,
           pg_catalog.count(*) FILTER (WHERE w.attempt OPERATOR(pg_catalog.>) 0 AND NOT w.dead
               AND (w.claim IS NULL OR w.available_at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp())) AS failed,
           pg_catalog.count(*) FILTER (WHERE w.dead) AS dead,
           pg_catalog.min(w.occurred_at) AS oldest
      FROM workflow.deliveries w
     WHERE w.tenant_id OPERATOR(pg_catalog.=) c.tenant_id
       AND w.consumer OPERATOR(pg_catalog.=) c.consumer) d
 CROSS JOIN LATERAL (
    SELECT pg_catalog.count(*) AS events, pg_catalog.min(w.occurred_at) AS oldest
      FROM workflow.outbox_queue w
     WHERE w.tenant_id OPERATOR(pg_catalog.=) c.tenant_id) q
 WHERE c.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.outbox_lag IS 'How far each consumer of the caller''s tenant is behind; nothing to do when queued, waiting, claimed, failed and dead are 0.';
COMMENT ON COLUMN workflow.outbox_lag.queued IS 'Events not yet handed to any consumer; the next claim of any of them does it.';
COMMENT ON COLUMN workflow.outbox_lag.waiting IS 'Events never handed out.';
COMMENT ON COLUMN workflow.outbox_lag.claimed IS 'Events in the consumer''s hands.';
COMMENT ON COLUMN workflow.outbox_lag.failed IS 'Events that failed, or whose claim ran out, and will be handed out again.';
COMMENT ON COLUMN workflow.outbox_lag.dead IS 'Dead letters; what follows each of them in its instance waits with it.';
COMMENT ON COLUMN workflow.outbox_lag.oldest_at IS 'When the oldest event happened that the consumer has not acknowledged.';

CREATE VIEW workflow.dead_letters WITH (security_barrier) AS
SELECT d.consumer, d.id, o.aggregatetype, o.aggregateid, o.type, o.payload, d.revision, d.occurred_at,
       d.attempt, d.failed_at, d.error,
       (SELECT pg_catalog.count(*)
          FROM workflow.deliveries b
         WHERE b.tenant_id OPERATOR(pg_catalog.=) d.tenant_id
           AND b.consumer OPERATOR(pg_catalog.=) d.consumer
           AND b.instance_id OPERATOR(pg_catalog.=) d.instance_id
           AND b.revision OPERATOR(pg_catalog.>) d.revision) AS blocked
  FROM workflow.deliveries d
  LEFT JOIN workflow.outbox o
    ON o.tenant_id OPERATOR(pg_catalog.=) d.tenant_id
   AND o.aggregateid OPERATOR(pg_catalog.=) d.instance_id::pg_catalog.text
   AND o.revision OPERATOR(pg_catalog.=) d.revision
 WHERE d.dead
   AND d.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.dead_letters IS 'Events of the caller''s tenant that a consumer failed too often. wf_outbox_requeue and wf_outbox_skip take their ids.';
COMMENT ON COLUMN workflow.dead_letters.blocked IS 'Events of the same instance that wait behind it.';
CREATE VIEW workflow.pending_timers WITH (security_barrier) AS
SELECT t.instance_id, i.application_id, a.business_key, i.definition, i.state, i.revision, t.event,
       t.due_at, t.next_at, t.attempts, t.error
  FROM workflow.timers t
  JOIN workflow.instances i
    ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id AND i.id OPERATOR(pg_catalog.=) t.instance_id
   AND i.entered_revision OPERATOR(pg_catalog.=) t.entered_revision
  JOIN workflow.applications a
    ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id AND a.id OPERATOR(pg_catalog.=) i.application_id
 WHERE NOT i.closed
   AND t.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant());
COMMENT ON VIEW workflow.pending_timers IS 'What time will do to the open instances of the caller''s tenant. Order by next_at.';
COMMENT ON COLUMN workflow.pending_timers.next_at IS 'When it is tried: due_at, or later if it has failed.';
COMMENT ON COLUMN workflow.pending_timers.error IS 'How it failed last.';
