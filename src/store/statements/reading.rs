//! What readers show: nothing here is written or locked.

use pgrx::pg_sys::{
    INT4OID as INT, OIDOID as OID, TEXTARRAYOID as TEXTS, TEXTOID as TEXT, UUIDOID as UUID,
};

use crate::pg::spi::Statement;

/// Due date of the last task of a page.
pub static TASK_DUE: Statement = Statement::new(
    "SELECT COALESCE(t.due_at, 'infinity')
       FROM workflow.tasks t
      WHERE t.tenant_id OPERATOR(pg_catalog.=) $1 AND t.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID],
);

/// Seats and votes of the present round, the last step, recent refusals, and who has the row. Two
/// kinds of locks say who waits: that of the transaction which changed the row last, and that of
/// the row's version.
pub static EXPLAIN: Statement = Statement::survey(
    "SELECT pg_catalog.jsonb_build_object(
        'seats', (SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                            'task_id', t.id, 'seat', t.seat, 'roles', t.roles, 'veto', t.veto,
                            'status', t.status, 'holder', CASE WHEN t.held_until IS NULL
                             OR t.held_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
                           THEN t.holder ELSE t.delegated_by END,
                            'delegated_by', t.delegated_by, 'decision', t.decision,
                            'decided_by', t.decided_by, 'on_behalf_of', t.on_behalf_of,
                            'due_at', t.due_at, 'reason', t.reason) ORDER BY t.seat),
                         '[]'::pg_catalog.jsonb)
                    FROM workflow.tasks t
                   WHERE t.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                     AND t.instance_id OPERATOR(pg_catalog.=) i.id
                     AND t.round OPERATOR(pg_catalog.=) i.round
                     AND t.material_version OPERATOR(pg_catalog.=) i.material_version),
        'last_step', (SELECT pg_catalog.jsonb_build_object(
                            'revision', h.revision, 'step', h.step, 'event', h.event,
                            'from_state', h.from_state, 'to_state', h.to_state,
                            'actor', h.actor, 'on_behalf_of', h.on_behalf_of, 'at', h.at)
                        FROM workflow.history h
                       WHERE h.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                         AND h.instance_id OPERATOR(pg_catalog.=) i.id
                         AND h.revision OPERATOR(pg_catalog.=) i.revision),
        'timers', (SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                            'event', m.event, 'due_at', m.due_at, 'next_at', m.next_at,
                            'attempts', m.attempts, 'error', m.error)
                            ORDER BY m.due_at, m.event), '[]'::pg_catalog.jsonb)
                     FROM workflow.timers m
                    WHERE m.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                      AND m.instance_id OPERATOR(pg_catalog.=) i.id
                      AND m.entered_revision OPERATOR(pg_catalog.=) i.entered_revision
                      AND NOT i.closed),
        'work', (SELECT pg_catalog.jsonb_build_object(
                            'attempt', w.attempt, 'available_at', w.available_at, 'worker', w.worker,
                            'error', w.error, 'exhausted_at', w.exhausted_at)
                   FROM workflow.work_items w
                  WHERE w.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                    AND w.instance_id OPERATOR(pg_catalog.=) i.id
                    AND w.entered_revision OPERATOR(pg_catalog.=) i.entered_revision
                    AND NOT i.closed),
        'refusals', (SELECT COALESCE(pg_catalog.jsonb_agg(r.refusal), '[]'::pg_catalog.jsonb)
                       FROM (SELECT pg_catalog.jsonb_build_object('at', f.at, 'actor', f.actor,
                                        'command', f.command, 'code', f.code,
                                        'reason', f.reason) AS refusal
                               FROM workflow.refusals f
                              WHERE f.tenant_id OPERATOR(pg_catalog.=) i.tenant_id
                                AND f.instance_id OPERATOR(pg_catalog.=) i.id
                                AND (f.actor OPERATOR(pg_catalog.=) $3
                                     OR pg_catalog.has_table_privilege($4, 'workflow.refusals',
                                                                       'SELECT'))
                              ORDER BY f.id DESC
                              LIMIT 10) r),
        'lock_held_by', (SELECT COALESCE(pg_catalog.jsonb_agg(DISTINCT l.pid), '[]'::pg_catalog.jsonb)
                           FROM pg_catalog.pg_locks l
                          WHERE l.locktype OPERATOR(pg_catalog.=) 'transactionid' AND l.granted
                            AND l.transactionid OPERATOR(pg_catalog.=) i.xmax),
        'lock_awaited_by', (SELECT COALESCE(pg_catalog.jsonb_agg(DISTINCT l.pid), '[]'::pg_catalog.jsonb)
                              FROM pg_catalog.pg_locks l
                             WHERE NOT l.granted
                               AND (l.transactionid OPERATOR(pg_catalog.=) i.xmax
                                    OR (l.locktype OPERATOR(pg_catalog.=) 'tuple'
                                        AND l.relation OPERATOR(pg_catalog.=) i.tableoid
                                        AND pg_catalog.format('(%s,%s)', l.page, l.tuple)
                                            OPERATOR(pg_catalog.=) i.ctid::pg_catalog.text))))
       FROM workflow.instances i
      WHERE i.tenant_id OPERATOR(pg_catalog.=) $1 AND i.id OPERATOR(pg_catalog.=) $2",
    &[TEXT, UUID, TEXT, OID],
);

