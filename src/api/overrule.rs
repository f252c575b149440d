//! `wf_override`: an operator decides in the place of those who are asked.

use workflow_core::decide::{self, Override};
use workflow_core::refusal::Position;

use crate::api::answer;
use crate::api::transition::{check_revision, check_version};
use crate::engine::command::{self, Common, bounded};
use crate::engine::instance::{self, Approach, InProgress, Moved, Wanted};
use crate::engine::request::Fingerprint;
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;

/// `wf_override`
pub fn overrule(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_override");
    let instance = call.uuid("instance").required()?;
    let event = bounded("event", call.text("event")?.required()?)?;
    let reason = call.text("reason")?.required()?;
    let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
    let material_version =
        check_version("material_version", call.int("material_version").required()?)?;
    let payload = call.jsonb("payload").optional();
    let request_id = call.text("request_id")?.optional();
    if reason.trim().is_empty() {
        return Err(Report::invalid("reason must not be empty"));
    }
    let common = Common::read("wf_override", call, None, request_id)?;

    let mut fingerprint = Fingerprint::new("wf_override");
    fingerprint.bytes(Some(instance.as_bytes()));
    fingerprint.text(Some(&event));
    fingerprint.text(Some(&reason));
    fingerprint.number(Some(expected_revision));
    fingerprint.number(Some(material_version.into()));
    fingerprint.json(payload.as_ref());

    let outcome = command::run(common, fingerprint, |command| {
        let _progress = InProgress::enter(instance)?;
        let approach = Approach {
            mode: None,
            expected: Position {
                state: None,
                revision: Some(expected_revision),
                material_version: Some(material_version),
            },
        };
        let ordered = Override {
            event: &event,
            expected_revision,
            material_version,
        };
        let moved = instance::change(
            command,
            instance,
            &approach,
            payload.as_ref(),
            |definition, row, world| {
                let machine = &definition.machine;
                Ok(decide::overrule(machine, &row.instance, &ordered, world)?)
            },
        );
        let Moved {
            before,
            definition,
            decision: plan,
            attempts,
        } = match moved {
            Ok(moved) => moved,
            Err(failure) => {
                let wanted = Wanted {
                    event: Some(event.clone()),
                    to_state: None,
                    material_version: Some(material_version),
                    mode: None,
                };
                let (spi, caller) = (command.spi, &command.caller);
                return Err(instance::explain(spi, caller, failure, &wanted)?);
            }
        };
        let scene = Scene::of(&before, &definition);
        let ended = format!("an operator decided {event}");
        let ending = Ending {
            status: "SUPERSEDED",
            reason: &ended,
            seat: None,
        };
        write::close_tasks(command, &scene, &ending, before.instance.open_tasks())?;
        let remarks = Remarks {
            comment: Some(&reason),
            payload: payload.as_ref(),
            ..Remarks::default()
        };
        write::record(command, &scene, &plan, remarks)?;
        let task_ids = write::open_tasks(command, &scene, &plan)?;
        Ok(scene.outcome(&plan, task_ids, attempts))
    })?;
    Ok(answer::outcome(outcome))
}
