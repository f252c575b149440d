//! Reads the human work of a state: its seats, and what their votes amount to.

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

use super::duration;
use super::findings::{Finding, child, quote};
use super::keys::{self, Place};
use super::names::Kind;
use super::parse::Reader;
use super::{RejectRule, Rule, Seat, Task};

/// Most seats a task may have.
pub const MAX_SEATS: usize = 100;

/// Most decimals of a ratio; enough for any number of seats, and no product of it overflows.
const MAX_DECIMALS: i64 = 9;

const WHOLE: &str = "must be a whole number, at least 1";

/// Reads one seat as a definition has it, for a seat that is added to a running instance. Paths of
/// findings begin at the seat. What would only be warned about is accepted in silence.
pub fn parse_seat(value: &Value) -> Result<Seat, Vec<Finding>> {
    let mut reader = Reader::default();
    let seat = reader.seat(value, "");
    let sound = !reader.findings.has_errors();
    seat.filter(|_| sound)
        .ok_or_else(|| reader.findings.sorted())
}

impl<'s> Reader<'s> {
    pub(super) fn task(&mut self, value: &'s Value, path: &str) -> Option<Task> {
        let task = self.findings.object(value, path)?;
        keys::vet(Place::Task, task, path, &mut self.findings);
        let rule = self.rule(task, path);
        let reject = self.reject(task, path);
        let self_approval = self.findings.flag(task, "self_approval", path);
        let not_same_as = self.not_same_as(task, path);
        let one_vote_each = self.findings.flag(task, "one_vote_each", path);
        let due = self.due(task, path);
        let list = self.seat_list(task, path)?;
        if let (Some(rule), Some(reject)) = (rule, reject) {
            self.vet_limits(rule, reject, list.len(), path);
        }
        Some(Task {
            seats: self.seats(list, &child(path, "seats")),
            rule: rule.unwrap_or(Rule::All),
            reject: reject.unwrap_or(RejectRule::WhenHopeless),
            self_approval: self_approval.unwrap_or(true),
            not_same_as,
            one_vote_each: one_vote_each.unwrap_or(true),
            due,
        })
    }

    /// The states whose deciders may not decide here, each once.
    fn not_same_as(&mut self, task: &Map<String, Value>, path: &str) -> Vec<String> {
        let path = child(path, "not_same_as");
        let named: Vec<(&Value, String)> = match task.get("not_same_as") {
            None => return Vec::new(),
            Some(name @ Value::String(_)) => vec![(name, path)],
            Some(Value::Array(names)) => {
                let places = (0..).map(|i: usize| child(&path, &i.to_string()));
                names.iter().zip(places).collect()
            }
            Some(other) => {
                let wanted = "a state or an array of states";
                self.findings.wrong_type(&path, wanted, other);
                return Vec::new();
            }
        };
        let mut states = Vec::new();
        for (name, path) in named {
            if let Some(name) = self.findings.text(name, &path)
                && self.resolve(name, &path).is_some()
                && !states.iter().any(|state| state == name)
            {
                states.push(name.to_owned());
            }
        }
        states
    }

    /// What is enough for approval; `None` if it is not understood.
    fn rule(&mut self, task: &Map<String, Value>, path: &str) -> Option<Rule> {
        let path = child(path, "rule");
        match task.get("rule") {
            None => Some(Rule::All),
            Some(Value::String(rule)) => match rule.as_str() {
                "all" => Some(Rule::All),
                "any" => Some(Rule::Any),
                other => {
                    let message = format!("must be `all` or `any`, not {}", quote(other));
                    self.findings.error(path, message);
                    None
                }
            },
            Some(Value::Object(rule)) => self.rule_object(rule, &path),
            Some(other) => {
                self.findings
                    .wrong_type(&path, "a string or an object", other);
                None
            }
        }
    }

    fn rule_object(&mut self, rule: &Map<String, Value>, path: &str) -> Option<Rule> {
        for key in rule.keys() {
            if key != "approve" && key != "approve_ratio" {
                let message = format!("unknown key {}", quote(key));
                self.findings.error(child(path, key), message);
            }
        }
        match (rule.get("approve"), rule.get("approve_ratio")) {
            (Some(_), Some(_)) => {
                let message = "must have one key, `approve` or `approve_ratio`, not both";
                self.findings.error(path, message);
                None
            }
            (Some(count), None) => {
                let path = child(path, "approve");
                let Value::Number(count) = count else {
                    self.findings.wrong_type(&path, "a number", count);
                    return None;
                };
                self.number_of_seats(count, &path).map(Rule::Count)
            }
            (None, Some(share)) => {
                let path = child(path, "approve_ratio");
                let Value::Number(share) = share else {
                    self.findings.wrong_type(&path, "a number", share);
                    return None;
                };
                match ratio(share) {
                    Ok(rule) => Some(rule),
                    Err(message) => {
                        self.findings.error(path, message);
                        None
                    }
                }
            }
            (None, None) => {
                if rule.is_empty() {
                    self.findings.error(path, "must say what is enough");
                }
                None
            }
        }
    }

