//! `wf_transition_many`: many edges of many instances in one call.

use serde_json::{Map, Value as Json, json};
use uuid::Uuid;
use workflow_core::refusal::{Reason, Refusal};

use crate::api::answer;
use crate::api::transition::{check_revision, check_version, presented};
use crate::engine::bulk::{self, Fate, Order};
use crate::engine::command::{self, Common, bounded};
use crate::engine::limits::{self, Limit};
use crate::engine::request;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::{Jsonb, Value};
use crate::store::statements;

/// The most commands that one call takes.
const MOST: usize = 100_000;

/// `wf_transition_many`
pub fn transition_many(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_transition_many");
    let commands = call.jsonb("commands").required()?;
    let atomic = call.bool("atomic").required()?;
    let common = Common::read("wf_transition_many", call, None, None)?;
    let orders = read(&commands)?;
    let outcomes = command::run_many(common, orders.len(), |command, common| {
        if orders.len() > MOST {
            let message = format!("{} commands, at most {MOST} in one call", orders.len());
            return Err(Refusal::new(Reason::LimitExceeded, message)
                .with("limit", MOST)
                .into());
        }
        let (spi, tenant) = (command.spi, &command.caller.tenant);
        limits::check(spi, tenant, Limit::Commands, orders.len())?;
        let fates = bulk::run(command, common, &orders, atomic)?;
        Ok(withhold(fates))
    })?;
    let rows = outcomes.into_iter().enumerate().map(|(at, outcome)| {
        let mut row = vec![Cell::Int(at as i32 + 1)];
        row.extend(answer::cells(outcome));
        row
    });
    Ok(Answer::Rows(rows.collect()))
}

/// Tells a command of an atomic call that was not refused itself because of which one nothing happened.
fn withhold(mut fates: Vec<Fate>) -> Vec<Fate> {
    let culprit = fates
        .iter()
        .position(|fate| matches!(fate, Fate::Refused(_)));
    for fate in &mut fates {
        if let Fate::Withheld(outcome) = fate {
            outcome.detail = Some(json!({ "withheld_by": culprit.map(|at| at + 1) }));
        }
    }
    fates
}

/// The commands of a call; an error names the one that it is about.
fn read(commands: &Jsonb) -> Result<Vec<Order>, Report> {
    let spi = Spi::connect(false);
    let kind = spi.one(&statements::IS_ARRAY, &[Value::Jsonb(commands)]);
    if !kind.map(|row| row.bool(0)).transpose()?.unwrap_or(false) {
        return Err(Report::invalid("commands must be a JSON array of objects"));
    }
    let rows = spi.run(&statements::READ_COMMANDS, &[Value::Jsonb(commands)]);
    let mut orders = Vec::with_capacity(rows.count() as usize);
    for (at, row) in rows.rows().enumerate() {
        let order = read_order(&row.text(0)?, row.opt_jsonb(1)?);
        orders.push(order.map_err(|report| bulk::about(report, at + 1))?);
    }
    Ok(orders)
}

const KEYS: &[&str] = &[
    "instance",
    "from_state",
    "to_state",
    "expected_revision",
    "material_version",
    "event",
    "comment",
    "payload",
    "request_id",
    "lease_key",
    "fence",
];

fn read_order(image: &str, payload: Option<Jsonb>) -> Result<Order, Report> {
    let fields: Json = serde_json::from_str(image)
        .map_err(|error| Report::invalid(format!("cannot be read: {error}")))?;
    let Json::Object(fields) = fields else {
        return Err(Report::invalid("must be an object"));
    };
    if let Some(key) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Report::invalid(format!("unknown key {key:?}")));
    }
    let instance = required("instance", text(&fields, "instance")?)?;
    let instance =
        Uuid::parse_str(&instance).map_err(|_| Report::invalid("instance must be a uuid"))?;
    let request_id = text(&fields, "request_id")?;
    if let Some(key) = &request_id {
        request::check_key(key)?;
    }
    let revision = required("expected_revision", number(&fields, "expected_revision")?)?;
    let version = required("material_version", number(&fields, "material_version")?)?;
    let version =
        i32::try_from(version).map_err(|_| Report::invalid("material_version is out of range"))?;
    let state = |name| bounded(name, required(name, text(&fields, name)?)?);
    let event = text(&fields, "event")?;
    Ok(Order {
        instance,
        from_state: state("from_state")?,
        to_state: state("to_state")?,
        expected_revision: check_revision(revision)?,
        material_version: check_version("material_version", version)?,
        event: event.map(|event| bounded("event", event)).transpose()?,
        comment: text(&fields, "comment")?,
        payload,
        request_id,
        lease: presented(text(&fields, "lease_key")?, number(&fields, "fence")?)?,
    })
}

fn required<T>(name: &str, value: Option<T>) -> Result<T, Report> {
    value.ok_or_else(|| Report::null(name))
}

fn text(fields: &Map<String, Json>, name: &str) -> Result<Option<String>, Report> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Report::invalid(format!("{name} must be a string"))),
    }
}

fn number(fields: &Map<String, Json>, name: &str) -> Result<Option<i64>, Report> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| Report::invalid(format!("{name} must be a whole number"))),
    }
}
