//! `wf_worklist` and `wf_explain`: what there is to do, and why an instance stands where it stands.

use serde_json::{Value as Json, json};
use uuid::Uuid;
use workflow_core::decide;
use workflow_core::refusal::Refusal;

use crate::api::query::action;
use crate::engine::command::{self, checked, read_claim};
use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::engine::world::{Material, ServerWorld};
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::spi::{Row, Spi};
use crate::pg::value::Value;
use crate::store::{self, definitions, statements, worklist as pages};

/// `wf_worklist`
pub fn worklist(call: &Call) -> Result<Answer, Report> {
    let role = call
        .text("role")?
        .optional()
        .map(|role| checked("role", role))
        .transpose()?;
    let assignee = call.text("assignee")?.optional();
    let assignee = assignee.map(|name| checked("assignee", name)).transpose()?;
    let overdue_first = call.bool("overdue_first").required()?;
    let limit = call.int("limit_rows").required()?;
    if !(1..=1000).contains(&limit) {
        return Err(Report::invalid("limit_rows must be between 1 and 1000"));
    }
    let after = call.uuid("after").optional();
    let claim = read_claim(call)?;
    let rows = command::read(&claim, |spi, caller| {
        let mut page = vec![
            Value::Text(&caller.tenant),
            Value::optional(role.as_deref(), Value::Text),
            Value::optional(assignee.as_deref(), Value::Text),
            Value::optional(after, Value::Uuid),
            Value::Int(limit),
        ];
        let statement = match (overdue_first, &role) {
            (false, None) => &pages::BY_AGE,
            (false, Some(_)) => &pages::OF_ROLE_BY_AGE,
            (true, None) => &pages::BY_DUE,
            (true, Some(_)) => &pages::OF_ROLE_BY_DUE,
        };
        if overdue_first {
            page.push(due_of(spi, caller, after)?);
        }
        let found = spi.run(statement, &page);
        Ok(found
            .rows()
            .map(|row| item(&row))
            .collect::<Result<Vec<_>, Report>>()?)
    })?;
    Ok(Answer::Rows(rows))
}

/// Where a page by due date goes on.
fn due_of(spi: &Spi, caller: &Caller, after: Option<Uuid>) -> Result<Value<'static>, Failure> {
    let Some(after) = after else {
        return Ok(Value::Null);
    };
    let key = [Value::Text(&caller.tenant), Value::Uuid(after)];
    let row = spi
        .one(&statements::TASK_DUE, &key)
        .ok_or_else(|| Refusal::not_found("task"))?;
    Ok(Value::Time(row.time(0)?))
}

fn item(row: &Row) -> Result<Vec<Cell>, Report> {
    Ok(vec![
        Cell::Uuid(row.uuid(0)?),
        Cell::Text(row.text(1)?),
        Cell::Texts(row.texts(2)?),
        Cell::Bool(row.bool(3)?),
        Cell::optional(row.opt_text(4)?, Cell::Text),
        Cell::optional(row.opt_text(5)?, Cell::Text),
        Cell::Time(row.time(6)?),
        Cell::optional(row.opt_time(7)?, Cell::Time),
        Cell::Bool(row.bool(8)?),
        Cell::Uuid(row.uuid(9)?),
        Cell::Uuid(row.uuid(10)?),
        Cell::Text(row.text(11)?),
        Cell::Text(row.text(12)?),
        Cell::Text(row.text(13)?),
        Cell::Int(row.int(14)?),
        Cell::Bigint(row.bigint(15)?),
        Cell::Int(row.int(16)?),
    ])
}

/// `wf_explain`
pub fn explain(call: &Call) -> Result<Answer, Report> {
    let id = call.uuid("instance").required()?;
    let claim = read_claim(call)?;
    let explanation = command::read(&claim, |spi, caller| explanation(spi, caller, id))?;
    Ok(Answer::Scalar(Cell::Json(explanation.to_string())))
}

fn explanation(spi: &Spi, caller: &Caller, id: Uuid) -> Result<Json, Failure> {
    let row = store::read_instance(spi, &caller.tenant, id)?
        .ok_or_else(|| Refusal::not_found("instance"))?;
    let instance = &row.instance;
    let published = definitions::pinned(spi, &caller.tenant, row.definition_id)?;
    let at = Material::Stored {
        application: instance.application_id,
        version: instance.material_version,
    };
    let mut world = ServerWorld::new(spi, caller, at, None).about(row.instance.id);
    let actions = decide::actions(&published.machine, instance, &mut world);
    let actions: Vec<Json> = world
        .finish(actions)?
        .into_iter()
        .map(|offered| {
            let roles = published.machine.state(&instance.state).map(|state| {
                let edges = published.machine.states[state].branches(&offered.event);
                edges
                    .flat_map(|edge| edge.roles.clone())
                    .collect::<Vec<String>>()
            });
            let mut described = action(offered);
            described["roles"] = json!(roles.unwrap_or_default());
            described
        })
        .collect();
    let around = [
        Value::Text(&caller.tenant),
        Value::Uuid(id),
        Value::Text(&caller.actor),
        Value::Oid(caller.session_role),
    ];
    let around = spi
        .one(&statements::EXPLAIN, &around)
        .ok_or_else(|| Refusal::not_found("instance"))?
        .jsonb(0)?;
    let mut explanation = definitions::parse_json(&around)?;
    let known = [
        ("instance_id", json!(id.to_string())),
        ("definition", json!(published.name)),
        ("version", json!(published.version)),
        ("state", json!(instance.state)),
        ("revision", json!(instance.revision)),
        ("round", json!(instance.round)),
        ("material_version", json!(instance.material_version)),
        ("closed", json!(instance.closed)),
        ("actions", json!(actions)),
    ];
    for (key, value) in known {
        explanation[key] = value;
    }
    Ok(explanation)
}
