//! The tables after a round, compared with the model: whatever is there must be there by a
//! committed command, and nothing may be missing.

use std::collections::BTreeMap;

use postgres::{Client, Row};
use serde_json::Value;
use uuid::Uuid;

use crate::call::explain;
use crate::instance::Instance;
use crate::model::Model;
use crate::record::Answer;
use crate::round::{Round, Violation};

pub struct Tables<'a> {
    pub round: &'a Round<'a>,
    pub model: &'a Model<'a>,
    pub client: &'a mut Client,
}

pub type Found = Result<(), Violation>;

impl Tables<'_> {
    pub fn check(&mut self) -> Found {
        self.applications()?;
        self.materials()?;
        self.instances()?;
        self.history()?;
        self.tasks()?;
        self.task_log()?;
        self.outbox()?;
        self.requests()?;
        self.refusals()
    }

    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Violation> {
        let tenants = self.round.library.tenants().to_vec();
        self.client
            .query(sql, &[&tenants])
            .map_err(|error| Violation::new(format!("{}: {sql}", explain(&error))))
    }

    fn tenant(&self, row: &Row) -> usize {
        self.round.library.tenant(row.get("tenant_id"))
    }

    /// The instance a row belongs to.
    pub fn instance(&self, row: &Row, column: &str) -> Result<&Instance<'_>, Violation> {
        let id: Uuid = row.get(column);
        let instance = self.model.instances.get(&id);
        let instance = instance.filter(|instance| instance.tenant == self.tenant(row));
        instance.ok_or_else(|| {
            let what = "a row of an instance that no committed command started for this tenant";
            Violation::new(what).about(id)
        })
    }

    fn applications(&mut self) -> Found {
        let rows = self.query(
            "SELECT tenant_id, id, business_key, material_version FROM workflow.applications
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let id: Uuid = row.get("id");
            let (key, version): (String, i32) = (row.get("business_key"), row.get(3));
            let known = self.model.applications.get(&id).filter(|known| {
                known.tenant == self.tenant(row)
                    && known.business_key == key
                    && known.versions.len() as i32 == version
            });
            if known.is_none() {
                let what = format!(
                    "application {id} ({key}) has material {version}; the model does not know it so"
                );
                return Err(Violation::new(what));
            }
        }
        counted("applications", rows.len(), self.model.applications.len())
    }

    fn materials(&mut self) -> Found {
        let rows = self.query(
            "SELECT application_id, version, content, author FROM workflow.materials
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let (id, version): (Uuid, i32) = (row.get(0), row.get(1));
            let (content, author): (Value, String) = (row.get(2), row.get(3));
            let application = self.model.applications.get(&id);
            let known = application
                .and_then(|known| known.versions.get(version as usize - 1))
                .filter(|known| {
                    known.content == content && known.authors.contains(&author.as_str())
                });
            if known.is_none() {
                let what = format!(
                    "material {version} of {id} by {author} is {content}; the model does not know it so"
                );
                return Err(Violation::new(what));
            }
        }
        let expected = self.model.applications.values();
        let expected = expected.map(|known| known.versions.len()).sum();
        counted("materials", rows.len(), expected)
    }

    fn instances(&mut self) -> Found {
        let rows = self.query(
            "SELECT i.tenant_id, i.id, i.application_id, i.definition, i.state, i.revision, i.round,
                    i.material_version, i.entered_revision, i.closed, i.concurrent, i.started_by,
                    i.work, d.version
               FROM workflow.instances i
               JOIN workflow.definitions d ON d.id = i.definition_id
              WHERE i.tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let instance = self.instance(row, "id")?;
            let node = instance.now();
            let start = self.round.command(instance.placed[0].made);
            let same = row.get::<_, Uuid>("application_id") == instance.application
                && row.get::<_, &str>("definition") == instance.machine.name
                && row.get::<_, i32>("version") == instance.machine.version
                && row.get::<_, &str>("state") == node.state
                && row.get::<_, i64>("revision") == node.revision
                && row.get::<_, i32>("round") == node.round
                && row.get::<_, i32>("material_version") == node.material
                && row.get::<_, i64>("entered_revision") == node.entered
                && row.get::<_, bool>("closed") == node.closed
                && row.get::<_, i64>("work") == node.work
                && row.get::<_, bool>("concurrent") == instance.machine.concurrent
                && row.get::<_, &str>("started_by") == start.identity.actor;
            if !same {
                let what = format!("the instance is {}; the model says {node:?}", show(row));
                return Err(Violation::new(what).about(instance.id));
            }
        }
        counted("instances", rows.len(), self.model.instances.len())
    }

    fn history(&mut self) -> Found {
        let rows = self.query(
            "SELECT h.tenant_id, h.instance_id, h.revision, h.step::text, h.from_state, h.to_state,
                    h.event, h.decision::text, h.round, h.material_version, h.definition_version,
                    h.task_id, h.actor, h.on_behalf_of, h.proof::text, h.comment, h.payload,
                    h.request_id, h.fence,
                    h.at >= lag(h.at, 1, h.at) OVER (PARTITION BY h.tenant_id, h.instance_id
                                                     ORDER BY h.revision) AS in_time
               FROM workflow.history h
              WHERE h.tenant_id = ANY ($1)
              ORDER BY h.instance_id, h.revision",
        )?;
        for row in &rows {
            let instance = self.instance(row, "instance_id")?;
            let revision: i64 = row.get("revision");
            let blame = |what: String| Violation::new(what).about(instance.id);
            let Some(known) = instance.rows.get(revision as usize - 1) else {
                return Err(blame(format!(
                    "history has a revision {revision} of nobody"
                )));
            };
            let (step, command) = (&known.step, self.round.command(known.made));
            let (comment, payload) = command.remarks();
            let decided = known.task.map(|(task, _)| instance.now().tasks[task].id);
            let task: Option<Uuid> = row.get("task_id");
            let same_task = match decided {
                None => task.is_none(),
                Some(id) => task.is_some() && (id.is_none() || id == task),
            };
            let behalf = known.task.and_then(|(_, behalf)| behalf);
            let same = row.get::<_, &str>("step") == step.kind
                && row.get::<_, Option<&str>>("from_state") == step.from
                && row.get::<_, &str>("to_state") == step.to
                && row.get::<_, Option<&str>>("event") == step.event
                && row.get::<_, Option<&str>>("decision") == step.decision
                && row.get::<_, i32>("round") == step.round
                && row.get::<_, i32>("material_version") == step.material
                && row.get::<_, i32>("definition_version") == instance.machine.version
                && same_task
                && row.get::<_, &str>("actor") == command.identity.actor
                && row.get::<_, Option<&str>>("on_behalf_of") == behalf
                && row.get::<_, &str>("proof") == "setting"
                && row.get::<_, Option<i64>>("fence").is_none();
            let said = !known.first
                || row.get::<_, Option<&str>>("comment") == comment
                    && row.get::<_, Option<Value>>("payload").as_ref() == payload
                    && row.get::<_, Option<&str>>("request_id") == command.request.as_deref();
            if !same || !said {
                let what = format!("history has {}; the model says {known:?}", show(row));
                return Err(blame(what).by(known.made));
            }
            if !row.get::<_, bool>("in_time") {
                return Err(blame(format!(
                    "revision {revision} is older than the one before"
                )));
            }
        }
        let expected = self.model.instances.values().map(|known| known.rows.len());
        counted("history", rows.len(), expected.sum())
    }

    fn outbox(&mut self) -> Found {
        let rows = self.query(
            "SELECT tenant_id, aggregateid::uuid AS instance_id, aggregatetype, type, payload,
                    revision
               FROM workflow.outbox
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let instance = self.instance(row, "instance_id")?;
            let revision: i64 = row.get("revision");
            let known = instance.rows.get(revision as usize - 1);
            let payload: Value = row.get("payload");
            let same = known.filter(|known| {
                let step = &known.step;
                step.publish
                    && row.get::<_, &str>("aggregatetype") == instance.machine.name
                    && step
                        .event
                        .is_none_or(|event| row.get::<_, &str>("type") == event)
                    && payload["to_state"] == step.to
                    && payload["revision"] == step.revision
                    && payload["material_version"] == step.material
            });
            if same.is_none() {
                let what = format!("the outbox has {payload}; the model says {known:?}");
                return Err(Violation::new(what).about(instance.id));
            }
        }
        let rows_of =
            |known: &Instance<'_>| known.rows.iter().filter(|row| row.step.publish).count();
        let expected = self.model.instances.values().map(rows_of).sum();
        counted("outbox", rows.len(), expected)
    }

    fn requests(&mut self) -> Found {
        let rows = self.query(
            "SELECT tenant_id, request_id, command FROM workflow.requests
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let key: String = row.get("request_id");
            let owner = self.model.requests.get(&(self.tenant(row), key.clone()));
            let same = owner.is_some_and(|at| {
                row.get::<_, &str>("command") == self.round.command(*at).stored_name()
            });
            if !same {
                let what = format!("request key {key} is kept; the model says {owner:?}");
                return Err(Violation::new(what));
            }
        }
        counted("requests", rows.len(), self.model.requests.len())
    }

    /// Exactly the refusals that were returned in transactions that were committed.
    fn refusals(&mut self) -> Found {
        let mut expected: BTreeMap<String, i64> = BTreeMap::new();
        let mut count = 0;
        for (at, record) in self.round.records() {
            let Answer::Outcome(outcome) = &record.answer else {
                continue;
            };
            // What a refused one of an atomic call withheld has no code.
            let stored = outcome.code.is_some()
                && !record.command.is_reader()
                && self.round.transaction(at).keeps(record);
            if stored {
                let key = format!(
                    "{} {} {} {} {}",
                    record.command.identity.tenant,
                    record.command.stored_name(),
                    record.command.identity.actor,
                    outcome.code.as_deref().unwrap_or_default(),
                    outcome.detail.as_ref().unwrap_or(&Value::Null),
                );
                *expected.entry(key).or_default() += 1;
                count += 1;
            }
        }
        let rows = self.query(
            "SELECT tenant_id, command, actor, code, detail FROM workflow.refusals
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let key = format!(
                "{} {} {} {} {}",
                row.get::<_, &str>(0),
                row.get::<_, &str>(1),
                row.get::<_, &str>(2),
                row.get::<_, &str>(3),
                row.get::<_, Value>(4),
            );
            *expected.entry(key).or_default() -= 1;
        }
        match expected.iter().find(|(_, balance)| **balance != 0) {
            None => counted("refusals", rows.len(), count),
            Some((key, 1..)) => Err(Violation::new(format!("a refusal is not stored: {key}"))),
            Some((key, _)) => Err(Violation::new(format!(
                "a refusal of nobody is stored: {key}"
            ))),
        }
    }
}