/// Whether somebody has approved or rejected this material.
pub static VERDICT: Statement = Statement::new(
    "SELECT FROM workflow.history h
      WHERE h.tenant_id OPERATOR(pg_catalog.=) $1 AND h.instance_id OPERATOR(pg_catalog.=) $2
        AND h.material_version OPERATOR(pg_catalog.=) $3
        AND h.decision OPERATOR(pg_catalog.=) ANY ('{approve,reject}'::workflow.decision[])
      LIMIT 1",
    &[TEXT, UUID, INT],
);

/// The steps of an instance, those along the same way together, with the revisions of the first few.
pub static STEPS_TAKEN: Statement = Statement::new(
    "SELECT h.step::pg_catalog.text, h.from_state, h.to_state, h.event,
            pg_catalog.array_to_string((pg_catalog.array_agg(h.revision ORDER BY h.revision))[1:4], ','),
            pg_catalog.count(*)
       FROM workflow.history h
      WHERE h.tenant_id OPERATOR(pg_catalog.=) $1 AND h.instance_id OPERATOR(pg_catalog.=) $2
        AND h.from_state IS NOT NULL
      GROUP BY h.step, h.from_state, h.to_state, h.event
      ORDER BY pg_catalog.min(h.revision)",
    &[TEXT, UUID],
);

/// Who has decided in states, and for whom: by steps that were verdicts or led on, and by votes that
/// others completed to a verdict. `always` edges have nobody's event, timers are nobody.
pub static DECIDERS: Statement = Statement::new(
    "SELECT p.person
       FROM (SELECT h.actor, h.on_behalf_of
               FROM workflow.history h
              WHERE h.tenant_id OPERATOR(pg_catalog.=) $1
                AND h.instance_id OPERATOR(pg_catalog.=) $2
                AND h.from_state OPERATOR(pg_catalog.=) ANY ($3)
                AND h.step OPERATOR(pg_catalog.=) ANY ('{edge,override}'::workflow.step[])
                AND h.event IS NOT NULL
                AND (h.decision IS NOT NULL OR h.to_state OPERATOR(pg_catalog.<>) h.from_state)
              UNION
             SELECT t.decided_by, t.on_behalf_of
               FROM workflow.tasks t
              WHERE t.tenant_id OPERATOR(pg_catalog.=) $1
                AND t.instance_id OPERATOR(pg_catalog.=) $2
                AND t.state OPERATOR(pg_catalog.=) ANY ($3)
                AND t.status OPERATOR(pg_catalog.=) 'COMPLETED'::workflow.task_status) d
      CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[d.actor, d.on_behalf_of]) p(person)
      WHERE p.person IS NOT NULL",
    &[TEXT, UUID, TEXTS],
);

/// See `verify.sql`.
pub static VERIFY: Statement = Statement::survey(include_str!("../verify.sql"), &[TEXT, UUID]);
