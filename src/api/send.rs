//! `wf_send` and `wf_lock`: commands about an instance wherever it stands.

use workflow_core::decide::{self, Send};
use workflow_core::definition::LockMode;
use workflow_core::outcome::Outcome;
use workflow_core::refusal::Position;

use crate::api::answer;
use crate::api::transition::{check_revision, check_version, finish, read_lease, seal_lease};
use crate::engine::command::{self, Common, bounded};
use crate::engine::instance::{self, Approach, InProgress, Wanted};
use crate::engine::request::Fingerprint;
use crate::engine::write::Remarks;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;

/// `wf_send`
pub fn send(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_send");
    let instance = call.uuid("instance").required()?;
    let event = bounded("event", call.text("event")?.required()?)?;
    let payload = call.jsonb("payload").optional();
    let expected_revision = call
        .bigint("expected_revision")
        .optional()
        .map(check_revision)
        .transpose()?;
    let material_version = call
        .int("material_version")
        .optional()
        .map(|version| check_version("material_version", version))
        .transpose()?;
    let request_id = call.text("request_id")?.optional();
    let lock_mode = call.text("lock_mode")?.optional();
    let forced = lock_mode.as_deref().map(parse_lock_mode).transpose()?;
    let wait_ms = call.int("wait_ms").optional();
    let lease = read_lease(call)?;
    let common = Common::read("wf_send", call, wait_ms, request_id)?;

    let mut fingerprint = Fingerprint::new("wf_send");
    fingerprint.bytes(Some(instance.as_bytes()));
    fingerprint.text(Some(&event));
    fingerprint.json(payload.as_ref());
    fingerprint.number(expected_revision);
    fingerprint.number(material_version.map(i64::from));
    fingerprint.text(lock_mode.as_deref());
    seal_lease(&mut fingerprint, lease.as_ref());

    let outcome = command::run(common, fingerprint, |command| {
        let _progress = InProgress::enter(instance)?;
        let approach = Approach {
            mode: forced,
            expected: Position {
                state: None,
                revision: expected_revision,
                material_version,
            },
        };
        let sent = Send {
            event: &event,
            expected_revision,
            material_version,
        };
        let moved = instance::change_under(
            command,
            instance,
            &approach,
            lease.as_ref(),
            payload.as_ref(),
            |definition, row, world| {
                Ok(decide::send(
                    &definition.machine,
                    &row.instance,
                    &sent,
                    world,
                )?)
            },
        );
        let moved = match moved {
            Ok(moved) => moved,
            Err(failure) => {
                let wanted = Wanted {
                    mode: forced,
                    event: Some(event.clone()),
                    to_state: None,
                    material_version,
                };
                return Err(instance::explain(
                    command.spi,
                    &command.caller,
                    failure,
                    &wanted,
                )?);
            }
        };
        finish(
            command,
            &moved,
            Remarks {
                payload: payload.as_ref(),
                lease: lease.as_ref(),
                ..Remarks::default()
            },
        )
    })?;
    Ok(answer::outcome(outcome))
}

fn parse_lock_mode(word: &str) -> Result<LockMode, Report> {
    match word {
        "optimistic" => Ok(LockMode::Optimistic),
        "pessimistic" => Ok(LockMode::Pessimistic),
        "adaptive" => Ok(LockMode::Adaptive),
        _ => Err(Report::invalid(
            "lock_mode must be optimistic, pessimistic or adaptive",
        )),
    }
}

/// `wf_lock`
pub fn lock(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_lock");
    let id = call.uuid("instance").required()?;
    let wait_ms = call.int("wait_ms").optional();
    let common = Common::read("wf_lock", call, wait_ms, None)?;
    let outcome = command::run(common, Fingerprint::new("wf_lock"), |command| {
        // Existence first: nothing is locked for an id of another tenant.
        let known = instance::read(command, id)?;
        instance::enter_gates(command, std::slice::from_ref(&known))?;
        instance::lock_known(command, &known.0)?;
        let (row, _) = instance::read(command, id)?;
        Ok(Outcome {
            applied: true,
            instance_id: Some(id),
            application_id: Some(row.instance.application_id),
            state: Some(row.instance.state),
            revision: Some(row.instance.revision),
            material_version: Some(row.instance.material_version),
            attempts: 1,
            ..Outcome::default()
        })
    })?;
    Ok(answer::outcome(outcome))
}
