//! `wf_decide`: the verdict or vote of one seat.

use serde_json::json;
use uuid::Uuid;
use workflow_core::decide::votes::Tally;
use workflow_core::decide::{self, Ended, Plan, Vote, VotePlan};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Position, Refusal};

use crate::api::answer;
use crate::api::transition::{check_revision, check_version};
use crate::engine::command::{self, Command, Common, bounded};
use crate::engine::failure::Failure;
use crate::engine::instance::{self, Approach, Effect, InProgress, Moved, Wanted};
use crate::engine::request::Fingerprint;
use crate::engine::write::{self, Ending, LogEntry, Remarks, Scene, Verdict};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::Time;
use crate::store::{self, InstanceRow};

impl Effect for VotePlan {
    fn plan(&self) -> Option<&Plan> {
        match self {
            VotePlan::Counted { .. } => None,
            VotePlan::Decides { plan, .. } => Some(plan),
        }
    }
}

/// Leaves out an end that came after the instance was read: then the two would not fit together.
pub fn known_end(ended: Option<Ended>, row: &InstanceRow) -> Option<Ended> {
    ended.filter(|ended| ended.revision.is_none_or(|by| by <= row.instance.revision))
}

/// The instance of a task and how the task ended, if it has. WF005 if there is none.
pub fn find_task(command: &Command<'_>, task: Uuid) -> Result<(Uuid, Option<Ended>), Failure> {
    let found = store::find_task(command.spi, &command.caller.tenant, task)?
        .ok_or_else(|| Refusal::not_found("task"))?;
    let ended = (found.status != "OPEN").then_some(Ended {
        status: found.status,
        revision: found.closed_revision,
        reason: found.reason,
    });
    Ok((found.instance, ended))
}

/// `wf_decide`
pub fn decide(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_decide");
    let task = call.uuid("task").required()?;
    let event = bounded("decision", call.text("decision")?.required()?)?;
    let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
    let material_version =
        check_version("material_version", call.int("material_version").required()?)?;
    let comment = call.text("comment")?.optional();
    let payload = call.jsonb("payload").optional();
    let request_id = call.text("request_id")?.optional();
    let common = Common::read("wf_decide", call, None, request_id)?;

    let mut fingerprint = Fingerprint::new("wf_decide");
    fingerprint.bytes(Some(task.as_bytes()));
    fingerprint.text(Some(&event));
    fingerprint.number(Some(expected_revision));
    fingerprint.number(Some(material_version.into()));
    fingerprint.text(comment.as_deref());
    fingerprint.json(payload.as_ref());

    let outcome = command::run(common, fingerprint, |command| {
        let (id, _) = find_task(command, task)?;
        let _progress = InProgress::enter(id)?;
        let approach = Approach {
            mode: None,
            expected: Position {
                state: None,
                revision: Some(expected_revision),
                material_version: Some(material_version),
            },
        };
        let moved = instance::change(
            command,
            id,
            &approach,
            payload.as_ref(),
            |definition, row, world| {
                let (_, ended) = find_task(command, task)?;
                let ended = known_end(ended, row);
                let vote = Vote {
                    task,
                    event: &event,
                    expected_revision,
                    material_version,
                    ended,
                };
                Ok(decide::vote(
                    &definition.machine,
                    &row.instance,
                    &vote,
                    world,
                )?)
            },
        );
        let moved = match moved {
            Ok(moved) => moved,
            Err(failure) => {
                let wanted = Wanted {
                    mode: None,
                    event: Some(event.clone()),
                    to_state: None,
                    material_version: Some(material_version),
                };
                return Err(instance::explain(
                    command.spi,
                    &command.caller,
                    failure,
                    &wanted,
                )?);
            }
        };
        let comment = comment.as_deref();
        let payload = payload.as_ref();
        finish(
            command,
            &moved,
            task,
            Remarks {
                comment,
                payload,
                ..Remarks::default()
            },
        )
    })?;
    Ok(answer::outcome(outcome))
}

fn finish(
    command: &Command<'_>,
    moved: &Moved<VotePlan>,
    task: Uuid,
    remarks: Remarks<'_>,
) -> Result<Outcome, Failure> {
    let Moved {
        before,
        definition,
        decision,
        attempts,
    } = moved;
    let instance = &before.instance;
    let several = instance.tasks.len() > 1;
    match decision {
        VotePlan::Counted { vote, tally } => {
            let at = Time::now();
            let on_behalf_of = vote.on_behalf_of.as_deref();
            let verdict = Verdict {
                task,
                event: &vote.event,
                in_favour: Some(vote.in_favour),
                on_behalf_of,
            };
            write::complete_task(command, &verdict, instance.revision, at)?;
            let seat = instance.tasks.iter().find(|own| own.id == task);
            let entry = LogEntry {
                step: "vote",
                task,
                seat: seat.map_or("", |own| own.seat.as_str()),
                event: Some(&vote.event),
                in_favour: Some(vote.in_favour),
                on_behalf_of,
                to_actor: None,
            };
            write::log_work(command, before, &entry, remarks, at)?;
            Ok(Outcome {
                applied: true,
                instance_id: Some(instance.id),
                application_id: Some(instance.application_id),
                state: Some(instance.state.clone()),
                revision: Some(instance.revision),
                material_version: Some(instance.material_version),
                event: Some(vote.event.clone()),
                attempts: *attempts,
                detail: Some(describe(tally)),
                ..Outcome::default()
            })
        }
        VotePlan::Decides { vote, tally, plan } => {
            let scene = Scene::of(before, definition);
            let on_behalf_of = vote.on_behalf_of.as_deref();
            let in_favour = tally.filter(|_| several).map(|_| vote.in_favour);
            let verdict = Verdict {
                task,
                event: &vote.event,
                in_favour,
                on_behalf_of,
            };
            write::complete_task(command, &verdict, scene.revision + 1, scene.at)?;
            if several {
                let reason = format!("the round was decided by {}", vote.event);
                let ending = Ending {
                    status: "SUPERSEDED",
                    reason: &reason,
                    seat: None,
                };
                write::close_tasks(command, &scene, &ending, instance.open_tasks() - 1)?;
            }
            let remarks = Remarks {
                task: Some(task),
                on_behalf_of,
                ..remarks
            };
            write::record(command, &scene, plan, remarks)?;
            let task_ids = write::open_tasks(command, &scene, plan)?;
            let mut outcome = scene.outcome(plan, task_ids, *attempts);
            outcome.detail = tally.as_ref().map(describe);
            Ok(outcome)
        }
    }
}

/// The count that a page can show.
fn describe(tally: &Tally) -> serde_json::Value {
    json!({
        "for": tally.votes_for,
        "against": tally.against,
        "open": tally.open,
        "needed": tally.needed,
    })
}
