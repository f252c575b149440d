//! The tables of human work after a round, compared with the model.

use serde_json::Value;
use uuid::Uuid;

use crate::round::Violation;
use crate::tables::{Found, Tables, counted, show};

impl Tables<'_> {
    pub fn tasks(&mut self) -> Found {
        let rows = self.query(
            "SELECT tenant_id, id, instance_id, seat, status::text, state, round, material_version,
                    roles, veto, one_vote_each, opened_revision, closed_revision, reason, decision,
                    decided_by, holder, delegated_by, held_until IS NOT NULL AS leased, claimed, in_favour,
                    on_behalf_of, due_at IS NOT NULL AS has_due
               FROM workflow.tasks
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let instance = self.instance(row, "instance_id")?;
            let opened: i64 = row.get("opened_revision");
            let seat: &str = row.get("seat");
            let blame = |what: String| Violation::new(what).about(instance.id);
            let mut tasks = instance.now().tasks.iter();
            let known = tasks.find(|task| task.opened == opened && task.seat.name == seat);
            let Some(known) = known else {
                return Err(blame(format!("a task of nobody: {}", show(row))));
            };
            let status = known.ended.as_ref().map_or("OPEN", |ended| ended.status);
            let given = known.given();
            let panel = instance.machine.state(known.state);
            let panel = panel.and_then(|state| state.panel.as_ref());
            let text = |column: &str| row.get::<_, Option<&str>>(column);
            let same = known.id.is_none_or(|id| id == row.get::<_, Uuid>("id"))
                && row.get::<_, &str>("status") == status
                && row.get::<_, &str>("state") == known.state
                && row.get::<_, i32>("round") == known.round
                && row.get::<_, i32>("material_version") == known.material
                && row.get::<_, Vec<&str>>("roles") == known.seat.roles
                && row.get::<_, bool>("veto") == known.seat.veto
                && Some(row.get("one_vote_each")) == panel.map(|panel| panel.one_vote_each)
                && row.get::<_, Option<i64>>("closed_revision")
                    == known.ended.as_ref().map(|ended| ended.revision)
                && text("reason").is_some() == ["SUPERSEDED", "CANCELLED"].contains(&status)
                && text("decision") == given.map(|given| given.event.as_str())
                && text("decided_by") == given.map(|given| given.actor)
                && text("on_behalf_of") == given.and_then(|given| given.on_behalf_of)
                && row.get::<_, Option<bool>>("in_favour")
                    == given.and_then(|given| given.in_favour)
                && text("holder") == known.holder
                && text("delegated_by") == known.delegated_by
                && row.get::<_, bool>("leased") == known.leased
                && row.get::<_, bool>("claimed") == known.claimed
                && !row.get::<_, bool>("has_due");
            if !same {
                let what = format!("a task is {}; the model says {known:?}", show(row));
                return Err(blame(what));
            }
        }
        let instances = self.model.instances.values();
        let expected = instances.map(|known| known.now().tasks.len());
        counted("tasks", rows.len(), expected.sum())
    }

    pub fn task_log(&mut self) -> Found {
        let rows = self.query(
            "SELECT tenant_id, instance_id, work, step::text, task_id, seat, revision, round,
                    material_version, event, in_favour, actor, on_behalf_of, to_actor,
                    proof::text, comment, payload, request_id
               FROM workflow.task_log
              WHERE tenant_id = ANY ($1)",
        )?;
        for row in &rows {
            let instance = self.instance(row, "instance_id")?;
            let work: i64 = row.get("work");
            let known = instance.log.get(work as usize - 1);
            let blame = |what: String| Violation::new(what).about(instance.id);
            let Some((entry, made)) = known else {
                let what = format!("the task log has work of nobody: {}", show(row));
                return Err(blame(what));
            };
            let command = self.round.command(*made);
            let (comment, payload) = command.remarks();
            let task = &instance.now().tasks[entry.task];
            let text = |column: &str| row.get::<_, Option<&str>>(column);
            let same = row.get::<_, &str>("step") == entry.verb
                && task.id.is_none_or(|id| id == row.get::<_, Uuid>("task_id"))
                && row.get::<_, &str>("seat") == task.seat.name
                && row.get::<_, i64>("revision") == entry.revision
                && row.get::<_, i32>("round") == entry.round
                && row.get::<_, i32>("material_version") == entry.material
                && text("event") == entry.event.as_deref()
                && row.get::<_, Option<bool>>("in_favour") == entry.in_favour
                && row.get::<_, &str>("actor") == command.identity.actor
                && text("on_behalf_of") == entry.on_behalf_of
                && text("to_actor") == entry.to
                && row.get::<_, &str>("proof") == "setting"
                && text("comment") == comment
                && row.get::<_, Option<Value>>("payload").as_ref() == payload
                && text("request_id") == command.request.as_deref();
            if !same {
                let what = format!("the task log has {}; the model says {entry:?}", show(row));
                return Err(blame(what).by(*made));
            }
        }
        let expected = self.model.instances.values().map(|known| known.log.len());
        counted("task_log", rows.len(), expected.sum())
    }
}
