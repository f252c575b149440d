//! What a plan takes from resources and gives back to them, and whether there is enough.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Instance, Plan, Rejection, Standing, World};
use crate::definition::{Direction, Draw, Term, fault_of_resource};
use crate::refusal::{Reason, Refusal};

/// One change of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Key of the resource.
    pub resource: String,
    /// What is added to it: negative for what is taken, never 0.
    pub quantity: i64,
}

impl Plan {
    /// Whether any step moves a resource.
    pub fn moves_resources(&self) -> bool {
        self.movements().next().is_some()
    }

    /// Everything the plan moves, in the order of its steps.
    pub fn movements(&self) -> impl Iterator<Item = &Movement> + Clone {
        self.steps.iter().flat_map(|step| &step.movements)
    }
}

/// What an edge moves, its paths looked up for the instance as it stands.
pub(super) fn resolve(
    instance: &Instance,
    draws: &[Draw],
    at: &Standing<'_>,
    world: &mut impl World,
) -> Result<Vec<Movement>, Rejection> {
    let movements = draws.iter().map(|draw| {
        let resource = match &draw.resource {
            Term::Constant(key) => key.clone(),
            Term::Path(path) => {
                let place = Place::new(instance, draw, "resource", path);
                place.resource(world.value(path, at))?
            }
        };
        let quantity = match &draw.quantity {
            Term::Constant(quantity) => *quantity,
            Term::Path(path) => {
                let place = Place::new(instance, draw, "quantity", path);
                place.quantity(world.value(path, at))?
            }
        };
        let quantity = match draw.direction {
            Direction::Consume => -quantity,
            Direction::Restock => quantity,
        };
        Ok(Movement { resource, quantity })
    });
    movements.collect()
}

/// A path of a draw, for the refusal that points at it.
struct Place<'a> {
    instance: &'a Instance,
    draw: &'a Draw,
    key: &'static str,
    path: &'a str,
}

impl<'a> Place<'a> {
    fn new(instance: &'a Instance, draw: &'a Draw, key: &'static str, path: &'a str) -> Place<'a> {
        Place {
            instance,
            draw,
            key,
            path,
        }
    }

    fn resource(&self, json: Option<String>) -> Result<String, Rejection> {
        let value = self.known(json)?;
        let Value::String(key) = &value else {
            return Err(self.refuse("unknown", format!("{}, not a string", describe(&value))));
        };
        match fault_of_resource(key) {
            None => Ok(key.clone()),
            Some(fault) => Err(self.refuse("invalid", fault)),
        }
    }

    /// Numbers are read by their digits: a float would round what is too large to count with.
    fn quantity(&self, json: Option<String>) -> Result<i64, Rejection> {
        let is_number = |json: &String| json.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let Some(digits) = json.as_ref().filter(|json| is_number(json)) else {
            let value = self.known(json)?;
            return Err(self.refuse("unknown", format!("{}, not an integer", describe(&value))));
        };
        let fault = match integer(digits) {
            Ok(quantity) if quantity > 0 => return Ok(quantity),
            Ok(_) => "must be at least 1",
            Err(fault) => fault,
        };
        Err(self.refuse("invalid", format!("{}: {fault}", shorten(digits))))
    }

    fn known(&self, json: Option<String>) -> Result<Value, Rejection> {
        json.and_then(|json| serde_json::from_str(&json).ok())
            .ok_or_else(|| self.refuse("unknown", "it leads to no value, or to several".into()))
    }

    fn refuse(&self, verdict: &str, why: String) -> Rejection {
        let message = format!("the {} {} is {verdict}: {why}", self.key, self.path);
        self.instance
            .refuse(Reason::GuardRefused, message)
            .with("expression", self.path)
            .with("path", format!("{}/{}", self.draw.path, self.key))
            .with("verdict", verdict)
            .into()
    }
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "it leads to null",
        Value::Bool(_) => "it leads to a boolean",
        Value::Number(_) => "it leads to a number",
        Value::String(_) => "it leads to a string",
        Value::Array(_) => "it leads to an array",
        Value::Object(_) => "it leads to an object",
    }
}

fn shorten(digits: &str) -> String {
    const SHOWN: usize = 40;
    match digits.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &digits[..end]),
        None => digits.to_owned(),
    }
}

/// A JSON number that is a whole one: `2` and `2.0`, but not `2.5`.
fn integer(number: &str) -> Result<i64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    if unsigned.is_empty() || !plain(unsigned) || !plain(fraction) {
        return Err("must be written as an integer");
    }
    if fraction.bytes().any(|digit| digit != b'0') {
        return Err("must be an integer");
    }
    whole
        .parse()
        .map_err(|_| "must not be larger than 9223372036854775807")
}

