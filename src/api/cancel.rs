//! `wf_cancel`: an operator ends an instance where it stands.

use workflow_core::decide;

use crate::api::seat::run;
use crate::api::transition::check_revision;
use crate::engine::command::Common;
use crate::engine::instance::Moved;
use crate::engine::work::queue;
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;

/// `wf_cancel`
pub fn cancel(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_cancel");
    let instance = call.uuid("instance").required()?;
    let reason = call.text("reason")?.required()?;
    let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
    if reason.is_empty() {
        return Err(Report::invalid("reason must not be empty"));
    }
    let common = Common::read("wf_cancel", call, None, None)?;
    run(
        common,
        instance,
        expected_revision,
        |definition, row, _| {
            let machine = &definition.machine;
            Ok(decide::cancel(machine, &row.instance, expected_revision)?)
        },
        |command, moved| {
            let Moved {
                before,
                definition,
                decision: plan,
                attempts,
            } = moved;
            let scene = Scene::of(before, definition);
            let ending = Ending {
                status: "CANCELLED",
                reason: &reason,
                seat: None,
            };
            write::close_tasks(command, &scene, &ending, before.instance.open_tasks())?;
            let remarks = Remarks {
                comment: Some(&reason),
                ..Remarks::default()
            };
            write::record(command, &scene, plan, remarks)?;
            queue::remove(command, &[scene.instance]);
            Ok(scene.outcome(plan, Vec::new(), *attempts))
        },
    )
}
