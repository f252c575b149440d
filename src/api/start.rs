//! `wf_start`: a new instance over an application, which is found or made by its business key.

use uuid::Uuid;
use workflow_core::decide::{self, Instance, Plan};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Position, Reason, Refusal};
use workflow_core::sqlstate::SqlState;

use crate::api::answer;
use crate::engine::command::{self, Command, Common, checked};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::instance::InProgress;
use crate::engine::limits;
use crate::engine::request::Fingerprint;
use crate::engine::resource;
use crate::engine::world::{Material, ServerWorld};
use crate::engine::write::{self, Remarks, Scene};
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::{Jsonb, Time, Value};
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::definitions::{self, Published};
use crate::store::statements;

/// `wf_start`
pub fn start(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_start");
    let definition = checked("definition", call.text("definition")?.required()?)?;
    let business_key = checked("business_key", call.text("business_key")?.required()?)?;
    let material = call.jsonb("material").optional();
    let version = call.int("version").optional();
    if version.is_some_and(|version| version < 1) {
        return Err(Report::invalid("version must be at least 1"));
    }
    let request_id = call.text("request_id")?.optional();
    let common = Common::read("wf_start", call, None, request_id)?;

    let mut fingerprint = Fingerprint::new("wf_start");
    fingerprint.text(Some(&definition));
    fingerprint.text(Some(&business_key));
    fingerprint.json(material.as_ref());
    fingerprint.number(version.map(i64::from));

    let outcome = command::run(common, fingerprint, |command| {
        let published =
            definitions::find(command.spi, &command.caller.tenant, &definition, version)?
                .ok_or_else(|| Refusal::not_found("definition"))?;
        limits::check_document(command, material.as_ref())?;
        limits::reserve_instance(command)?;
        let application = find(command, &business_key, material.as_ref(), 1)?;
        let (instance, plan) = decide_start(command, &published, &application)?;
        let _instance = InProgress::enter(instance.id)?;
        application.write(command, &business_key)?;
        carry_out(command, &published, &instance, &plan, Remarks::default())
    })?;
    Ok(answer::outcome(outcome))
}

/// The application an instance starts over.
pub struct Application<'a> {
    /// Its id.
    pub id: Uuid,
    /// The material in force.
    pub material_version: i32,
    /// Content of the first material, if the application is new.
    pub new: Option<&'a Jsonb>,
    /// A trigger of the user's may see its rows before all of them are there.
    _progress: InProgress,
}

/// Finds the application and locks it, or the business key if there is none yet. Writes nothing.
pub fn find<'a>(
    command: &Command<'_>,
    business_key: &str,
    material: Option<&'a Jsonb>,
    first_version: i32,
) -> Result<Application<'a>, Failure> {
    let key = [command.tenant(), Value::Text(business_key)];
    let look = || command.spi.one(&statements::FIND_APPLICATION, &key);
    if let Some(row) = look()
        && let Some(application) = existing(command, row.uuid(0)?, material)?
    {
        return Ok(application);
    }
    // Nobody else may be making the same one: then it is there once the lock is had. One that was
    // there and is gone has been purged.
    KeyLock::new(LockKind::BusinessKey, &command.caller.tenant, business_key)
        .take(&command.budget)?;
    if let Some(row) = look() {
        let application = existing(command, row.uuid(0)?, material)?;
        return Ok(application.ok_or_else(|| Refusal::not_found("application"))?);
    }
    let Some(material) = material else {
        let message = "material must not be null: the application is new";
        return Err(Report::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
    };
    let id = Uuid::now_v7();
    let progress = InProgress::enter(id)?;
    Ok(Application {
        id,
        material_version: first_version,
        new: Some(material),
        _progress: progress,
    })
}

impl Application<'_> {
    /// Makes a new application, or counts one more start of an old one.
    pub fn write(&self, command: &Command<'_>, business_key: &str) -> Result<(), Failure> {
        let id = Value::Uuid(self.id);
        let written = match self.new {
            None => command
                .spi
                .run(&statements::COUNT_START, &[command.tenant(), id]),
            Some(_) => command.spi.run(
                &statements::INSERT_APPLICATION,
                &[
                    command.tenant(),
                    id,
                    Value::Text(business_key),
                    Value::Int(self.material_version),
                    Value::Time(Time::now()),
                    Value::Text(&command.caller.actor),
                ],
            ),
        };
        if written.count() != 1 {
            return Err(trigger_interfered(
                "a trigger kept an application from being written",
            ));
        }
        match self.new {
            Some(material) => insert_material(
                command,
                self.id,
                self.material_version,
                material,
                Time::now(),
            ),
            None => Ok(()),
        }
    }
}

/// Adds a version of a material.
pub fn insert_material(
    command: &Command<'_>,
    application: Uuid,
    version: i32,
    material: &Jsonb,
    at: Time,
) -> Result<(), Failure> {
    let written = command.spi.insert(
        &statements::INSERT_MATERIAL,
        &[
            command.tenant(),
            Value::Uuid(application),
            Value::Int(version),
            Value::Jsonb(material),
            Value::Text(&command.caller.actor),
            Value::Time(at),
        ],
    );
    if !written {
        return Err(trigger_interfered("a trigger kept a material out"));
    }
    Ok(())
}

/// Locks an application's row to the end of the transaction, within the budget.
pub fn lock_application(command: &Command<'_>, id: Uuid) -> Result<(), Failure> {
    let key = [command.tenant(), Value::Uuid(id)];
    if command
        .spi
        .run(&statements::TRY_LOCK_APPLICATION, &key)
        .count()
        > 0
    {
        return Ok(());
    }
    command
        .budget
        .wait(|| command.spi.run(&statements::LOCK_APPLICATION, &key).count())?;
    Ok(())
}

