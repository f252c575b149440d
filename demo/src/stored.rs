//! What the database holds about an instance after a round.

use postgres::Client;

use crate::server::{DEFAULT_TENANT, Page, Result};

/// Read from the tables themselves.
pub struct Stored {
    pub state: String,
    pub revision: i64,
    /// Rows of history with a decision.
    pub decisions: i64,
    /// Events of a decision in the outbox.
    pub events: i64,
    /// Whether there is one task, and that is completed.
    pub one_task_completed: bool,
}

impl Stored {
    /// Reads an instance of the default tenant.
    pub fn read(client: &mut Client, page: &Page) -> Result<Stored> {
        let row = client.query_one(
            "SELECT i.state, i.revision,
                    (SELECT count(*) FROM workflow.history AS h
                      WHERE h.tenant_id = i.tenant_id AND h.instance_id = i.id
                        AND h.decision IS NOT NULL) AS decisions,
                    (SELECT count(*) FROM workflow.outbox AS o
                      WHERE o.tenant_id = i.tenant_id AND o.aggregateid = i.id::text
                        AND o.type IN ('APPROVE', 'REJECT')) AS events,
                    (SELECT array_agg(t.status::text) FROM workflow.tasks AS t
                      WHERE t.tenant_id = i.tenant_id AND t.instance_id = i.id) AS tasks
               FROM workflow.instances AS i
              WHERE i.tenant_id = $1 AND i.id = $2",
            &[&DEFAULT_TENANT, &page.instance],
        )?;
        let tasks: Option<Vec<String>> = row.try_get("tasks")?;
        Ok(Stored {
            state: row.try_get("state")?,
            revision: row.try_get("revision")?,
            decisions: row.try_get("decisions")?,
            events: row.try_get("events")?,
            one_task_completed: tasks.is_some_and(|tasks| tasks == ["COMPLETED"]),
        })
    }

    /// Whether the instance went this way in one step, and every table says so once.
    pub fn decided_once(&self, state: &str) -> bool {
        self.state == state
            && (self.revision, self.decisions, self.events) == (2, 1, 1)
            && self.one_task_completed
    }

    /// Whether nothing has happened since the start.
    pub fn untouched(&self) -> bool {
        self.state == "SUBMITTED"
            && (self.revision, self.decisions, self.events) == (1, 0, 0)
            && !self.one_task_completed
    }
}

/// Rows that bear a request key: of requests, and of history.
pub fn under_key(client: &mut Client, key: &str) -> Result<(i64, i64)> {
    let row = client.query_one(
        "SELECT (SELECT count(*) FROM workflow.requests AS r
                  WHERE r.tenant_id = $1 AND r.request_id = $2),
                (SELECT count(*) FROM workflow.history AS h
                  WHERE h.tenant_id = $1 AND h.request_id = $2)",
        &[&DEFAULT_TENANT, &key],
    )?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}
