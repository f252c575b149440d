//! `wf_supersede_material`: a new material, and what it does to every open instance.

use std::rc::Rc;

use uuid::Uuid;
use workflow_core::decide::{self, Plan};
use workflow_core::definition::Seat;
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Reason, Refusal};

use crate::api::answer;
use crate::api::start::{insert_material, lock_application};
use crate::api::transition::check_version;
use crate::engine::command::{self, Command, Common};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::instance::{self, InProgress};
use crate::engine::limits;
use crate::engine::request::Fingerprint;
use crate::engine::resource;
use crate::engine::timer;
use crate::engine::work::queue;
use crate::engine::world::{Material, ServerWorld};
use crate::engine::write::{self, Ending, Remarks, Scene};
use crate::pg::backend;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::{Jsonb, Time, Value};
use crate::store::definitions::Published;
use crate::store::{InstanceRow, statements};

/// `wf_supersede_material`
pub fn supersede_material(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_supersede_material");
    let application = call.uuid("application").required()?;
    let expected = call.int("expected_material_version").required()?;
    let expected = check_version("expected_material_version", expected)?;
    let material = call.jsonb("material").required()?;
    let request_id = call.text("request_id")?.optional();
    let common = Common::read("wf_supersede_material", call, None, request_id)?;

    let mut fingerprint = Fingerprint::new("wf_supersede_material");
    fingerprint.bytes(Some(application.as_bytes()));
    fingerprint.number(Some(expected.into()));
    fingerprint.json(Some(&material));

    let outcome = command::run(common, fingerprint, |command| {
        limits::check_document(command, Some(&material))?;
        let _progress = InProgress::enter(application)?;
        supersede(command, application, expected, &material)
    })?;
    Ok(answer::superseded(outcome))
}

fn supersede(
    command: &Command<'_>,
    application: Uuid,
    expected: i32,
    material: &Jsonb,
) -> Result<Outcome, Failure> {
    // A stale call is refused without a lock, unless the snapshot may be older than what the caller
    // has seen: then the lock raises 40001. The answer that counts is given under it.
    match check_material(command, application, expected) {
        Err(Failure::Refused(refusal))
            if backend::keeps_snapshot()
                && refusal
                    .actual
                    .material_version
                    .is_some_and(|actual| expected > actual) => {}
        checked => checked?,
    }
    enter_gates(command, application)?;
    lock_application(command, application)?;
    check_material(command, application, expected)?;
    let version = expected.checked_add(1).ok_or_else(|| {
        Report::invalid("the material has reached the highest version there can be")
    })?;

    let changes = decide_all(command, application, material, version)?;

    let raised = command.spi.run(
        &statements::RAISE_MATERIAL_VERSION,
        &[
            command.tenant(),
            Value::Uuid(application),
            Value::Int(expected),
            Value::Int(version),
        ],
    );
    if raised.count() != 1 {
        return Err(trigger_interfered(
            "a trigger kept an application from being written",
        ));
    }
    insert_material(command, application, version, material, Time::now())?;
    let mut tasks = 0;
    for change in &changes {
        tasks += carry_out(command, change, version)?;
    }
    Ok(Outcome {
        applied: true,
        application_id: Some(application),
        material_version: Some(version),
        instances: changes.len() as i32,
        tasks,
        attempts: 1,
        ..Outcome::default()
    })
}

fn check_material(command: &Command<'_>, application: Uuid, expected: i32) -> Result<(), Failure> {
    let key = [command.tenant(), Value::Uuid(application)];
    let row = command
        .spi
        .one(&statements::READ_APPLICATION, &key)
        .ok_or_else(|| Refusal::not_found("application"))?;
    let actual = row.int(0)?;
    if actual != expected {
        let message = format!("expected material {expected}, actual {actual}");
        let mut refusal = Refusal::new(Reason::StaleMaterial, message);
        refusal.application_id = Some(application);
        refusal.expected.material_version = Some(expected);
        refusal.actual.material_version = Some(actual);
        return Err(refusal.into());
    }
    Ok(())
}

