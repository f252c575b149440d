//! `wf_adopt`: an instance over a business object that has come some way without the engine.

use uuid::Uuid;
use workflow_core::decide::{self, Instance, Plan};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Reason, Refusal};
use workflow_core::sqlstate::SqlState;

use crate::api::answer;
use crate::api::start::{self, refuse_other_material, refuse_second};
use crate::api::transition::check_version;
use crate::engine::command::{self, Command, Common, bounded, checked};
use crate::engine::failure::Failure;
use crate::engine::instance::InProgress;
use crate::engine::limits;
use crate::engine::request::Fingerprint;
use crate::engine::write::Remarks;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::{Jsonb, Value};
use crate::store::definitions::{self, Published};
use crate::store::statements;

struct Adoption {
    definition: String,
    business_key: String,
    state: String,
    material: Option<Jsonb>,
    material_version: i32,
    version: Option<i32>,
}

/// `wf_adopt`
pub fn adopt(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_adopt");
    let definition = checked("definition", call.text("definition")?.required()?)?;
    let business_key = checked("business_key", call.text("business_key")?.required()?)?;
    let state = bounded("state", call.text("state")?.required()?)?;
    let material = call.jsonb("material").optional();
    let material_version =
        check_version("material_version", call.int("material_version").required()?)?;
    let version = call.int("version").optional();
    let version = version
        .map(|version| check_version("version", version))
        .transpose()?;
    let dry_run = call.bool("dry_run").required()?;
    let common = Common::read("wf_adopt", call, None, None)?;
    let adoption = Adoption {
        definition,
        business_key,
        state,
        material,
        material_version,
        version,
    };
    let outcome = command::run(common, Fingerprint::new("wf_adopt"), |command| {
        if !dry_run {
            return adoption.carry_out(command);
        }
        match adoption.foresee(command) {
            // A dry run answers; nothing was refused.
            Err(Failure::Refused(refusal)) => Ok(Outcome::refused(&refusal)),
            other => other,
        }
    })?;
    Ok(answer::outcome(outcome))
}

impl Adoption {
    fn carry_out(&self, command: &Command<'_>) -> Result<Outcome, Failure> {
        let published = self.published(command)?;
        let material = self.material.as_ref();
        limits::check_document(command, material)?;
        limits::reserve_instance(command)?;
        let application =
            start::find(command, &self.business_key, material, self.material_version)?;
        let version = application.material_version;
        let (instance, plan) = self.decide(command, &published, application.id, version)?;
        let _instance = InProgress::enter(instance.id)?;
        application.write(command, &self.business_key)?;
        let remarks = Remarks {
            comment: Some("adopted"),
            ..Remarks::default()
        };
        start::carry_out(command, &published, &instance, &plan, remarks)
    }

    /// The outcome it would have; locks and writes nothing.
    fn foresee(&self, command: &Command<'_>) -> Result<Outcome, Failure> {
        let published = self.published(command)?;
        let key = [command.tenant(), Value::Text(&self.business_key)];
        let known = command.spi.one(&statements::FIND_APPLICATION, &key);
        let application = known.as_ref().map(|row| row.uuid(0)).transpose()?;
        let version = match &known {
            Some(row) => row.int(1)?,
            None => self.material_version,
        };
        let id = match application {
            Some(id) => {
                refuse_other_material(command, id, version, self.material.as_ref())?;
                id
            }
            None if self.material.is_none() => {
                let message = "material must not be null: the application is new";
                return Err(Report::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
            }
            None => Uuid::nil(),
        };
        let (instance, plan) = self.decide(command, &published, id, version)?;
        Ok(Outcome {
            applied: true,
            application_id: application,
            state: Some(instance.state),
            revision: Some(plan.revision),
            material_version: Some(version),
            attempts: 1,
            ..Outcome::default()
        })
    }

    fn published(&self, command: &Command<'_>) -> Result<std::rc::Rc<Published>, Failure> {
        let tenant = &command.caller.tenant;
        let found = definitions::find(command.spi, tenant, &self.definition, self.version)?;
        Ok(found.ok_or_else(|| Refusal::not_found("definition"))?)
    }

    /// `version` is that of the material in force.
    fn decide(
        &self,
        command: &Command<'_>,
        published: &Published,
        application: Uuid,
        version: i32,
    ) -> Result<(Instance, Plan), Failure> {
        if version != self.material_version {
            let message = format!(
                "expected material {}, actual {version}",
                self.material_version
            );
            let mut refusal = Refusal::new(Reason::StaleMaterial, message);
            refusal.application_id = Some(application);
            refusal.expected.material_version = Some(self.material_version);
            refusal.actual.material_version = Some(version);
            return Err(refusal.into());
        }
        if !published.machine.concurrent {
            refuse_second(command, published, application)?;
        }
        let instance = Instance {
            id: Uuid::now_v7(),
            application_id: application,
            state: self.state.clone(),
            revision: 0,
            round: 0,
            material_version: version,
            closed: false,
            started_by: command.caller.actor.clone(),
            tasks: Vec::new(),
        };
        let plan = decide::adopt(&published.machine, &instance)?;
        Ok((instance, plan))
    }
}
