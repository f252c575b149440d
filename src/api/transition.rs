//! `wf_transition`, `wf_try_transition` and `wf_check`: take an edge of an instance that was seen.

use uuid::Uuid;
use workflow_core::decide::{self, Plan, Transition};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Position, Refusal};

use crate::api::answer;
use crate::engine::command::{self, Command, Common, OnRefusal, bounded, checked, read_claim};
use crate::engine::failure::Failure;
use crate::engine::identity::{Caller, Claim};
use crate::engine::instance::{self, Approach, InProgress, Moved, Wanted};
use crate::engine::lease::check::{self, Presented};
use crate::engine::request::{self, Fingerprint};
use crate::engine::resource;
use crate::engine::world::{Material, ServerWorld};
use crate::engine::write::{self, Ending, Remarks, Scene, Verdict};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::Jsonb;
use crate::store;
use crate::store::definitions;

/// What the functions of this file take before the trailing arguments.
struct Arguments {
    instance: Uuid,
    from_state: String,
    to_state: String,
    expected_revision: i64,
    material_version: i32,
    event: Option<String>,
    comment: Option<String>,
    payload: Option<Jsonb>,
    request_id: Option<String>,
    lease: Option<Presented>,
    wait_ms: Option<i32>,
}

impl Arguments {
    fn read(call: &Call) -> Result<Arguments, Report> {
        let instance = call.uuid("instance").required()?;
        let from_state = bounded("from_state", call.text("from_state")?.required()?)?;
        let to_state = bounded("to_state", call.text("to_state")?.required()?)?;
        let expected_revision = check_revision(call.bigint("expected_revision").required()?)?;
        let material_version =
            check_version("material_version", call.int("material_version").required()?)?;
        let event = call.text("event")?.optional();
        let event = event.map(|event| bounded("event", event)).transpose()?;
        let comment = call.text("comment")?.optional();
        let payload = call.jsonb("payload").optional();
        let request_id = call.text("request_id")?.optional();
        let lease = read_lease(call)?;
        let wait_ms = call.int("wait_ms").optional();
        Ok(Arguments {
            instance,
            from_state,
            to_state,
            expected_revision,
            material_version,
            event,
            comment,
            payload,
            request_id,
            lease,
            wait_ms,
        })
    }

    fn command(&self) -> Transition<'_> {
        Transition {
            from_state: &self.from_state,
            to_state: &self.to_state,
            expected_revision: self.expected_revision,
            material_version: self.material_version,
            event: self.event.as_deref(),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::new("wf_transition");
        fingerprint.bytes(Some(self.instance.as_bytes()));
        fingerprint.text(Some(&self.from_state));
        fingerprint.text(Some(&self.to_state));
        fingerprint.number(Some(self.expected_revision));
        fingerprint.number(Some(self.material_version.into()));
        fingerprint.text(self.event.as_deref());
        fingerprint.text(self.comment.as_deref());
        fingerprint.json(self.payload.as_ref());
        seal_lease(&mut fingerprint, self.lease.as_ref());
        fingerprint
    }
}

/// 22023 for a revision that no instance ever had.
pub fn check_revision(revision: i64) -> Result<i64, Report> {
    if revision < 1 {
        return Err(Report::invalid("expected_revision must be at least 1"));
    }
    Ok(revision)
}

/// 22023 for a version that no material ever had.
pub fn check_version(name: &str, version: i32) -> Result<i32, Report> {
    if version < 1 {
        return Err(Report::invalid(format!("{name} must be at least 1")));
    }
    Ok(version)
}

/// Reads `lease_key` and `fence`.
pub fn read_lease(call: &Call) -> Result<Option<Presented>, Report> {
    let lease_key = call.text("lease_key")?;
    let fence = call.bigint("fence");
    presented(lease_key.optional(), fence.optional())
}

/// The lease that `lease_key` and `fence` name, which go together.
pub fn presented(key: Option<String>, fence: Option<i64>) -> Result<Option<Presented>, Report> {
    match (key, fence) {
        (None, None) => Ok(None),
        (Some(key), Some(fence)) => Ok(Some(Presented {
            key: checked("lease_key", key)?,
            fence,
        })),
        (None, Some(_)) => Err(Report::null("lease_key")),
        (Some(_), None) => Err(Report::null("fence")),
    }
}

/// Adds the lease that a command presents to its fingerprint.
pub fn seal_lease(fingerprint: &mut Fingerprint, lease: Option<&Presented>) {
    check::seal(fingerprint, lease);
}

/// `wf_transition`
pub fn transition(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_transition");
    let mut arguments = Arguments::read(call)?;
    let request_id = arguments.request_id.take();
    let common = Common::read("wf_transition", call, arguments.wait_ms, request_id)?;
    run(common, &arguments)
}

/// `wf_try_transition`
pub fn try_transition(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_try_transition");
    let mut arguments = Arguments::read(call)?;
    let (wait_ms, request_id) = (arguments.wait_ms, arguments.request_id.take());
    let common = Common::with(
        "wf_transition",
        OnRefusal::Return,
        call,
        wait_ms,
        request_id,
    )?;
    run(common, &arguments)
}