pub fn counted(table: &str, found: usize, expected: usize) -> Found {
    if found == expected {
        Ok(())
    } else {
        let what = format!("{table} has {found} rows, the model {expected}");
        Err(Violation::new(what))
    }
}

/// A row as text, for the trace.
pub fn show(row: &Row) -> String {
    let cell = |index: usize| {
        row.try_get::<_, Option<String>>(index)
            .map(|text| text.unwrap_or_else(|| "NULL".to_owned()))
            .or_else(|_| row.try_get::<_, i64>(index).map(|n| n.to_string()))
            .or_else(|_| row.try_get::<_, i32>(index).map(|n| n.to_string()))
            .or_else(|_| row.try_get::<_, bool>(index).map(|b| b.to_string()))
            .or_else(|_| row.try_get::<_, Uuid>(index).map(|id| id.to_string()))
            .or_else(|_| row.try_get::<_, Value>(index).map(|json| json.to_string()))
            .unwrap_or_else(|_| "…".to_owned())
    };
    let cells = row.columns().iter().enumerate();
    let cells = cells.map(|(index, column)| format!("{} {}", column.name(), cell(index)));
    cells.collect::<Vec<_>>().join(", ")
}

/// `wf_verify()` of a tenant, or of all: no row when all is well.
pub fn verify(client: &mut Client, tenant: Option<&str>) -> Found {
    let rows = client
        .query(
            "SELECT invariant, name, tenant_id, instance_id, detail
               FROM wf_verify(tenant => $1)",
            &[&tenant],
        )
        .map_err(|error| Violation::new(format!("wf_verify: {}", explain(&error))))?;
    let Some(row) = rows.first() else {
        return Ok(());
    };
    let what = format!("wf_verify has {} rows, first: {}", rows.len(), show(row));
    let violation = Violation::new(what);
    Err(match row.get::<_, Option<Uuid>>("instance_id") {
        Some(instance) => violation.about(instance),
        None => violation,
    })
}