/// Gates come before every row.
fn enter_gates(command: &Command<'_>, application: Uuid) -> Result<(), Failure> {
    let open = open_instances(command, application)?;
    let known = open.into_iter().map(|id| instance::read(command, id));
    instance::enter_gates(command, &known.collect::<Result<Vec<_>, _>>()?)
}

fn open_instances(command: &Command<'_>, application: Uuid) -> Result<Vec<Uuid>, Failure> {
    let key = [command.tenant(), Value::Uuid(application)];
    let open = command.spi.run(&statements::OPEN_INSTANCES, &key);
    let ids = open.rows().map(|row| row.uuid(0));
    Ok(ids.collect::<Result<Vec<Uuid>, Report>>()?)
}

/// One open instance, locked, with what the new material does to it.
struct Change {
    row: InstanceRow,
    definition: Rc<Published>,
    plan: Plan,
    _progress: InProgress,
}

/// Every refusal is known before the first write.
fn decide_all(
    command: &Command<'_>,
    application: Uuid,
    material: &Jsonb,
    version: i32,
) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    for id in open_instances(command, application)? {
        let progress = InProgress::enter(id)?;
        let (row, _) = instance::read(command, id)?;
        instance::lock_known(command, &row)?;
        let (row, definition) = instance::read(command, id)?;
        if row.instance.closed {
            continue;
        }
        let content = Material::New {
            content: material,
            version,
        };
        let mut world = ServerWorld::new(command.spi, &command.caller, content, None);
        let decision = decide::supersede(&definition.machine, &row.instance, &mut world);
        let plan = world.finish(decision)?;
        changes.push(Change {
            row,
            definition,
            plan,
            _progress: progress,
        });
    }
    let movements = changes.iter().flat_map(|change| change.plan.movements());
    resource::queue(command, movements.clone())?;
    resource::reserve(command, movements)?;
    Ok(changes)
}

/// Gives the number of tasks that were outdated.
fn carry_out(command: &Command<'_>, change: &Change, version: i32) -> Result<i32, Failure> {
    let Change {
        row,
        definition,
        plan,
        ..
    } = change;
    if !write::move_to_material(command, definition, row, plan, version) {
        return Err(trigger_interfered("a trigger kept an instance from moving"));
    }
    let scene = Scene {
        material_version: version,
        ..Scene::of(row, definition)
    };
    let reason = format!("material {version} came into force");
    let ending = Ending {
        status: "SUPERSEDED",
        reason: &reason,
        seat: None,
    };
    let outdated = row.instance.open_tasks();
    write::close_tasks(command, &scene, &ending, outdated)?;
    write::record(command, &scene, plan, Remarks::default())?;
    if plan.entered_revision.is_some() {
        write::open_tasks(command, &scene, plan)?;
    } else {
        reopen_seats(command, &scene, row, plan)?;
        let rest = &definition.machine.states[plan.rest()];
        timer::refresh(command, &scene, rest, row.entered_revision)?;
        if rest.is_machine_work() {
            queue::refresh(command, &scene, row.entered_revision);
        }
    }
    Ok(outdated as i32)
}

/// The state stays, and so do the seats of its round, those that were added or removed included.
fn reopen_seats(
    command: &Command<'_>,
    scene: &Scene<'_>,
    row: &InstanceRow,
    plan: &Plan,
) -> Result<(), Failure> {
    let Some(task) = &scene.definition.machine.states[plan.rest()].task else {
        return Ok(());
    };
    for open in &row.instance.tasks {
        let seat = Seat {
            name: open.seat.clone(),
            roles: open.roles.clone(),
            veto: open.veto,
        };
        write::open_task(command, scene, plan, task, &seat)?;
    }
    Ok(())
}