/// Whether every movement can be made, one after the other, from the balances there are. A balance
/// never falls below zero on the way; what comes back in a later step cannot be taken before it.
pub fn settle<'m>(
    movements: impl IntoIterator<Item = &'m Movement>,
    mut balance: impl FnMut(&str) -> Option<i64>,
) -> Result<(), Box<Refusal>> {
    let mut running: BTreeMap<&str, i64> = BTreeMap::new();
    let mut stuck: BTreeMap<&str, Stuck> = BTreeMap::new();
    for movement in movements {
        let key = movement.resource.as_str();
        if stuck.contains_key(key) {
            continue;
        }
        let before = match running.get(key) {
            Some(before) => *before,
            None => match balance(key) {
                Some(before) => before,
                None => return Err(not_found(key).into()),
            },
        };
        match before.checked_add(movement.quantity) {
            Some(after) if after >= 0 => {
                running.insert(key, after);
            }
            _ => {
                let quantity = movement.quantity;
                stuck.insert(key, Stuck { before, quantity });
            }
        }
    }
    match stuck.first_key_value() {
        None => Ok(()),
        Some((key, first)) => Err(refuse(key, first, &stuck).into()),
    }
}

/// A movement that cannot be made, and the balance it met.
struct Stuck {
    before: i64,
    quantity: i64,
}

/// WF005 for a resource that is absent, or another tenant's.
pub fn not_found(key: &str) -> Refusal {
    Refusal::not_found("resource").with("resource", key)
}

fn refuse(key: &str, first: &Stuck, all: &BTreeMap<&str, Stuck>) -> Refusal {
    let Stuck { before, quantity } = first;
    let refusal = if *quantity < 0 {
        let message = format!(
            "{key} has {before}, and {} are asked for",
            quantity.unsigned_abs()
        );
        Refusal::new(Reason::Insufficient, message)
    } else {
        let message = format!("{key} has {before}, and cannot count {quantity} more");
        Refusal::new(Reason::LimitExceeded, message)
    };
    let mut refusal = refusal
        .with("resource", key)
        .with("remaining", *before)
        .with("requested", quantity.unsigned_abs());
    if all.len() > 1 {
        let list: Vec<Value> = all
            .iter()
            .map(|(key, stuck)| {
                json!({"resource": key, "remaining": stuck.before,
                       "requested": stuck.quantity.unsigned_abs()})
            })
            .collect();
        refusal = refusal.with("short", list);
    }
    refusal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(list: &[(&str, i64)]) -> Vec<Movement> {
        list.iter()
            .map(|(resource, quantity)| Movement {
                resource: (*resource).to_owned(),
                quantity: *quantity,
            })
            .collect()
    }

    fn balance(key: &str) -> Option<i64> {
        match key {
            "seats" => Some(3),
            "budget" => Some(0),
            "full" => Some(i64::MAX),
            _ => None,
        }
    }

    #[test]
    fn a_number_is_whole_or_refused() {
        assert_eq!(integer("7"), Ok(7));
        assert_eq!(integer("7.00"), Ok(7));
        assert_eq!(integer("-7"), Ok(-7));
        assert_eq!(integer("9223372036854775807"), Ok(i64::MAX));
        for bad in [
            "7.5",
            "9223372036854775808",
            "1e3",
            "",
            "-",
            "\"7\"",
            "null",
        ] {
            assert!(integer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_comes_back_first_may_be_taken() {
        assert!(settle(&moves(&[("budget", 2), ("budget", -2)]), balance).is_ok());
        let refusal = settle(&moves(&[("budget", -2), ("budget", 2)]), balance).unwrap_err();
        assert_eq!(refusal.reason, Reason::Insufficient);
    }

    #[test]
    fn one_key_is_summed() {
        assert!(settle(&moves(&[("seats", -1), ("seats", -2)]), balance).is_ok());
        let refusal = settle(&moves(&[("seats", -2), ("seats", -2)]), balance).unwrap_err();
        assert_eq!(refusal.extra["remaining"], 1);
    }

    #[test]
    fn all_that_are_short_are_named_in_order() {
        let refusal = settle(&moves(&[("seats", -4), ("budget", -1)]), balance).unwrap_err();
        assert_eq!(refusal.extra["resource"], "budget");
        assert_eq!(refusal.extra["short"][1]["resource"], "seats");
    }

    #[test]
    fn the_absent_and_the_full_have_their_own_reasons() {
        let reason = |list| settle(&moves(list), balance).unwrap_err().reason;
        assert_eq!(reason(&[("none", -1)]), Reason::NotFound);
        assert_eq!(reason(&[("full", 1)]), Reason::LimitExceeded);
    }
}
