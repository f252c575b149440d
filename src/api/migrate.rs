//! `wf_migrate`: carries open instances over to another version of their definition.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value as Json, json};
use uuid::Uuid;
use workflow_core::decide::{self, Plan, Rejection};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Reason, Refusal};

use crate::api::answer;
use crate::api::purge::check_limit;
use crate::api::transition::check_version;
use crate::engine::command::{self, Command, Common, checked};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::instance::{self, InProgress};
use crate::engine::request::Fingerprint;
use crate::engine::timer;
use crate::engine::work::queue;
use crate::engine::world::{Material, ServerWorld};
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::Value;
use crate::pg::wait::{Budget, TimedOut};
use crate::settings;
use crate::store::definitions::{self, Published, parse_json};
use crate::store::{InstanceRow, statements};

/// Most instances that a refusal names.
const SHOWN: usize = 100;

/// `wf_migrate`
pub fn migrate(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_migrate");
    let definition = checked("definition", call.text("definition")?.required()?)?;
    let from = check_version("from_version", call.int("from_version").required()?)?;
    let to = check_version("to_version", call.int("to_version").required()?)?;
    let state_map = call.jsonb("state_map").required()?;
    let state_map = read_map(parse_json(&state_map)?)?;
    let dry_run = call.bool("dry_run").required()?;
    let limit = check_limit(call.int("limit_rows").required()?)?;
    if from == to {
        return Err(Report::invalid(
            "from_version and to_version must not be the same",
        ));
    }
    let common = Common::read("wf_migrate", call, None, None)?;
    let outcome = command::run(common, Fingerprint::new("wf_migrate"), |command| {
        let migration = Migration::find(command, &definition, from, to, state_map)?;
        if !dry_run {
            return migration.carry_out(command, limit.into());
        }
        match migration.foresee(command) {
            // A dry run answers; nothing was refused.
            Err(Failure::Refused(refusal)) => Ok(Outcome::refused(&refusal)),
            other => other,
        }
    })?;
    Ok(answer::outcome(outcome))
}

fn read_map(map: Json) -> Result<BTreeMap<String, String>, Report> {
    serde_json::from_value(map).map_err(|_| {
        Report::invalid("state_map must be an object: the new name of each state that has another")
    })
}

struct Migration {
    from: Rc<Published>,
    to: Rc<Published>,
    state_map: BTreeMap<String, String>,
    /// States of the old version for which the new one has none.
    homeless: Vec<String>,
}

/// One open instance, locked, with its first step in the new version.
struct Change {
    row: InstanceRow,
    plan: Plan,
    _progress: InProgress,
}

impl Migration {
    fn find(
        command: &Command<'_>,
        name: &str,
        from: i32,
        to: i32,
        state_map: BTreeMap<String, String>,
    ) -> Result<Migration, Failure> {
        let key = [
            command.tenant(),
            Value::Text(name),
            Value::Int(from),
            Value::Int(to),
        ];
        let row = command.spi.one(&statements::TWO_DEFINITIONS, &key);
        let row = row.ok_or_else(|| Refusal::not_found("definition"))?;
        let tenant = &command.caller.tenant;
        let from = definitions::pinned(command.spi, tenant, row.uuid(0)?)?;
        let to = definitions::pinned(command.spi, tenant, row.uuid(1)?)?;
        for (old, new) in &state_map {
            for (state, published) in [(old, &from), (new, &to)] {
                if published.machine.state(state).is_none() {
                    let message = format!(
                        "state_map: version {} has no state {state}",
                        published.version
                    );
                    return Err(Report::invalid(message).into());
                }
            }
        }
        let states = from.machine.states.iter().map(|state| &state.name);
        let homeless = states.filter(|state| {
            let name = state_map.get(*state).unwrap_or(state);
            to.machine.state(name).is_none()
        });
        let homeless = homeless.cloned().collect();
        Ok(Migration {
            from,
            to,
            state_map,
            homeless,
        })
    }

    /// How many instances would go where; locks and writes nothing.
    fn foresee(&self, command: &Command<'_>) -> Result<Outcome, Failure> {
        self.refuse_homeless(command)?;
        let key = [command.tenant(), Value::Uuid(self.from.id)];
        let rows = command.spi.run(&statements::STATES_OF_VERSION, &key);
        let mut total = 0;
        let mut states = Vec::new();
        for row in rows.rows() {
            let (state, count) = (row.text(0)?, row.bigint(1)?);
            let to_state = self.state_map.get(&state).unwrap_or(&state);
            total += count;
            states.push(json!({"from_state": state, "to_state": to_state, "instances": count}));
        }
        Ok(self.answer(json!({"dry_run": true, "instances": total, "states": states})))
    }

    /// WF017 while open instances stand in states that the new version does not have.
    fn refuse_homeless(&self, command: &Command<'_>) -> Result<(), Failure> {
        if self.homeless.is_empty() {
            return Ok(());
        }
        let rows = command.spi.run(
            &statements::INSTANCES_IN_STATES,
            &[
                command.tenant(),
                Value::Uuid(self.from.id),
                Value::Texts(&self.homeless),
                Value::Bigint(SHOWN as i64 + 1),
            ],
        );
        let mut in_the_way = Vec::new();
        for row in rows.rows() {
            let state = row.text(1)?;
            in_the_way.push(json!({
                "instance_id": row.uuid(0)?.to_string(),
                "state": state,
                "revision": row.bigint(2)?,
                "why": format!("the new version has no state {state}"),
            }));
        }
        self.refuse(in_the_way)
    }

