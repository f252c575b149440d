-- Every invariant that the tables can break, judged in one snapshot. $1: tenant or NULL for all,
-- $2: instance or NULL for all. One row per violation: invariant, name, tenant, instance, detail.
WITH i AS (
    SELECT *
      FROM workflow.instances n
     WHERE ($1 IS NULL OR n.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR n.id OPERATOR(pg_catalog.=) $2)
), h AS (
    SELECT *,
           pg_catalog.row_number() OVER w AS place,
           pg_catalog.lag(r.to_state) OVER w AS came_from
      FROM workflow.history r
     WHERE ($1 IS NULL OR r.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR r.instance_id OPERATOR(pg_catalog.=) $2)
    WINDOW w AS (PARTITION BY r.tenant_id, r.instance_id ORDER BY r.revision)
), ends AS (
    SELECT h.tenant_id, h.instance_id, pg_catalog.max(h.revision) AS revision,
           pg_catalog.count(*) AS steps
      FROM h
     GROUP BY h.tenant_id, h.instance_id
), branches AS (
    -- A branch is a target, or an object with one; a list of them stands in order.
    SELECT d.tenant_id, d.name, d.version, s.key AS state, e.event,
           CASE WHEN pg_catalog.jsonb_typeof(e.value) OPERATOR(pg_catalog.=) 'array' THEN e.value
                ELSE pg_catalog.jsonb_build_array(e.value) END AS list
      FROM workflow.definitions d
     CROSS JOIN LATERAL pg_catalog.jsonb_each(d.spec OPERATOR(pg_catalog.->) 'states') s(key, value)
     CROSS JOIN LATERAL (
            SELECT o.key AS event, o.value
              FROM pg_catalog.jsonb_each(COALESCE(s.value OPERATOR(pg_catalog.->) 'on',
                                                  '{}'::pg_catalog.jsonb)) o(key, value)
            UNION ALL
            SELECT pg_catalog.concat('after.', o.key), o.value
              FROM pg_catalog.jsonb_each(COALESCE(s.value OPERATOR(pg_catalog.->) 'after',
                                                  '{}'::pg_catalog.jsonb)) o(key, value)
             WHERE o.key OPERATOR(pg_catalog.<>) 'restart'
            UNION ALL
            SELECT NULL, s.value OPERATOR(pg_catalog.->) 'always'
             WHERE s.value OPERATOR(pg_catalog.?) 'always') e
     WHERE d.name OPERATOR(pg_catalog.=) ANY (SELECT i.definition FROM i)
), edges AS (
    SELECT b.tenant_id, b.name, b.version,
           pg_catalog.jsonb_build_array(
               b.state, b.event,
               COALESCE(x.value OPERATOR(pg_catalog.#>>) '{target,0}',
                        x.value OPERATOR(pg_catalog.->>) 'target',
                        x.value OPERATOR(pg_catalog.#>>) '{}'),
               x.value OPERATOR(pg_catalog.#>>) '{meta,decision}')::pg_catalog.text AS key,
           COALESCE(x.value OPERATOR(pg_catalog.#>>) '{meta,publish}', 'true')
               OPERATOR(pg_catalog.=) 'true' AS published,
           COALESCE(x.value OPERATOR(pg_catalog.#>) '{meta,consume}',
                    x.value OPERATOR(pg_catalog.#>) '{meta,restock}') IS NOT NULL AS moves
      FROM branches b
     CROSS JOIN LATERAL pg_catalog.jsonb_array_elements(b.list) x(value)
), machines AS MATERIALIZED (
    -- One object a machine: looking an edge up in it costs the same however large the machine is.
    -- Edges that differ in their guards only are one key; they need not agree on what is published.
    SELECT e.tenant_id, e.name, e.version,
           pg_catalog.jsonb_object_agg(e.key, e.published) AS some,
           pg_catalog.jsonb_object_agg(e.key, e.published)
               FILTER (WHERE e.published) AS may_publish,
           pg_catalog.jsonb_object_agg(e.key, e.published)
               FILTER (WHERE NOT e.published) AS may_keep,
           pg_catalog.jsonb_object_agg(e.key, e.moves) FILTER (WHERE e.moves) AS may_move,
           pg_catalog.jsonb_object_agg(e.key, e.moves) FILTER (WHERE NOT e.moves) AS may_rest
      FROM edges e
     GROUP BY e.tenant_id, e.name, e.version
), steps AS (
    SELECT h.tenant_id, h.instance_id, h.revision, h.from_state, h.to_state, h.event,
           pg_catalog.jsonb_build_array(h.from_state, h.event, h.to_state,
                                        h.decision::pg_catalog.text)::pg_catalog.text AS key,
           m.some, m.may_publish, m.may_keep, m.may_move, m.may_rest
      FROM h
      JOIN i ON i.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
            AND i.id OPERATOR(pg_catalog.=) h.instance_id
      JOIN workflow.definitions p
        ON p.id OPERATOR(pg_catalog.=) i.definition_id
       AND (p.tenant_id OPERATOR(pg_catalog.=) i.tenant_id OR p.tenant_id OPERATOR(pg_catalog.=) '*')
      LEFT JOIN machines m
        ON m.tenant_id OPERATOR(pg_catalog.=) p.tenant_id
       AND m.name OPERATOR(pg_catalog.=) p.name
       AND m.version OPERATOR(pg_catalog.=) h.definition_version
     WHERE h.step OPERATOR(pg_catalog.=) ANY ('{edge,override}'::workflow.step[])
), walked AS (
    SELECT s.tenant_id, s.instance_id, s.revision, s.from_state, s.to_state, s.event,
           COALESCE(s.some OPERATOR(pg_catalog.?) s.key, false) AS known,
           COALESCE(s.may_publish OPERATOR(pg_catalog.?) s.key, false) AS may_publish,
           COALESCE(s.may_keep OPERATOR(pg_catalog.?) s.key, false) AS may_keep,
           COALESCE(s.may_move OPERATOR(pg_catalog.?) s.key, false) AS may_move,
           COALESCE(s.may_rest OPERATOR(pg_catalog.?) s.key, false) AS may_rest
      FROM steps s
), t AS (
    SELECT *
      FROM workflow.tasks k
     WHERE ($1 IS NULL OR k.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR k.instance_id OPERATOR(pg_catalog.=) $2)
), m AS (
    SELECT *
      FROM workflow.timers r
     WHERE ($1 IS NULL OR r.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR r.instance_id OPERATOR(pg_catalog.=) $2)
), wi AS (
    SELECT *
      FROM workflow.work_items k
     WHERE ($1 IS NULL OR k.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR k.instance_id OPERATOR(pg_catalog.=) $2)
), x AS (
    SELECT *
      FROM workflow.outbox o
     WHERE ($1 IS NULL OR o.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR o.aggregateid OPERATOR(pg_catalog.=) $2::pg_catalog.text)
), w AS (
    -- Events that wait: for a consumer, or in the queue for all of them.
    SELECT d.tenant_id, d.instance_id, d.revision, d.id, d.consumer, d.consumer AS who
      FROM workflow.deliveries d
     WHERE ($1 IS NULL OR d.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR d.instance_id OPERATOR(pg_catalog.=) $2)
    UNION ALL
    SELECT q.tenant_id, q.instance_id, q.revision, q.id, NULL, 'the queue'
      FROM workflow.outbox_queue q
     WHERE ($1 IS NULL OR q.tenant_id OPERATOR(pg_catalog.=) $1)
       AND ($2 IS NULL OR q.instance_id OPERATOR(pg_catalog.=) $2)
)
SELECT 2, 'time_acts_in_its_own_name', h.tenant_id, h.instance_id,
       pg_catalog.format('revision %s: %s by %s', h.revision, COALESCE(h.event, 'always'), h.actor)
  FROM h
 WHERE h.event IS NOT NULL
   AND (pg_catalog.starts_with(h.event, 'after.')
        OR h.actor OPERATOR(pg_catalog.=) 'workflow.timer'
        OR h.proof OPERATOR(pg_catalog.=) 'engine'::workflow.proof)
   AND NOT (pg_catalog.starts_with(h.event, 'after.')
            AND h.actor OPERATOR(pg_catalog.=) 'workflow.timer'
            AND h.proof OPERATOR(pg_catalog.=) 'engine'::workflow.proof)
UNION ALL
SELECT 2, 'timers_belong_to_a_visit', m.tenant_id, m.instance_id,
       pg_catalog.format('%s of revision %s, which entered no state', m.event, m.entered_revision)
  FROM m
 WHERE NOT EXISTS (SELECT FROM workflow.history e
                    WHERE e.tenant_id OPERATOR(pg_catalog.=) m.tenant_id
                      AND e.instance_id OPERATOR(pg_catalog.=) m.instance_id
                      AND e.revision OPERATOR(pg_catalog.=) m.entered_revision)
UNION ALL
SELECT 2, 'timers_fire_once', m.tenant_id, m.instance_id,
       pg_catalog.format('%s of revision %s has fired and is still there', m.event, m.entered_revision)
  FROM m
 CROSS JOIN LATERAL (SELECT e.event
                       FROM workflow.history e
                      WHERE e.tenant_id OPERATOR(pg_catalog.=) m.tenant_id
                        AND e.instance_id OPERATOR(pg_catalog.=) m.instance_id
                        AND e.revision OPERATOR(pg_catalog.>) m.entered_revision
                        AND e.step OPERATOR(pg_catalog.=) 'edge'::workflow.step
                      ORDER BY e.revision
                      LIMIT 1) way_out
 WHERE way_out.event OPERATOR(pg_catalog.=) m.event
UNION ALL
SELECT 1, 'revision_counts_history', i.tenant_id, i.id,
       pg_catalog.format('revision %s, history rows %s, last one %s', i.revision,
                         COALESCE(ends.steps, 0), COALESCE(ends.revision, 0))
  FROM i
  LEFT JOIN ends ON ends.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                AND ends.instance_id OPERATOR(pg_catalog.=) i.id
 WHERE NOT (i.revision OPERATOR(pg_catalog.=) COALESCE(ends.steps, 0)
            AND i.revision OPERATOR(pg_catalog.=) COALESCE(ends.revision, 0))
UNION ALL
SELECT 1, 'history_without_gap', h.tenant_id, h.instance_id,
       pg_catalog.format('row %s has revision %s', h.place, h.revision)
  FROM h
 WHERE h.place OPERATOR(pg_catalog.<>) h.revision
UNION ALL
SELECT 1, 'history_is_a_path', h.tenant_id, h.instance_id,
       pg_catalog.format('revision %s goes from %s, the one before to %s', h.revision,
                         h.from_state, h.came_from)
  FROM h
 WHERE NOT (COALESCE(h.from_state, '') OPERATOR(pg_catalog.=) COALESCE(h.came_from, ''))
    OR (h.place OPERATOR(pg_catalog.=) 1
        AND h.step OPERATOR(pg_catalog.<>) 'start'::workflow.step)
UNION ALL
SELECT 1, 'state_is_where_history_ends', i.tenant_id, i.id,
       pg_catalog.format('state %s, history ends in %s', i.state, h.to_state)
  FROM i
  JOIN h ON h.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
        AND h.instance_id OPERATOR(pg_catalog.=) i.id
        AND h.revision OPERATOR(pg_catalog.=) i.revision
 WHERE NOT (h.to_state OPERATOR(pg_catalog.=) i.state)
    OR NOT (h.material_version OPERATOR(pg_catalog.=) i.material_version)
UNION ALL
SELECT 2, 'steps_are_edges', w.tenant_id, w.instance_id,
       pg_catalog.format('revision %s: no edge from %s to %s by %s', w.revision, w.from_state,
                         w.to_state, COALESCE(w.event, 'always'))
  FROM walked w
 WHERE NOT w.known
UNION ALL
SELECT 3, 'one_decision_per_round', h.tenant_id, h.instance_id,
       pg_catalog.format('%s decisions on material %s in round %s', pg_catalog.count(*),
                         h.material_version, h.round)
  FROM h
 WHERE h.decision IS NOT NULL
 GROUP BY h.tenant_id, h.instance_id, h.material_version, h.round
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1
UNION ALL
SELECT 3, 'one_open_task_per_seat', t.tenant_id, t.instance_id,
       pg_catalog.format('%s open tasks for seat %s', pg_catalog.count(*), t.seat)
  FROM t
 WHERE t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
 GROUP BY t.tenant_id, t.instance_id, t.seat
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1
UNION ALL
SELECT 4, 'open_tasks_are_current', t.tenant_id, t.instance_id,
       pg_catalog.format('task %s is open in state %s, material %s, round %s; the instance is in %s, %s, %s%s',
                         t.id, t.state, t.material_version, t.round, i.state, i.material_version,
                         i.round, CASE WHEN i.closed THEN ', closed' ELSE '' END)
  FROM t
  JOIN i ON i.tenant_id OPERATOR(pg_catalog.=) t.tenant_id
        AND i.id OPERATOR(pg_catalog.=) t.instance_id
 WHERE t.status OPERATOR(pg_catalog.=) 'OPEN'::workflow.task_status
   AND NOT (NOT i.closed
            AND i.state OPERATOR(pg_catalog.=) t.state
            AND i.material_version OPERATOR(pg_catalog.=) t.material_version
            AND i.round OPERATOR(pg_catalog.=) t.round)
UNION ALL
SELECT 4, 'closed_tasks_say_why', t.tenant_id, t.instance_id,
       pg_catalog.format('task %s is %s without a reason or decision', t.id, t.status)
  FROM t
 WHERE (t.status OPERATOR(pg_catalog.=) 'COMPLETED'::workflow.task_status
        AND (t.decision IS NULL OR t.decided_by IS NULL OR t.closed_revision IS NULL))
    OR (t.status OPERATOR(pg_catalog.=) ANY (ARRAY['SUPERSEDED', 'CANCELLED']::workflow.task_status[])
        AND (t.reason IS NULL OR t.closed_revision IS NULL))
UNION ALL
SELECT 1, 'work_counts_the_log', i.tenant_id, i.id,
       pg_catalog.format('work %s, rows of the task log %s, last one %s', i.work,
                         pg_catalog.count(l.work), COALESCE(pg_catalog.max(l.work), 0))
  FROM i
  LEFT JOIN workflow.task_log l ON l.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                               AND l.instance_id OPERATOR(pg_catalog.=) i.id
 GROUP BY i.tenant_id, i.id, i.work
HAVING NOT (i.work OPERATOR(pg_catalog.=) pg_catalog.count(l.work)
            AND i.work OPERATOR(pg_catalog.=) COALESCE(pg_catalog.max(l.work), 0))
UNION ALL
SELECT 3, 'one_vote_per_seat', t.tenant_id, t.instance_id,
       pg_catalog.format('%s votes of seat %s in round %s', pg_catalog.count(*), t.seat, t.round)
  FROM t
 WHERE t.in_favour IS NOT NULL
 GROUP BY t.tenant_id, t.instance_id, t.material_version, t.round, t.seat
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1
UNION ALL
SELECT 3, 'one_vote_per_person', t.tenant_id, t.instance_id,
       pg_catalog.format('%s votes of %s in round %s', pg_catalog.count(*), t.decided_by, t.round)
  FROM t
 WHERE t.in_favour IS NOT NULL AND t.one_vote_each
 GROUP BY t.tenant_id, t.instance_id, t.material_version, t.round, t.decided_by
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1
UNION ALL
SELECT 3, 'duties_are_separate', h.tenant_id, h.instance_id,
       pg_catalog.format('revision %s: decided in %s by %s, who had decided in %s', h.revision,
                         h.from_state, COALESCE(h.on_behalf_of, h.actor), e.from_state)
  FROM h
  JOIN i ON i.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
        AND i.id OPERATOR(pg_catalog.=) h.instance_id
  JOIN workflow.definitions p
    ON p.id OPERATOR(pg_catalog.=) i.definition_id
   AND (p.tenant_id OPERATOR(pg_catalog.=) i.tenant_id OR p.tenant_id OPERATOR(pg_catalog.=) '*')
  JOIN workflow.definitions d
    ON d.tenant_id OPERATOR(pg_catalog.=) p.tenant_id AND d.name OPERATOR(pg_catalog.=) p.name
   AND d.version OPERATOR(pg_catalog.=) h.definition_version
 CROSS JOIN LATERAL (SELECT d.spec OPERATOR(pg_catalog.#>)
                            ARRAY['states', h.from_state, 'meta', 'task', 'not_same_as'] AS names) k
  JOIN workflow.history e
    ON e.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
   AND e.instance_id OPERATOR(pg_catalog.=) h.instance_id
   AND e.revision OPERATOR(pg_catalog.<) h.revision
   AND k.names OPERATOR(pg_catalog.?) e.from_state
   AND e.step OPERATOR(pg_catalog.=) ANY ('{edge,override}'::workflow.step[])
   AND e.event IS NOT NULL
   AND (e.decision IS NOT NULL OR e.to_state OPERATOR(pg_catalog.<>) e.from_state)
   AND ARRAY[e.actor, e.on_behalf_of] OPERATOR(pg_catalog.&&) ARRAY[h.actor, h.on_behalf_of]
 WHERE h.step OPERATOR(pg_catalog.=) 'edge'::workflow.step AND h.decision IS NOT NULL
   AND k.names IS NOT NULL
UNION ALL
SELECT 5, 'events_have_a_step', x.tenant_id, x.aggregateid::pg_catalog.uuid,
       pg_catalog.format('an event of revision %s, which is not in history', x.revision)
  FROM x
 WHERE NOT EXISTS (SELECT FROM h
                    WHERE h.tenant_id OPERATOR(pg_catalog.=) x.tenant_id
                      AND h.instance_id OPERATOR(pg_catalog.=) x.aggregateid::pg_catalog.uuid
                      AND h.revision OPERATOR(pg_catalog.=) x.revision)
UNION ALL
SELECT 5, 'steps_have_an_event', h.tenant_id, h.instance_id,
       pg_catalog.format('revision %s is published and has no event', h.revision)
  FROM h
  LEFT JOIN walked w ON w.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
                    AND w.instance_id OPERATOR(pg_catalog.=) h.instance_id
                    AND w.revision OPERATOR(pg_catalog.=) h.revision
 WHERE (h.step OPERATOR(pg_catalog.<>) ALL ('{edge,override}'::workflow.step[]) OR (w.may_publish AND NOT w.may_keep))
   AND NOT EXISTS (SELECT FROM x
                    WHERE x.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
                      AND x.aggregateid OPERATOR(pg_catalog.=) h.instance_id::pg_catalog.text
                      AND x.revision OPERATOR(pg_catalog.=) h.revision)
   -- it was acknowledged by every consumer, or its time was over
   AND NOT EXISTS (SELECT FROM workflow.outbox_removed r
                    WHERE r.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
                      AND r.instance_id OPERATOR(pg_catalog.=) h.instance_id
                      AND r.revision OPERATOR(pg_catalog.>=) h.revision)
UNION ALL
SELECT 5, 'unpublished_steps_have_none', w.tenant_id, w.instance_id,
       pg_catalog.format('revision %s is not published and has an event', w.revision)
  FROM walked w
  JOIN x ON x.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
        AND x.aggregateid OPERATOR(pg_catalog.=) w.instance_id::pg_catalog.text
        AND x.revision OPERATOR(pg_catalog.=) w.revision
 WHERE w.may_keep AND NOT w.may_publish
UNION ALL
SELECT 7, 'moves_add_up', r.tenant_id, NULL,
       pg_catalog.format('%s has %s after %s moves; the %s there are add up to %s', r.key, r.balance,
                         r.moves, c.moves, c.total)
  FROM workflow.resources r
 CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS moves, COALESCE(pg_catalog.sum(m.quantity), 0) AS total
          FROM workflow.resource_moves m
         WHERE m.tenant_id OPERATOR(pg_catalog.=) r.tenant_id
           AND m.key OPERATOR(pg_catalog.=) r.key) c
 WHERE ($1 IS NULL OR r.tenant_id OPERATOR(pg_catalog.=) $1)
   AND $2 IS NULL
   AND NOT (r.balance OPERATOR(pg_catalog.>=) 0
            AND c.moves OPERATOR(pg_catalog.=) r.moves
            AND c.total OPERATOR(pg_catalog.=) r.balance::pg_catalog.numeric)
UNION ALL
SELECT 7, 'ledger_without_gap', l.tenant_id, NULL,
       pg_catalog.format('%s: row %s is move %s, %s after %s make %s', l.key, l.place, l.move,
                         l.quantity, l.before, l.balance)
  FROM (SELECT m.tenant_id, m.key, m.move, m.quantity, m.balance,
               pg_catalog.row_number() OVER w AS place,
               pg_catalog.lag(m.balance, 1, 0::pg_catalog.int8) OVER w AS before
          FROM workflow.resource_moves m
         WHERE ($1 IS NULL OR m.tenant_id OPERATOR(pg_catalog.=) $1)
           AND $2 IS NULL
        WINDOW w AS (PARTITION BY m.tenant_id, m.key ORDER BY m.move)) l
 WHERE NOT (l.place OPERATOR(pg_catalog.=) l.move
            AND l.balance OPERATOR(pg_catalog.>=) 0
            AND (l.balance OPERATOR(pg_catalog.-) l.quantity) OPERATOR(pg_catalog.=) l.before)
UNION ALL
SELECT 7, 'moves_belong_to_a_resource', m.tenant_id, NULL,
       pg_catalog.format('move %s of %s, which is no resource of this tenant', m.move, m.key)
  FROM workflow.resource_moves m
 WHERE ($1 IS NULL OR m.tenant_id OPERATOR(pg_catalog.=) $1)
   AND $2 IS NULL
   AND NOT EXISTS (SELECT FROM workflow.resources r
                    WHERE r.tenant_id OPERATOR(pg_catalog.=) m.tenant_id
                      AND r.key OPERATOR(pg_catalog.=) m.key)
UNION ALL
SELECT 7, 'steps_have_moves', w.tenant_id, w.instance_id,
       pg_catalog.format('revision %s takes or gives back, and the ledger has nothing of it',
                         w.revision)
  FROM walked w
 WHERE w.may_move AND NOT w.may_rest
   AND NOT EXISTS (SELECT FROM workflow.resource_moves m
                    WHERE m.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
                      AND m.instance_id OPERATOR(pg_catalog.=) w.instance_id
                      AND m.revision OPERATOR(pg_catalog.=) w.revision)
UNION ALL
-- The ledger outlives an instance that is purged.
SELECT 7, 'moves_belong_to_a_step', m.tenant_id, m.instance_id,
       pg_catalog.format('move %s of %s: revision %s is no step along an edge', m.move, m.key,
                         m.revision)
  FROM workflow.resource_moves m
  JOIN i ON i.tenant_id OPERATOR(pg_catalog.=) m.tenant_id
        AND i.id OPERATOR(pg_catalog.=) m.instance_id
 WHERE NOT EXISTS (SELECT FROM h
                    WHERE h.tenant_id OPERATOR(pg_catalog.=) m.tenant_id
                      AND h.instance_id OPERATOR(pg_catalog.=) m.instance_id
                      AND h.revision OPERATOR(pg_catalog.=) m.revision
                      AND h.step OPERATOR(pg_catalog.=) ANY ('{edge,override}'::workflow.step[]))
UNION ALL
SELECT 5, 'what_is_delivered_is_an_event', w.tenant_id, w.instance_id,
       pg_catalog.format('%s waits for revision %s, which is not in the outbox', w.who, w.revision)
  FROM w
 WHERE NOT EXISTS (SELECT FROM x
                    WHERE x.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
                      AND x.aggregateid OPERATOR(pg_catalog.=) w.instance_id::pg_catalog.text
                      AND x.revision OPERATOR(pg_catalog.=) w.revision
                      AND x.id OPERATOR(pg_catalog.=) w.id)
UNION ALL
SELECT 5, 'events_reach_their_consumers', x.tenant_id, x.aggregateid::pg_catalog.uuid,
       pg_catalog.format('revision %s is not acknowledged by %s, and does not wait for anybody',
                         x.revision, c.consumer)
  FROM x
  JOIN workflow.consumers c ON c.tenant_id OPERATOR(pg_catalog.=) x.tenant_id
                           AND c.subscribed_at OPERATOR(pg_catalog.<) x.occurred_at
 WHERE NOT EXISTS (SELECT FROM w
                    WHERE w.tenant_id OPERATOR(pg_catalog.=) x.tenant_id
                      AND w.instance_id OPERATOR(pg_catalog.=) x.aggregateid::pg_catalog.uuid
                      AND w.revision OPERATOR(pg_catalog.=) x.revision)
   -- two consumers acknowledged it at the same moment: the next claim removes it
   AND NOT EXISTS (SELECT FROM workflow.outbox_unremoved n
                    WHERE n.tenant_id OPERATOR(pg_catalog.=) x.tenant_id
                      AND n.instance_id OPERATOR(pg_catalog.=) x.aggregateid::pg_catalog.uuid
                      AND n.revision OPERATOR(pg_catalog.=) x.revision)
UNION ALL
SELECT 5, 'the_queue_is_behind_the_deliveries', d.tenant_id, d.instance_id,
       pg_catalog.format('revision %s is with %s, and the queue has revision %s', d.revision,
                         d.consumer, q.revision)
  FROM w d
  JOIN w q ON q.tenant_id OPERATOR(pg_catalog.=) d.tenant_id
          AND q.instance_id OPERATOR(pg_catalog.=) d.instance_id
          AND q.consumer IS NULL
          AND q.revision OPERATOR(pg_catalog.<=) d.revision
 WHERE d.consumer IS NOT NULL
UNION ALL
SELECT 5, 'deliveries_have_a_consumer', w.tenant_id, w.instance_id,
       pg_catalog.format('revision %s is with %s, who is not subscribed', w.revision, w.consumer)
  FROM w
 WHERE w.consumer IS NOT NULL
   AND NOT EXISTS (SELECT FROM workflow.consumers c
                    WHERE c.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
                      AND c.consumer OPERATOR(pg_catalog.=) w.consumer)
UNION ALL
SELECT 6, 'fences_of_an_instance_grow', f.tenant_id, f.instance_id,
       pg_catalog.format('revision %s has fence %s of lease %s after %s', f.revision, f.fence,
                         f.lease_key, f.before)
  FROM (SELECT h.tenant_id, h.instance_id, h.revision, h.lease_key, h.fence,
               pg_catalog.lag(h.fence) OVER (PARTITION BY h.tenant_id, h.instance_id, h.lease_key
                                                 ORDER BY h.revision) AS before
          FROM h
         WHERE h.fence IS NOT NULL) f
 WHERE f.fence OPERATOR(pg_catalog.<) f.before
UNION ALL
SELECT 6, 'fences_were_granted', h.tenant_id, h.instance_id,
       pg_catalog.format('revision %s has fence %s of lease %s, which was never granted', h.revision,
                         h.fence, h.lease_key)
  FROM h
 WHERE h.fence IS NOT NULL
   AND NOT EXISTS (SELECT FROM workflow.lease_log g
                    WHERE g.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
                      AND g.key OPERATOR(pg_catalog.=) h.lease_key
                      AND g.fence OPERATOR(pg_catalog.=) h.fence)
UNION ALL
SELECT 6, 'tenures_do_not_overlap', g.tenant_id, NULL,
       pg_catalog.format('tenure %s of lease %s began before %s had ended', g.next_fence, g.key, g.fence)
  FROM (SELECT n.tenant_id, n.key, n.fence, n.ended_at,
               pg_catalog.lead(n.fence) OVER w AS next_fence,
               pg_catalog.lead(n.granted_at) OVER w AS next_granted_at
          FROM workflow.lease_log n
         WHERE $2 IS NULL AND ($1 IS NULL OR n.tenant_id OPERATOR(pg_catalog.=) $1)
        WINDOW w AS (PARTITION BY n.tenant_id, n.key ORDER BY n.fence)) g
 WHERE g.next_fence IS NOT NULL
   AND (g.ended_at IS NULL OR g.ended_at OPERATOR(pg_catalog.>) g.next_granted_at)
UNION ALL
SELECT 6, 'leases_have_their_last_tenure', COALESCE(l.tenant_id, g.tenant_id), NULL,
       pg_catalog.format('lease %s has fence %s, the last one granted is %s', COALESCE(l.key, g.key),
                         COALESCE(l.fence, 0), COALESCE(g.fence, 0))
  FROM (SELECT * FROM workflow.leases k
         WHERE $2 IS NULL AND ($1 IS NULL OR k.tenant_id OPERATOR(pg_catalog.=) $1)) l
  FULL JOIN (SELECT n.tenant_id, n.key, pg_catalog.max(n.fence) AS fence
               FROM workflow.lease_log n
              WHERE $2 IS NULL AND ($1 IS NULL OR n.tenant_id OPERATOR(pg_catalog.=) $1)
              GROUP BY n.tenant_id, n.key) g
    ON g.tenant_id OPERATOR(pg_catalog.=) l.tenant_id AND g.key OPERATOR(pg_catalog.=) l.key
 WHERE NOT COALESCE(l.fence OPERATOR(pg_catalog.=) g.fence, false)
UNION ALL
SELECT 2, 'work_belongs_to_a_visit', w.tenant_id, w.instance_id,
       pg_catalog.format('work of state %s at revision %s, which did not enter it', w.state,
                         w.entered_revision)
  FROM wi w
 WHERE NOT EXISTS (SELECT FROM workflow.history e
                    WHERE e.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
                      AND e.instance_id OPERATOR(pg_catalog.=) w.instance_id
                      AND e.revision OPERATOR(pg_catalog.=) w.entered_revision
                      AND e.to_state OPERATOR(pg_catalog.=) w.state)
UNION ALL
SELECT 2, 'work_is_in_its_queue', i.tenant_id, i.id,
       pg_catalog.format('state %s has machine work, and revision %s is not in its queue', i.state,
                         i.entered_revision)
  FROM i
  JOIN workflow.definitions d
    ON d.id OPERATOR(pg_catalog.=) i.definition_id
   AND (d.tenant_id OPERATOR(pg_catalog.=) i.tenant_id OR d.tenant_id OPERATOR(pg_catalog.=) '*')
 WHERE NOT i.closed
   AND d.spec OPERATOR(pg_catalog.#>) ARRAY['states', i.state, 'meta']
           OPERATOR(pg_catalog.?|) '{retry,lease}'
   AND NOT EXISTS (SELECT FROM wi w
                    WHERE w.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                      AND w.instance_id OPERATOR(pg_catalog.=) i.id
                      AND w.entered_revision OPERATOR(pg_catalog.=) i.entered_revision)
UNION ALL
SELECT 2, 'exhausted_work_goes_where_it_should', h.tenant_id, h.instance_id,
       pg_catalog.format('revision %s goes from %s to %s', h.revision, h.from_state, h.to_state)
  FROM h
  JOIN i ON i.tenant_id OPERATOR(pg_catalog.=) h.tenant_id
        AND i.id OPERATOR(pg_catalog.=) h.instance_id
  JOIN workflow.definitions p
    ON p.id OPERATOR(pg_catalog.=) i.definition_id
   AND (p.tenant_id OPERATOR(pg_catalog.=) i.tenant_id OR p.tenant_id OPERATOR(pg_catalog.=) '*')
  LEFT JOIN workflow.definitions d
    ON d.tenant_id OPERATOR(pg_catalog.=) p.tenant_id
   AND d.name OPERATOR(pg_catalog.=) p.name
   AND d.version OPERATOR(pg_catalog.=) h.definition_version
 WHERE h.step OPERATOR(pg_catalog.=) 'exhaust'::workflow.step
   AND NOT COALESCE(d.spec OPERATOR(pg_catalog.#>>)
                        ARRAY['states', h.from_state, 'meta', 'retry', 'exhausted']
                    OPERATOR(pg_catalog.=) h.to_state, false)
UNION ALL
SELECT 6, 'work_in_hand_has_the_fence', w.tenant_id, w.instance_id,
       pg_catalog.format('fence %s of %s, attempt %s; the lease has fence %s', w.fence, w.worker,
                         w.attempt, COALESCE(l.fence, 0))
  FROM wi w
  LEFT JOIN workflow.leases l
    ON l.tenant_id OPERATOR(pg_catalog.=) w.tenant_id
   AND l.key OPERATOR(pg_catalog.=) pg_catalog.concat('workflow.work/', w.instance_id)
 WHERE w.worker IS NOT NULL
   AND NOT (COALESCE(l.fence OPERATOR(pg_catalog.=) w.fence, false)
            AND w.attempt OPERATOR(pg_catalog.>) 0)
UNION ALL
SELECT 8, 'rows_belong_to_an_instance', o.tenant_id, o.instance_id,
       pg_catalog.format('%s of no instance of this tenant', o.what)
  FROM (SELECT h.tenant_id, h.instance_id, 'history' AS what FROM h
        UNION ALL SELECT t.tenant_id, t.instance_id, 'a task' FROM t
        UNION ALL SELECT m.tenant_id, m.instance_id, 'a timer' FROM m
        UNION ALL SELECT w.tenant_id, w.instance_id, 'machine work' FROM wi w
        UNION ALL SELECT x.tenant_id, x.aggregateid::pg_catalog.uuid, 'an event' FROM x
        UNION ALL SELECT l.tenant_id, l.instance_id, 'a row of the task log' FROM workflow.task_log l
                   WHERE ($1 IS NULL OR l.tenant_id OPERATOR(pg_catalog.=) $1)
                     AND ($2 IS NULL OR l.instance_id OPERATOR(pg_catalog.=) $2)) o
 WHERE NOT EXISTS (SELECT FROM i
                    WHERE i.tenant_id OPERATOR(pg_catalog.=) o.tenant_id
                      AND i.id OPERATOR(pg_catalog.=) o.instance_id)
UNION ALL
SELECT 8, 'instances_belong_to_an_application', i.tenant_id, i.id,
       pg_catalog.format('application %s has material %s, the instance %s', i.application_id,
                         COALESCE(a.material_version, 0), i.material_version)
  FROM i
  LEFT JOIN workflow.applications a ON a.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                                   AND a.id OPERATOR(pg_catalog.=) i.application_id
 WHERE a.id IS NULL
    OR (NOT i.closed AND NOT (a.material_version OPERATOR(pg_catalog.=) i.material_version))
    OR NOT EXISTS (SELECT FROM workflow.materials m
                    WHERE m.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                      AND m.application_id OPERATOR(pg_catalog.=) i.application_id
                      AND m.version OPERATOR(pg_catalog.=) i.material_version)
UNION ALL
SELECT 8, 'instances_have_a_definition', i.tenant_id, i.id,
       pg_catalog.format('definition %s is not one of this tenant', i.definition_id)
  FROM i
 WHERE NOT EXISTS (SELECT FROM workflow.definitions d
                    WHERE (d.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                           OR d.tenant_id OPERATOR(pg_catalog.=) '*')
                      AND d.id OPERATOR(pg_catalog.=) i.definition_id
                      AND d.name OPERATOR(pg_catalog.=) i.definition)
ORDER BY 1, 2, 3, 4