    /// What is enough for rejection; `None` if it is not understood.
    fn reject(&mut self, task: &Map<String, Value>, path: &str) -> Option<RejectRule> {
        let path = child(path, "reject");
        let limit = match task.get("reject") {
            None => return Some(RejectRule::WhenHopeless),
            Some(Value::String(word)) if word == "first" => Some(1),
            Some(Value::String(other)) => {
                let message = format!("must be `first` or a whole number, not {}", quote(other));
                self.findings.error(path, message);
                None
            }
            Some(Value::Number(limit)) => self.number_of_seats(limit, &path),
            Some(other) => {
                self.findings
                    .wrong_type(&path, "a string or a number", other);
                None
            }
        };
        limit.map(RejectRule::After)
    }

    fn number_of_seats(&mut self, number: &Number, path: &str) -> Option<usize> {
        let count = number.as_u64().filter(|count| *count > 0);
        if count.is_none() {
            self.findings.error(path, WHOLE);
        }
        count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Finds limits that no vote can reach.
    fn vet_limits(&mut self, rule: Rule, reject: RejectRule, seats: usize, path: &str) {
        let mut met = true;
        if let Rule::Count(count) = rule
            && count > seats
        {
            met = false;
            let message =
                format!("cannot be met: needs {count} in favour, and the seats are {seats}");
            let path = child(&child(path, "rule"), "approve");
            self.findings.error(path, message);
        }
        let RejectRule::After(limit) = reject else {
            return;
        };
        let path = child(path, "reject");
        if limit > seats {
            let message =
                format!("cannot be met: needs {limit} against, and the seats are {seats}");
            self.findings.error(path, message);
        } else if met {
            let hopeless = seats - rule.needed(seats) + 1;
            if limit > hopeless {
                let message = format!(
                    "has no effect: with {hopeless} against, approval is impossible already"
                );
                self.findings.warning(path, message);
            }
        }
    }

    fn due(&mut self, task: &Map<String, Value>, path: &str) -> Option<String> {
        let due = task.get("due")?;
        let path = child(path, "due");
        let text = self.findings.text(due, &path)?;
        if let Err(message) = duration::vet(text) {
            self.findings.error(path, message);
            return None;
        }
        Some(text.to_owned())
    }

    /// The seats as they are written, if they are a list of a sensible length.
    fn seat_list(&mut self, task: &'s Map<String, Value>, path: &str) -> Option<&'s [Value]> {
        let path = child(path, "seats");
        let Some(seats) = task.get("seats") else {
            self.findings.error(path, "missing `seats`");
            return None;
        };
        let Some(list) = seats.as_array() else {
            self.findings.wrong_type(&path, "an array", seats);
            return None;
        };
        match list.len() {
            0 => self.findings.error(&path, "a task needs a seat"),
            1..=MAX_SEATS => return Some(list),
            _ => {
                let message = format!("more than {MAX_SEATS} seats");
                self.findings.error(&path, message);
            }
        }
        None
    }

    fn seats(&mut self, list: &'s [Value], path: &str) -> Vec<Seat> {
        let mut taken = HashSet::new();
        let mut seats = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            let path = child(path, &i.to_string());
            let Some(seat) = self.seat(value, &path) else {
                continue;
            };
            if !taken.insert(seat.name.clone()) {
                let message = format!("there already is a seat {}", quote(&seat.name));
                self.findings.error(child(&path, "name"), message);
            }
            seats.push(seat);
        }
        seats
    }

    fn seat(&mut self, value: &'s Value, path: &str) -> Option<Seat> {
        let seat = self.findings.object(value, path)?;
        keys::vet(Place::Seat, seat, path, &mut self.findings);
        let roles = self.roles(seat, path);
        if seat.get("roles").is_some_and(|list| *list == json!([])) {
            let message = "no role is named, so everybody may take this seat";
            self.findings.warning(child(path, "roles"), message);
        }
        let veto = self.findings.flag(seat, "veto", path);
        let path = child(path, "name");
        let Some(name) = seat.get("name") else {
            self.findings.error(path, "missing `name`");
            return None;
        };
        let name = self.findings.text(name, &path)?;
        self.names.vet(Kind::Seat, name, &path, &mut self.findings);
        Some(Seat {
            name: name.to_owned(),
            roles,
            veto: veto.unwrap_or(false),
        })
    }
}

/// The share as the fraction that its digits spell, 0.6 as 6/10: binary arithmetic would make
/// three fifths of five seats a little more than three.
fn ratio(number: &Number) -> Result<Rule, &'static str> {
    const RANGE: &str = "must be more than 0 and at most 1";
    let text = number.to_string();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, decimals].concat();
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() || significant.starts_with('-') {
        return Err(RANGE);
    }
    // An exponent that fits nowhere would only come from a parser that keeps such numbers.
    let exponent: i64 = exponent.parse().map_err(|_| RANGE)?;
    let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let zeros = length(&digits) - length(significant);
    let scale = length(decimals)
        .saturating_sub(zeros)
        .saturating_sub(exponent);
    if scale > MAX_DECIMALS {
        return Err("must not have more than 9 decimals");
    }
    let power = u32::try_from(scale).map_err(|_| RANGE)?;
    let of = 10usize.pow(power);
    match significant.parse() {
        Ok(parts) if parts <= of => Ok(Rule::Ratio { parts, of }),
        _ => Err(RANGE),
    }
}