    fn refuse(&self, mut in_the_way: Vec<Json>) -> Result<(), Failure> {
        if in_the_way.is_empty() {
            return Ok(());
        }
        let more = in_the_way.len() > SHOWN;
        in_the_way.truncate(SHOWN);
        let mut states: Vec<&str> = in_the_way
            .iter()
            .filter_map(|one| one["state"].as_str())
            .collect();
        states.sort_unstable();
        states.dedup();
        let message = format!(
            "open instances of version {} are in the way of version {}, in {}",
            self.from.version,
            self.to.version,
            states.join(", ")
        );
        let states: Vec<String> = states.into_iter().map(str::to_owned).collect();
        Err(Refusal::new(Reason::NotMigratable, message)
            .with("states", states)
            .with("instances", in_the_way)
            .with("more", more)
            .into())
    }

    fn carry_out(&self, command: &Command<'_>, limit: i64) -> Result<Outcome, Failure> {
        self.refuse_homeless(command)?;
        let found = command.spi.run(
            &statements::INSTANCES_OF_VERSION,
            &[
                command.tenant(),
                Value::Uuid(self.from.id),
                Value::Bigint(limit + 1),
            ],
        );
        let ids = found
            .rows()
            .map(|row| row.uuid(0))
            .collect::<Result<Vec<Uuid>, Report>>()?;
        let more = ids.len() as i64 > limit;
        let (changes, busy) = self.decide(command, &ids[..ids.len().min(limit as usize)])?;
        for change in &changes {
            self.write(command, change)?;
        }
        Ok(self.answer(json!({"migrated": changes.len(), "busy": busy, "more": more})))
    }

    /// Every refusal is known before the first write. Instances that are not to be had within the
    /// budget are left where they are, and counted.
    fn decide(&self, command: &Command<'_>, ids: &[Uuid]) -> Result<(Vec<Change>, usize), Failure> {
        // Running out of time is no failure here.
        let budget = Budget::new(settings::wait_ms(), true);
        let mut changes = Vec::new();
        let mut in_the_way = Vec::new();
        let mut busy = 0;
        for id in ids {
            let progress = InProgress::enter(*id)?;
            if lock(command, &budget, *id).is_err() {
                busy += 1;
                continue;
            }
            let (row, _) = instance::read(command, *id)?;
            if row.instance.closed || row.definition_id != self.from.id {
                continue;
            }
            match self.decide_one(command, &row) {
                Ok(plan) => changes.push(Change {
                    row,
                    plan,
                    _progress: progress,
                }),
                Err(Failure::Refused(refusal)) => in_the_way.push(json!({
                    "instance_id": id.to_string(),
                    "state": row.instance.state,
                    "revision": row.instance.revision,
                    "why": refusal.message,
                })),
                Err(error) => return Err(error),
            }
        }
        self.refuse(in_the_way)?;
        Ok((changes, busy))
    }

    fn decide_one(&self, command: &Command<'_>, row: &InstanceRow) -> Result<Plan, Failure> {
        let material = Material::Stored {
            application: row.instance.application_id,
            version: row.instance.material_version,
        };
        let world = ServerWorld::new(command.spi, &command.caller, material, None);
        let mut world = world.about(row.instance.id);
        let (from, to) = (&self.from.machine, &self.to.machine);
        let decision: Result<Plan, Rejection> =
            decide::migrate(from, to, &row.instance, &self.state_map, &mut world);
        world.finish(decision)
    }

    fn write(&self, command: &Command<'_>, change: &Change) -> Result<(), Failure> {
        let Change { row, plan, .. } = change;
        if !write::move_to_version(command, &self.to, row, plan) {
            return Err(trigger_interfered("a trigger kept an instance from moving"));
        }
        let scene = Scene::of(row, &self.to);
        let remarks = Remarks {
            left: Some(&row.instance.state),
            ..Remarks::default()
        };
        if plan.entered_revision.is_none() {
            let new = &self.to.machine.states[plan.rest()];
            let old = self.from.machine.state(&row.instance.state);
            if old.is_none_or(|old| self.from.machine.states[old].after != new.after) {
                timer::replace(command, &scene, new, row.entered_revision)?;
            }
            if new.is_machine_work()
                && old.is_none_or(|old| !self.from.machine.states[old].is_machine_work())
            {
                queue::join(command, &scene, &new.name);
            }
            return write::record(command, &scene, plan, remarks);
        }
        let reason = format!("carried over to version {}", self.to.version);
        let ending = Ending {
            status: "SUPERSEDED",
            reason: &reason,
            seat: None,
        };
        write::close_tasks(command, &scene, &ending, row.instance.open_tasks())?;
        queue::remove(command, &[row.instance.id]);
        write::record(command, &scene, plan, remarks)?;
        write::open_tasks(command, &scene, plan)?;
        Ok(())
    }

    fn answer(&self, mut detail: Json) -> Outcome {
        detail["from_version"] = self.from.version.into();
        detail["to_version"] = self.to.version.into();
        Outcome {
            applied: true,
            attempts: 1,
            detail: Some(detail),
            ..Outcome::default()
        }
    }
}

fn lock(command: &Command<'_>, budget: &Budget, id: Uuid) -> Result<(), TimedOut> {
    let key = [command.tenant(), Value::Uuid(id)];
    let free = command.spi.run(&statements::TRY_LOCK_INSTANCE, &key);
    if free.count() == 0 {
        budget.wait(|| command.spi.run(&statements::LOCK_INSTANCE, &key).count())?;
    }
    Ok(())
}
