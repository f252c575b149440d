//! Errors that are PostgreSQL's own, and `busy`: each has circumstances in which it is right.

use serde_json::Value;
use uuid::Uuid;

use crate::check::{Checker, Wrong};
use crate::command::{Action, Command};
use crate::oracle::Verdict;
use crate::record::{Fault, Record, Span};

pub fn check(checker: &Checker<'_, '_>, fault: &Fault) -> Result<(), Wrong> {
    let transaction = checker.view.round.transaction(checker.at);
    match fault.code.as_str() {
        "40001" if transaction.isolation.keeps_snapshot() => Ok(()),
        "40001" => Err("40001 in READ COMMITTED".to_owned()),
        "40P01" => deadlock(checker),
        "22004" => missing(checker),
        "22023" => invalid(checker),
        _ => Err(format!(
            "an error that the contract does not know: {fault:?}"
        )),
    }
}

fn overlap(one: Span, other: Span) -> bool {
    one.from <= other.to && other.from <= one.to
}

/// Single calls never deadlock with each other, be it with many commands in each. With transactions of several they may, even those
/// that take one lock only: who waits for a row keeps its place in the row's queue, and that is a
/// lock too.
fn deadlock(checker: &Checker<'_, '_>) -> Result<(), Wrong> {
    let transactions = checker.view.round.transactions.iter();
    let mut long = transactions.filter(|other| other.is_long());
    if long.any(|other| overlap(other.life(), checker.record.span)) {
        Ok(())
    } else {
        Err("a deadlock among single calls".to_owned())
    }
}

fn missing(checker: &Checker<'_, '_>) -> Result<(), Wrong> {
    match &checker.command().action {
        Action::Start(start) if start.material.is_none() => {
            let (view, record, tenant) = (&*checker.view, checker.record, checker.tenant());
            let known = view.application(record, tenant, &start.business_key);
            let must_be_there = known.is_some_and(|id| {
                let (versions, maybe_absent) = view.materials(record, tenant, id);
                !versions.is_empty() && !maybe_absent
            });
            if must_be_there {
                Err("22004 for the material of an application that is there".to_owned())
            } else {
                Ok(())
            }
        }
        _ => said(checker, Verdict::Missing),
    }
}

fn invalid(checker: &Checker<'_, '_>) -> Result<(), Wrong> {
    let out_of_range = match &checker.command().action {
        Action::Transition(command) | Action::Check(command) => {
            command.revision < 1 || command.material < 1
        }
        Action::Send(command) => {
            command.revision.is_some_and(|revision| revision < 1)
                || command.material.is_some_and(|material| material < 1)
        }
        Action::Decide(command) => command.revision < 1 || command.material < 1,
        Action::Reseat(command) => command.revision < 1,
        _ => false,
    };
    if out_of_range {
        Ok(())
    } else {
        said(checker, Verdict::Invalid)
    }
}

fn said(checker: &Checker<'_, '_>, expected: Verdict) -> Result<(), Wrong> {
    let id = checker.view.round.instance(checker.command());
    let sight = id.and_then(|id| checker.sight(id));
    let sight = sight.ok_or("an argument is blamed, for an instance that cannot be there")?;
    let mut nodes = sight.nodes.iter();
    if nodes.any(|node| checker.verdicts(&sight, node).contains(&expected)) {
        Ok(())
    } else {
        Err("an argument is blamed, where the model sees nothing wrong with it".to_owned())
    }
}

/// `busy` needs somebody to be busy, and the whole of the time that was granted.
pub fn busy(checker: &Checker<'_, '_>, detail: &Value) -> Result<(), Wrong> {
    if !detail["attempts"].is_i64() || !detail["retry_after_ms"].is_i64() {
        return Err("busy does not say attempts and retry_after_ms".to_owned());
    }
    let (round, record) = (checker.view.round, checker.record);
    let wanted = touches(checker, record);
    let blocked = round.transactions.iter().enumerate().any(|(index, other)| {
        index != checker.at.transaction
            && overlap(other.life(), record.span)
            && other.records.iter().any(|touching| {
                touching.span.from <= record.span.to
                    && touches(checker, touching)
                        .iter()
                        .any(|touch| wanted.contains(touch))
            })
    });
    if !blocked {
        return Err("busy, and nobody was in the way".to_owned());
    }
    let granted = checker.command().wait_ms();
    let granted = granted
        .unwrap_or(round.transaction(checker.at).wait_ms)
        .max(0) as u64
        * 1000;
    let waited = record.span.to - record.span.from;
    // A send without a revision may also have lost its three races.
    let raced = matches!(&checker.command().action, Action::Send(send) if send.revision.is_none());
    if waited + 2_000 < granted && !raced {
        return Err(format!("busy after {waited} µs of {granted} µs"));
    }
    if waited > granted + 10_000_000 {
        return Err(format!("busy only after {waited} µs of {granted} µs"));
    }
    Ok(())
}

/// What a command may lock.
#[derive(PartialEq)]
enum Touch {
    Application(Uuid),
    BusinessKey(usize, String),
    Request(usize, String),
}

fn touches(checker: &Checker<'_, '_>, record: &Record) -> Vec<Touch> {
    let Command {
        action,
        identity,
        request,
        ..
    } = &record.command;
    let tenant = checker.view.round.library.tenant(&identity.tenant);
    let mut touches = Vec::new();
    if let Some(key) = request {
        touches.push(Touch::Request(tenant, key.clone()));
    }
    match action {
        Action::Start(start) => {
            let key = (tenant, start.business_key.clone());
            if let Some(id) = checker.view.model.business_keys.get(&key) {
                touches.push(Touch::Application(*id));
            }
            touches.push(Touch::BusinessKey(tenant, key.1));
        }
        Action::Supersede { application, .. } => touches.push(Touch::Application(*application)),
        _ => {
            let instance = checker.view.round.instance(&record.command);
            let known = instance.and_then(|id| checker.view.applications.get(&id));
            touches.extend(known.map(|id| Touch::Application(*id)));
        }
    }
    touches
}
