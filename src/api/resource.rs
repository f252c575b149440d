//! `wf_resource_*`: guarded quantities by themselves.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use workflow_core::decide::Movement;
use workflow_core::outcome::{Outcome, Remaining};

use crate::api::answer;
use crate::engine::command::{self, Command, Common, checked};
use crate::engine::failure::Failure;
use crate::engine::request::Fingerprint;
use crate::engine::resource;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::value::Jsonb;

/// Most items of one call.
const MAX_ITEMS: usize = 1000;

/// `wf_resource_set`
pub fn set(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_resource_set");
    let key = checked("key", call.text("key")?.required()?)?;
    let balance = check_balance("balance", call.bigint("balance").required()?)?;
    let expected = call.bigint("expected").optional();
    let expected = expected
        .map(|expected| check_balance("expected", expected))
        .transpose()?;
    let common = Common::read("wf_resource_set", call, None, None)?;
    run(common, Fingerprint::new("wf_resource_set"), |command| {
        resource::set(command, &key, balance, expected)?;
        Ok(vec![(key, balance)])
    })
}

/// `wf_resource_consume`
pub fn consume(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_resource_consume");
    let (key, quantity, request_id, fingerprint) = read("wf_resource_consume", call)?;
    let wait_ms = call.int("wait_ms").optional();
    let common = Common::read("wf_resource_consume", call, wait_ms, request_id)?;
    make(common, fingerprint, key, -quantity)
}

/// `wf_resource_restock`
pub fn restock(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_resource_restock");
    let (key, quantity, request_id, fingerprint) = read("wf_resource_restock", call)?;
    let common = Common::read("wf_resource_restock", call, None, request_id)?;
    make(common, fingerprint, key, quantity)
}

/// `wf_resource_consume_many`
pub fn consume_many(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_resource_consume_many");
    let items = call.jsonb("items").required()?;
    let movements = read_items(&items)?;
    let request_id = call.text("request_id")?.optional();
    let wait_ms = call.int("wait_ms").optional();
    let common = Common::read("wf_resource_consume_many", call, wait_ms, request_id)?;
    let mut fingerprint = Fingerprint::new("wf_resource_consume_many");
    fingerprint.json(Some(&items));
    run(common, fingerprint, |command| {
        let remaining = resource::make_all(command, &movements)?;
        let keys = movements.iter().map(|movement| movement.resource.clone());
        Ok(keys.zip(remaining).collect())
    })
}

type Head = (String, i64, Option<String>, Fingerprint);

/// The arguments that taking and giving share.
fn read(command: &str, call: &Call) -> Result<Head, Report> {
    let key = checked("key", call.text("key")?.required()?)?;
    let quantity = call.bigint("quantity").required()?;
    if quantity < 1 {
        return Err(Report::invalid("quantity must be at least 1"));
    }
    let request_id = call.text("request_id")?.optional();
    let mut fingerprint = Fingerprint::new(command);
    fingerprint.text(Some(&key));
    fingerprint.number(Some(quantity));
    Ok((key, quantity, request_id, fingerprint))
}

fn check_balance(name: &str, balance: i64) -> Result<i64, Report> {
    if balance < 0 {
        return Err(Report::invalid(format!("{name} must not be negative")));
    }
    Ok(balance)
}

fn make(
    common: Common,
    fingerprint: Fingerprint,
    key: String,
    quantity: i64,
) -> Result<Answer, Report> {
    let movement = Movement {
        resource: key,
        quantity,
    };
    run(common, fingerprint, |command| {
        let remaining = resource::make(command, &movement)?;
        Ok(vec![(movement.resource, remaining)])
    })
}

fn run(
    common: Common,
    fingerprint: Fingerprint,
    body: impl FnOnce(&Command<'_>) -> Result<Vec<(String, i64)>, Failure>,
) -> Result<Answer, Report> {
    let outcome = command::run(common, fingerprint, |command| {
        let remaining = body(command)?;
        let resources = remaining
            .into_iter()
            .map(|(key, remaining)| Remaining { key, remaining });
        Ok(Outcome {
            applied: true,
            resources: resources.collect(),
            attempts: 1,
            ..Outcome::default()
        })
    })?;
    Ok(answer::resources(outcome))
}

/// What is to be taken, one movement per key in the order of keys.
fn read_items(items: &Jsonb) -> Result<Vec<Movement>, Report> {
    let parsed: Json = serde_json::from_str(&items.to_json()?)
        .map_err(|error| Report::invalid(format!("items cannot be read: {error}")))?;
    let Some(list) = parsed.as_array() else {
        return Err(Report::invalid("items must be an array of objects"));
    };
    if list.is_empty() || list.len() > MAX_ITEMS {
        return Err(Report::invalid(format!(
            "items must hold 1 to {MAX_ITEMS} elements"
        )));
    }
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for (i, item) in list.iter().enumerate() {
        let invalid = |what: String| Report::invalid(format!("items[{i}]{what}"));
        let Some(object) = item.as_object() else {
            return Err(invalid(" must be an object".into()));
        };
        if let Some(other) = object
            .keys()
            .find(|key| !["resource", "quantity"].contains(&key.as_str()))
        {
            return Err(invalid(format!(" has the unknown key {other}")));
        }
        let Some(key) = object.get("resource").and_then(Json::as_str) else {
            return Err(invalid(".resource must be a string".into()));
        };
        let key = checked(&format!("items[{i}].resource"), key.to_owned())?;
        let quantity = match object.get("quantity") {
            Some(Json::Number(number)) => number.as_i64().filter(|quantity| *quantity > 0),
            _ => None,
        };
        let Some(quantity) = quantity else {
            let range = format!(".quantity must be an integer from 1 to {}", i64::MAX);
            return Err(invalid(range));
        };
        let sum = sums.entry(key).or_default();
        *sum = sum.checked_add(quantity).ok_or_else(|| {
            invalid(format!(
                ".quantity: the sum must not be larger than {}",
                i64::MAX
            ))
        })?;
    }
    Ok(sums
        .into_iter()
        .map(|(resource, sum)| Movement {
            resource,
            quantity: -sum,
        })
        .collect())
}
