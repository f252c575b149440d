//! `wf_work_*`: many workers, one queue.

use uuid::Uuid;
use workflow_core::decide::{self, Finish};
use workflow_core::outcome::Outcome;

use crate::api::answer;
use crate::api::lease::time_to_live;
use crate::api::transition::{check_version, finish as carry_out};
use crate::engine::command::{self, Command, Common, bounded, checked};
use crate::engine::failure::Failure;
use crate::engine::instance::{self, Approach, InProgress, Wanted as WantedStep};
use crate::engine::request::Fingerprint;
use crate::engine::work::settle;
use crate::engine::work::take::{self, Wanted, Work};
use crate::engine::write::Remarks;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::value::Jsonb;

/// Most items of one take.
const ITEMS: i32 = 1000;

/// `wf_work_take`
pub fn take(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_work_take");
    let definition = bounded("definition", call.text("definition")?.required()?)?;
    let state = bounded("from_state", call.text("from_state")?.required()?)?;
    let event = bounded("event", call.text("event")?.required()?)?;
    let worker = checked("worker", call.text("worker")?.required()?)?;
    let limit = call.int("limit_rows").required()?;
    if !(1..=ITEMS).contains(&limit) {
        return Err(Report::invalid(format!(
            "limit_rows must be between 1 and {ITEMS}"
        )));
    }
    let lease_ms = time_to_live("lease_ms", call.int("lease_ms").required()?)?;
    let common = Common::read("wf_work_take", call, Some(0), None)?;
    let wanted = Wanted {
        definition: &definition,
        state: &state,
        event: &event,
        worker: &worker,
        limit,
        lease_ms,
    };
    let mut work = Vec::new();
    command::run(common, Fingerprint::new("wf_work_take"), |command| {
        work = take::take(command, &wanted)?;
        Ok(Outcome::default())
    })?;
    Ok(Answer::Rows(work.into_iter().map(row).collect()))
}

fn row(work: Work) -> Vec<Cell> {
    vec![
        Cell::Uuid(work.instance),
        Cell::Text(work.business_key),
        Cell::Bigint(work.revision),
        Cell::Int(work.material_version),
        Cell::Jsonb(work.material),
        Cell::optional(work.context, Cell::Jsonb),
        Cell::Int(work.attempt),
        Cell::Text(work.lease_key),
        Cell::Bigint(work.fence),
        Cell::Time(work.expires_at),
    ]
}

/// `wf_work_finish`
pub fn finish(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_work_finish");
    let instance = call.uuid("instance").required()?;
    let fence = call.bigint("fence").required()?;
    let event = bounded("event", call.text("event")?.required()?)?;
    let payload = call.jsonb("payload").optional();
    let material_version = call
        .int("material_version")
        .optional()
        .map(|version| check_version("material_version", version))
        .transpose()?;
    settled("wf_work_finish", call, instance, |command| {
        finish_work(
            command,
            instance,
            fence,
            &event,
            payload.as_ref(),
            material_version,
        )
    })
}

fn finish_work(
    command: &Command<'_>,
    id: Uuid,
    fence: i64,
    event: &str,
    payload: Option<&Jsonb>,
    material_version: Option<i32>,
) -> Result<Outcome, Failure> {
    let presented = settle::presented(id, fence);
    // Existence first: nothing is locked for an id of another tenant.
    instance::read(command, id)?;
    let item = settle::lock(command, id, fence)?;
    let finish = Finish {
        event,
        material_version,
        taken: item.as_ref().map(|item| &item.taken),
    };
    let moved = instance::change_under(
        command,
        id,
        &Approach::default(),
        Some(&presented),
        payload,
        |definition, row, world| {
            Ok(decide::finish(
                &definition.machine,
                &row.instance,
                row.entered_revision,
                &finish,
                world,
            )?)
        },
    );
    let moved = match (moved, &item) {
        (Ok(moved), Some(_)) => moved,
        (Ok(_), None) => unreachable!("nothing is finished that was not taken"),
        (Err(Failure::Refused(refusal)), _) => {
            let failure = settle::tell_finished(command, id, fence, refusal)?;
            let wanted = WantedStep {
                mode: None,
                event: Some(event.to_owned()),
                to_state: None,
                material_version,
            };
            let explained = instance::explain(command.spi, &command.caller, failure, &wanted)?;
            return Err(explained);
        }
        (Err(error), _) => return Err(error),
    };
    let remarks = Remarks {
        payload,
        lease: Some(&presented),
        ..Remarks::default()
    };
    let outcome = carry_out(command, &moved, remarks)?;
    if let Some(item) = &item {
        settle::done(command, item)?;
    }
    Ok(outcome)
}

/// `wf_work_fail`
pub fn fail(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_work_fail");
    let instance = call.uuid("instance").required()?;
    let fence = call.bigint("fence").required()?;
    let error = call.text("error")?.required()?;
    settled("wf_work_fail", call, instance, |command| {
        settle::fail(command, instance, fence, &error)
    })
}

/// `wf_work_extend`
pub fn extend(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_work_extend");
    let instance = call.uuid("instance").required()?;
    let fence = call.bigint("fence").required()?;
    let lease_ms = time_to_live("lease_ms", call.int("lease_ms").required()?)?;
    settled("wf_work_extend", call, instance, |command| {
        settle::extend(command, instance, fence, lease_ms)
    })
}

/// `wf_work_give_back`
pub fn give_back(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_work_give_back");
    let instance = call.uuid("instance").required()?;
    let fence = call.bigint("fence").required()?;
    settled("wf_work_give_back", call, instance, |command| {
        settle::give_back(command, instance, fence)
    })
}

fn settled(
    name: &'static str,
    call: &Call,
    instance: Uuid,
    body: impl FnOnce(&Command<'_>) -> Result<Outcome, Failure>,
) -> Result<Answer, Report> {
    let common = Common::read(name, call, None, None)?;
    let outcome = command::run(common, Fingerprint::new(name), |command| {
        let _progress = InProgress::enter(instance)?;
        body(command)
    })?;
    Ok(answer::outcome(outcome))
}
