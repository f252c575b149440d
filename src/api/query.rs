//! `wf_get`: all a page needs.

use serde_json::{Value as Json, json};
use uuid::Uuid;
use workflow_core::decide::{self, Action};
use workflow_core::refusal::Refusal;

use crate::engine::command::{self, checked, read_claim};
use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::engine::world::{Material, ServerWorld};
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::Value;
use crate::store::{self, definitions, statements};

/// `wf_get`
pub fn get(call: &Call) -> Result<Answer, Report> {
    let instance = call.uuid("instance").optional();
    let definition = call.text("definition")?.optional();
    let business_key = call.text("business_key")?.optional();
    let claim = read_claim(call)?;
    let cells = match (instance, definition, business_key) {
        (Some(id), _, _) => command::read(&claim, |spi, caller| page(spi, caller, id))?,
        (None, Some(definition), Some(business_key)) => {
            let definition = checked("definition", definition)?;
            let business_key = checked("business_key", business_key)?;
            command::read(&claim, |spi, caller| {
                let key = [
                    Value::Text(&caller.tenant),
                    Value::Text(&business_key),
                    Value::Text(&definition),
                ];
                let row = spi
                    .one(&statements::FIND_INSTANCE, &key)
                    .ok_or_else(|| Refusal::not_found("instance"))?;
                page(spi, caller, row.uuid(0)?)
            })?
        }
        (None, None, _) => return Err(Report::null("instance (or definition and business_key)")),
        (None, Some(_), None) => return Err(Report::null("business_key")),
    };
    Ok(Answer::Row(cells))
}

fn page(spi: &Spi, caller: &Caller, id: Uuid) -> Result<Vec<Cell>, Failure> {
    let row = store::read_instance(spi, &caller.tenant, id)?
        .ok_or_else(|| Refusal::not_found("instance"))?;
    let instance = &row.instance;
    let published = definitions::pinned(spi, &caller.tenant, row.definition_id)?;
    let tenant = || Value::Text(&caller.tenant);

    let application = [tenant(), Value::Uuid(instance.application_id)];
    let business_key = spi
        .one(&statements::READ_APPLICATION, &application)
        .ok_or_else(|| Refusal::not_found("application"))?
        .text(1)?;
    let version = Value::Int(instance.material_version);
    let material = spi
        .one(
            &statements::READ_MATERIAL,
            &[tenant(), Value::Uuid(instance.application_id), version],
        )
        .map(|row| row.jsonb(0))
        .transpose()?;
    let tasks = spi
        .one(&statements::OPEN_TASKS, &[tenant(), Value::Uuid(id)])
        .map(|row| row.jsonb(0))
        .transpose()?;
    let timers = spi
        .one(&statements::PENDING_TIMERS, &[tenant(), Value::Uuid(id)])
        .map(|row| row.jsonb(0))
        .transpose()?;

    let at = Material::Stored {
        application: instance.application_id,
        version: instance.material_version,
    };
    let mut world = ServerWorld::new(spi, caller, at, None).about(row.instance.id);
    let actions = decide::actions(&published.machine, instance, &mut world);
    let actions: Vec<Json> = world.finish(actions)?.into_iter().map(action).collect();

    Ok(vec![
        Cell::Uuid(id),
        Cell::Uuid(instance.application_id),
        Cell::Text(business_key),
        Cell::Text(published.name.clone()),
        Cell::Int(published.version),
        Cell::Text(instance.state.clone()),
        Cell::Bigint(instance.revision),
        Cell::Int(instance.material_version),
        Cell::optional(material, Cell::Jsonb),
        Cell::Null,
        Cell::Null,
        Cell::optional(tasks, Cell::Jsonb),
        Cell::Json(Json::Array(actions).to_string()),
        Cell::optional(timers, Cell::Jsonb),
    ])
}

/// An action as pages read it.
pub fn action(action: Action) -> Json {
    json!({
        "event": action.event,
        "to_state": action.to_state,
        "allowed": action.blocker.is_none(),
        "blocker": action.blocker.map(|reason| reason.entry().slug),
    })
}
