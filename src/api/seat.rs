//! `wf_seat_add`, `wf_seat_remove`, `wf_withdraw`: who must speak, and whether the question stands.

use uuid::Uuid;
use workflow_core::decide::{self, Plan};
use workflow_core::definition;
use workflow_core::outcome::Outcome;
use workflow_core::refusal::Position;

use crate::api::answer;
use crate::api::transition::check_revision;
use crate::engine::command::{self, Command, Common, checked};
use crate::engine::failure::Failure;
use crate::engine::instance::{self, Approach, Effect, InProgress, Moved, Wanted};
use crate::engine::limits::Limit;
use crate::engine::request::Fingerprint;
use crate::engine::timer;
use crate::engine::world::ServerWorld;
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::store::InstanceRow;
use crate::store::definitions::{Published, parse_json};

/// `wf_seat_add`
pub fn add(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_seat_add");
    let instance = call.uuid("instance").required()?;
    let seat = call.jsonb("seat").required()?;
    let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
    let seat = definition::parse_seat(&parse_json(&seat)?).map_err(|findings| {
        let all: Vec<String> = findings
            .iter()
            .map(|f| format!("seat{}: {}", f.path, f.message))
            .collect();
        Report::invalid(all.join("; "))
    })?;
    let common = Common::read("wf_seat_add", call, None, None)?;
    run(
        common,
        instance,
        expected_revision,
        |definition, row, world| {
            let (machine, instance) = (&definition.machine, &row.instance);
            let plan = decide::add_seat(machine, instance, &seat, expected_revision)?;
            world.check_limit(Limit::Seats, instance.tasks.len() + 1)?;
            Ok(plan)
        },
        |command, moved| {
            let Moved {
                before,
                definition,
                decision: plan,
                attempts,
            } = moved;
            let scene = Scene::of(before, definition);
            let rest = &definition.machine.states[plan.rest()];
            let task = rest.task.as_ref().expect("decided on a state with seats");
            let id = write::open_task(command, &scene, plan, task, &seat)?;
            let remarks = Remarks {
                task: Some(id),
                ..Remarks::default()
            };
            write::record(command, &scene, plan, remarks)?;
            timer::refresh(command, &scene, rest, before.entered_revision)?;
            Ok(scene.outcome(plan, vec![id], *attempts))
        },
    )
}

/// The plan of a removal, and the task that goes with it.
struct Removal {
    task: Uuid,
    plan: Plan,
}

impl Effect for Removal {
    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }
}

/// `wf_seat_remove`
pub fn remove(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_seat_remove");
    let instance = call.uuid("instance").required()?;
    let seat = checked("seat", call.text("seat")?.required()?)?;
    let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
    let common = Common::read("wf_seat_remove", call, None, None)?;
    run(
        common,
        instance,
        expected_revision,
        |definition, row, world| {
            let machine = &definition.machine;
            let instance = &row.instance;
            let (task, plan) =
                decide::remove_seat(machine, instance, &seat, expected_revision, world)?;
            Ok(Removal {
                task: task.id,
                plan,
            })
        },
        |command, moved| {
            let Moved {
                before,
                definition,
                decision,
                attempts,
            } = moved;
            let Removal { task, plan } = decision;
            let scene = Scene::of(before, definition);
            let ending = Ending {
                status: "CANCELLED",
                reason: "the seat was removed",
                seat: Some(&seat),
            };
            write::close_tasks(command, &scene, &ending, 1)?;
            let mut task_ids = Vec::new();
            if plan.steps.len() > 1 {
                let reason = "the round was decided by the seats that remained";
                let ending = Ending {
                    status: "SUPERSEDED",
                    reason,
                    seat: None,
                };
                let decided = Scene {
                    revision: scene.revision + 1,
                    ..scene
                };
                write::close_tasks(command, &decided, &ending, before.instance.open_tasks() - 1)?;
                task_ids = write::open_tasks(command, &scene, plan)?;
            } else {
                let rest = &definition.machine.states[plan.rest()];
                timer::refresh(command, &scene, rest, before.entered_revision)?;
            }
            let remarks = Remarks {
                task: Some(*task),
                ..Remarks::default()
            };
            write::record(command, &scene, plan, remarks)?;
            Ok(scene.outcome(plan, task_ids, *attempts))
        },
    )
}

/// `wf_withdraw`
pub fn withdraw(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_withdraw");
    let instance = call.uuid("instance").required()?;
    let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
    let comment = call.text("comment")?.optional();
    let common = Common::read("wf_withdraw", call, None, None)?;
    run(
        common,
        instance,
        expected_revision,
        |definition, row, world| {
            Ok(decide::withdraw(
                &definition.machine,
                &row.instance,
                expected_revision,
                world,
            )?)
        },
        |command, moved| {
            let Moved {
                before,
                definition,
                decision: plan,
                attempts,
            } = moved;
            let scene = Scene::of(before, definition);
            let reason = "withdrawn by the submitter";
            let ending = Ending {
                status: "CANCELLED",
                reason,
                seat: None,
            };
            write::close_tasks(command, &scene, &ending, before.instance.open_tasks())?;
            let remarks = Remarks {
                comment: comment.as_deref(),
                ..Remarks::default()
            };
            write::record(command, &scene, plan, remarks)?;
            Ok(scene.outcome(plan, Vec::new(), *attempts))
        },
    )
}

/// Runs a command whose caller knows the revision and nothing else.
pub fn run<T: Effect>(
    common: Common,
    id: Uuid,
    expected_revision: i64,
    decide: impl FnMut(&Published, &InstanceRow, &mut ServerWorld<'_>) -> Result<T, Failure>,
    finish: impl FnOnce(&Command<'_>, &Moved<T>) -> Result<Outcome, Failure>,
) -> Result<Answer, Report> {
    let name = common.command;
    let outcome = command::run(common, Fingerprint::new(name), |command| {
        let _progress = InProgress::enter(id)?;
        let approach = Approach {
            mode: None,
            expected: Position {
                revision: Some(expected_revision),
                ..Position::default()
            },
        };
        match instance::change(command, id, &approach, None, decide) {
            Ok(moved) => finish(command, &moved),
            Err(failure) => {
                let wanted = Wanted {
                    mode: None,
                    event: None,
                    to_state: None,
                    material_version: None,
                };
                Err(instance::explain(
                    command.spi,
                    &command.caller,
                    failure,
                    &wanted,
                )?)
            }
        }
    })?;
    Ok(answer::outcome(outcome))
}