fn run(common: Common, arguments: &Arguments) -> Result<Answer, Report> {
    let outcome = command::run(common, arguments.fingerprint(), |command| {
        let _progress = InProgress::enter(arguments.instance)?;
        let approach = Approach {
            mode: None,
            expected: Position {
                state: Some(arguments.from_state.clone()),
                revision: Some(arguments.expected_revision),
                material_version: Some(arguments.material_version),
            },
        };
        let payload = arguments.payload.as_ref();
        let mut event = None;
        let moved = instance::change_under(
            command,
            arguments.instance,
            &approach,
            arguments.lease.as_ref(),
            payload,
            |definition, row, world| {
                let transition = arguments.command();
                event = decide::event_of(&definition.machine, &transition);
                Ok(decide::transition(
                    &definition.machine,
                    &row.instance,
                    &transition,
                    world,
                )?)
            },
        );
        let moved = match moved {
            Ok(moved) => moved,
            Err(failure) => {
                let wanted = Wanted {
                    mode: None,
                    event,
                    to_state: Some(&arguments.to_state),
                    material_version: Some(arguments.material_version),
                };
                return Err(instance::explain(
                    command.spi,
                    &command.caller,
                    failure,
                    &wanted,
                )?);
            }
        };
        let comment = arguments.comment.as_deref();
        let remarks = Remarks {
            comment,
            payload,
            lease: arguments.lease.as_ref(),
            ..Remarks::default()
        };
        finish(command, &moved, remarks)
    })?;
    Ok(answer::outcome(outcome))
}

/// Everything that goes with a step along an edge, once the instance has moved.
pub fn finish(
    command: &Command<'_>,
    moved: &Moved<Plan>,
    remarks: Remarks<'_>,
) -> Result<Outcome, Failure> {
    let Moved {
        before,
        definition,
        decision: plan,
        attempts,
    } = moved;
    let scene = Scene::of(before, definition);
    let first = plan.first();
    let event = first.event.as_deref().unwrap_or_default();
    let mut remarks = remarks;
    // A verdict that names no task is that of the one seat there is.
    if let ([task], Some(_)) = (before.instance.tasks.as_slice(), first.decision) {
        let on_behalf_of = task.delegated_by.as_deref();
        let verdict = Verdict {
            task: task.id,
            event,
            in_favour: None,
            on_behalf_of,
        };
        write::complete_task(command, &verdict, scene.revision + 1, scene.at)?;
        remarks.task = Some(task.id);
        remarks.on_behalf_of = on_behalf_of;
    } else if !before.instance.tasks.is_empty() {
        let reason = format!("the state was left by {event}");
        let ending = Ending {
            status: "SUPERSEDED",
            reason: &reason,
            seat: None,
        };
        write::close_tasks(command, &scene, &ending, before.instance.open_tasks())?;
    }
    write::record(command, &scene, plan, remarks)?;
    let task_ids = write::open_tasks(command, &scene, plan)?;
    Ok(scene.outcome(plan, task_ids, *attempts))
}

/// `wf_check`
pub fn check(call: &Call) -> Result<Answer, Report> {
    let arguments = Arguments::read(call)?;
    if let Some(key) = &arguments.request_id {
        request::check_key(key)?;
    }
    let claim = read_claim(call)?;
    let outcome = command::read(&claim, |spi, caller| {
        match foresee(spi, caller, &arguments, &claim) {
            Err(Failure::Refused(refusal)) => Ok(Outcome::refused(&refusal)),
            other => other,
        }
    })?;
    Ok(answer::outcome(outcome))
}

fn foresee(
    spi: &Spi,
    caller: &Caller,
    arguments: &Arguments,
    claim: &Claim,
) -> Result<Outcome, Failure> {
    if let Some(key) = &arguments.request_id {
        // A dry run stands for the command in either form.
        let forms = [OnRefusal::Raise, OnRefusal::Return].map(|on_refusal| {
            let fingerprint = arguments.fingerprint();
            command::seal(fingerprint, claim, arguments.wait_ms, on_refusal)
        });
        if let Some(outcome) = request::peek(spi, caller, key, forms)? {
            return Ok(outcome);
        }
    }
    let row = store::read_instance(spi, &caller.tenant, arguments.instance)?
        .ok_or_else(|| Refusal::not_found("instance"))?;
    let definition = definitions::pinned(spi, &caller.tenant, row.definition_id)?;
    let scene = Scene::of(&row, &definition);
    let material = Material::Stored {
        application: scene.application,
        version: scene.material_version,
    };
    let mut world = ServerWorld::new(spi, caller, material, arguments.payload.as_ref())
        .about(arguments.instance)
        .under(arguments.lease.as_ref(), None);
    let transition = arguments.command();
    let decision = decide::transition(&definition.machine, &row.instance, &transition, &mut world);
    match world.finish(decision) {
        Ok(plan) => {
            let expected = Position {
                state: Some(arguments.from_state.clone()),
                revision: Some(arguments.expected_revision),
                material_version: Some(arguments.material_version),
            };
            resource::foresee(spi, &caller.tenant, &plan)
                .map_err(|failure| instance::placed(failure, &row, &expected, 1))?;
            Ok(scene.outcome(&plan, Vec::new(), 1))
        }
        Err(failure) => {
            let wanted = Wanted {
                mode: None,
                event: decide::event_of(&definition.machine, &transition),
                to_state: Some(&arguments.to_state),
                material_version: Some(arguments.material_version),
            };
            Err(instance::explain(spi, caller, failure, &wanted)?)
        }
    }
}