/// `None` if it was purged in the meantime.
fn existing<'a>(
    command: &Command<'_>,
    id: Uuid,
    material: Option<&'a Jsonb>,
) -> Result<Option<Application<'a>>, Failure> {
    let progress = InProgress::enter(id)?;
    lock_application(command, id)?;
    let key = [command.tenant(), Value::Uuid(id)];
    let Some(row) = command.spi.one(&statements::READ_APPLICATION, &key) else {
        return Ok(None);
    };
    let material_version = row.int(0)?;
    refuse_other_material(command, id, material_version, material)?;
    Ok(Some(Application {
        id,
        material_version,
        new: None,
        _progress: progress,
    }))
}

/// WF002 if the material that a caller brings is not the one in force.
pub fn refuse_other_material(
    command: &Command<'_>,
    id: Uuid,
    material_version: i32,
    material: Option<&Jsonb>,
) -> Result<(), Failure> {
    if let Some(material) = material {
        let same = command.spi.one(
            &statements::SAME_MATERIAL,
            &[
                command.tenant(),
                Value::Uuid(id),
                Value::Int(material_version),
                Value::Jsonb(material),
            ],
        );
        if !same.map(|row| row.bool(0)).transpose()?.unwrap_or(false) {
            let message = format!(
                "the material differs from version {material_version} in force: supersede it"
            );
            let mut refusal = Refusal::new(Reason::StaleMaterial, message);
            refusal.application_id = Some(id);
            refusal.actual.material_version = Some(material_version);
            return Err(refusal.into());
        }
    }
    Ok(())
}

/// Everything that can refuse a start is asked before the first write.
fn decide_start(
    command: &Command<'_>,
    published: &Published,
    application: &Application<'_>,
) -> Result<(Instance, Plan), Failure> {
    let machine = &published.machine;
    if !machine.concurrent {
        refuse_second(command, published, application.id)?;
    }
    let instance = Instance {
        id: Uuid::now_v7(),
        application_id: application.id,
        state: machine.states[machine.initial].name.clone(),
        revision: 0,
        round: 0,
        material_version: application.material_version,
        closed: false,
        started_by: command.caller.actor.clone(),
        tasks: Vec::new(),
    };
    let version = application.material_version;
    let material = match application.new {
        Some(content) => Material::New { content, version },
        None => Material::Stored {
            application: application.id,
            version,
        },
    };
    let mut world = ServerWorld::new(command.spi, &command.caller, material, None);
    let decision = decide::start(machine, &instance, &mut world);
    match world.finish(decision) {
        Ok(plan) => {
            resource::queue(command, plan.movements())?;
            resource::reserve(command, plan.movements())?;
            Ok((instance, plan))
        }
        Err(Failure::Refused(mut refusal)) => {
            // There is no such instance, and there may be no such application.
            refusal.instance_id = None;
            refusal.application_id = refusal.application_id.filter(|_| application.new.is_none());
            refusal.actual = Position::default();
            Err(Failure::Refused(refusal))
        }
        Err(error) => Err(error),
    }
}

/// Writes the rows of a new instance.
pub fn carry_out(
    command: &Command<'_>,
    published: &Published,
    instance: &Instance,
    plan: &Plan,
    remarks: Remarks<'_>,
) -> Result<Outcome, Failure> {
    let machine = &published.machine;
    let rest = &machine.states[plan.rest()];
    let written = command.spi.insert(
        &statements::INSERT_INSTANCE,
        &[
            command.tenant(),
            Value::Uuid(instance.id),
            Value::Uuid(instance.application_id),
            Value::Uuid(published.id),
            Value::Text(&published.name),
            Value::Text(&rest.name),
            Value::Bigint(plan.revision),
            Value::Bigint(0),
            Value::Int(plan.round),
            Value::Int(instance.material_version),
            Value::Bigint(plan.entered_revision.unwrap_or(1)),
            Value::Bool(machine.concurrent),
            Value::Bool(rest.is_final),
            Value::Text(&command.caller.actor),
        ],
    );
    if !written {
        return Err(trigger_interfered("a trigger kept an instance out"));
    }
    let scene = Scene {
        instance: instance.id,
        application: instance.application_id,
        definition: published,
        material_version: instance.material_version,
        revision: 0,
        at: Time::now(),
    };
    write::record(command, &scene, plan, remarks)?;
    let task_ids = write::open_tasks(command, &scene, plan)?;
    Ok(scene.outcome(plan, task_ids, 1))
}

/// WF018 if there is an open instance. The application's row is locked by every start, so nobody
/// else can be starting now.
pub fn refuse_second(
    command: &Command<'_>,
    published: &Published,
    application: Uuid,
) -> Result<(), Failure> {
    let key = [
        command.tenant(),
        Value::Uuid(application),
        Value::Text(&published.name),
    ];
    let Some(row) = command.spi.one(&statements::RUNNING_INSTANCE, &key) else {
        return Ok(());
    };
    let message = format!("the application has an open instance of {}", published.name);
    let mut refusal = Refusal::new(Reason::AlreadyRunning, message);
    refusal.application_id = Some(application);
    refusal.instance_id = Some(row.uuid(0)?);
    refusal.actual = Position {
        state: Some(row.text(1)?),
        revision: Some(row.bigint(2)?),
        material_version: Some(row.int(3)?),
    };
    Err(refusal.into())
}
