//! `wf_outbox_*` and `wf_inbox_accept`: events leave, messages come in.

use uuid::Uuid;
use workflow_core::outcome::Outcome;

use crate::api::answer;
use crate::engine::command::{self, Command, Common, checked};
use crate::engine::delivery::claim::{self, Delivered};
use crate::engine::delivery::settle::{self, Fate};
use crate::engine::delivery::subscribe;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::request::Fingerprint;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::Report;
use crate::pg::value::{Time, Value};
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::statements;

/// Longest lease and longest delay: a day.
const DAY_MS: i32 = 24 * 60 * 60 * 1000;
/// Events of one claim.
const EVENTS: i32 = 10_000;

fn consumer(call: &Call) -> Result<String, Report> {
    checked("consumer", call.text("consumer")?.required()?)
}

fn within(name: &str, value: i32, from: i32, to: i32) -> Result<i32, Report> {
    if !(from..=to).contains(&value) {
        return Err(Report::invalid(format!(
            "{name} must be between {from} and {to}"
        )));
    }
    Ok(value)
}

fn run(
    name: &'static str,
    call: &Call,
    body: impl FnOnce(&Command<'_>) -> Result<Outcome, Failure>,
) -> Result<Outcome, Report> {
    let common = Common::read(name, call, None, None)?;
    command::run(common, Fingerprint::new(name), body)
}

/// `wf_outbox_subscribe`
pub fn subscribe(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_outbox_subscribe");
    let consumer = consumer(call)?;
    let from_start = call.bool("from_start").required()?;
    let outcome = run("wf_outbox_subscribe", call, |command| {
        subscribe::subscribe(command, &consumer, from_start)
    })?;
    Ok(answer::outcome(outcome))
}

/// `wf_outbox_unsubscribe`
pub fn unsubscribe(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_outbox_unsubscribe");
    let consumer = consumer(call)?;
    let outcome = run("wf_outbox_unsubscribe", call, |command| {
        subscribe::unsubscribe(command, &consumer)
    })?;
    Ok(answer::outcome(outcome))
}

/// `wf_outbox_claim`
pub fn claim(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_outbox_claim");
    let consumer = consumer(call)?;
    let limit = call.int("limit_rows").required()?;
    let limit = within("limit_rows", limit, 1, EVENTS)?;
    let lease_ms = call.int("lease_ms").required()?;
    let lease_ms = within("lease_ms", lease_ms, 1, DAY_MS)?;
    let claim = Uuid::now_v7();
    let mut delivered = Vec::new();
    run("wf_outbox_claim", call, |command| {
        delivered = claim::claim(command, &consumer, limit, lease_ms, claim)?;
        Ok(Outcome::default())
    })?;
    let rows = delivered.into_iter().map(|event| row(event, claim));
    Ok(Answer::Rows(rows.collect()))
}

fn row(event: Delivered, claim: Uuid) -> Vec<Cell> {
    vec![
        Cell::Uuid(event.id),
        Cell::Text(event.aggregatetype),
        Cell::Text(event.aggregateid),
        Cell::Text(event.kind),
        Cell::Jsonb(event.payload),
        Cell::Bigint(event.revision),
        Cell::Time(event.occurred_at),
        Cell::Int(event.attempt),
        Cell::Uuid(claim),
    ]
}

/// `wf_outbox_ack`
pub fn ack(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_outbox_ack");
    let consumer = consumer(call)?;
    let claim = call.uuid("claim").required()?;
    let ids = call.uuids("ids")?.required()?;
    let outcome = run("wf_outbox_ack", call, |command| {
        settle::acknowledge(command, &consumer, claim, &ids)
    })?;
    Ok(answer::outcome(outcome))
}

/// `wf_outbox_nack`
pub fn nack(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_outbox_nack");
    let consumer = consumer(call)?;
    let claim = call.uuid("claim").required()?;
    let ids = call.uuids("ids")?.required()?;
    let delay_ms = call.int("delay_ms").required()?;
    let delay_ms = within("delay_ms", delay_ms, 0, DAY_MS)?;
    let error = call.text("error")?.optional();
    let outcome = run("wf_outbox_nack", call, |command| {
        settle::give_back(command, &consumer, claim, &ids, delay_ms, error.as_deref())
    })?;
    Ok(answer::outcome(outcome))
}

/// `wf_outbox_requeue`
pub fn requeue(call: &Call) -> Result<Answer, Report> {
    revive(call, "wf_outbox_requeue", &Fate::Requeue)
}

/// `wf_outbox_skip`
pub fn skip(call: &Call) -> Result<Answer, Report> {
    revive(call, "wf_outbox_skip", &Fate::Skip)
}

fn revive(call: &Call, name: &'static str, fate: &Fate) -> Result<Answer, Report> {
    Common::begin(name);
    let consumer = consumer(call)?;
    let ids = call.uuids("ids")?.required()?;
    let outcome = run(name, call, |command| {
        settle::revive(command, &consumer, &ids, fate)
    })?;
    Ok(answer::outcome(outcome))
}

/// `wf_inbox_accept`
pub fn accept(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_inbox_accept");
    let source = checked("source", call.text("source")?.required()?)?;
    let message = checked("message_id", call.text("message_id")?.required()?)?;
    let mut accepted = None;
    run("wf_inbox_accept", call, |command| {
        accepted = Some(first(command, &source, &message)?);
        Ok(Outcome::default())
    })?;
    let rows = accepted.map(|accepted| vec![Cell::Bool(accepted)]);
    Ok(Answer::Rows(rows.into_iter().collect()))
}

/// Whether nobody else has accepted the message, and nobody will.
fn first(command: &Command<'_>, source: &str, message: &str) -> Result<bool, Failure> {
    // Neither holds a control character.
    let name = format!("{source}\n{message}");
    KeyLock::new(LockKind::Message, &command.caller.tenant, &name).take(&command.budget)?;
    let row = [
        command.tenant(),
        Value::Text(source),
        Value::Text(message),
        Value::Time(Time::now()),
    ];
    if command.spi.run(&statements::ACCEPT_MESSAGE, &row).count() == 1 {
        return Ok(true);
    }
    if command.spi.run(&statements::IS_ACCEPTED, &row[..3]).count() == 0 {
        return Err(trigger_interfered("a trigger kept a message out"));
    }
    Ok(false)
}
