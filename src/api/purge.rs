//! `wf_purge`: removes whole closed instances, and what has outlived its use.

use std::collections::BTreeSet;

use serde_json::json;
use uuid::Uuid;
use workflow_core::outcome::Outcome;

use crate::api::answer;
use crate::engine::command::{self, Command, Common};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::request::{self, Fingerprint};
use crate::pg::append_only::permit_delete;
use crate::pg::call::Call;
use crate::pg::entry::Answer;
use crate::pg::report::Report;
use crate::pg::spi::Statement;
use crate::pg::value::{Interval, Time, Value};
use crate::store::statements;

/// Most instances of one batch.
pub const MAX_BATCH: i32 = 10_000;

/// `wf_purge`
pub fn purge(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_purge");
    let closed_before = call.interval("closed_before").required()?;
    let limit = check_limit(call.int("limit_rows").required()?)?;
    let common = Common::read("wf_purge", call, None, None)?;
    let outcome = command::run(common, Fingerprint::new("wf_purge"), |command| {
        remove(command, closed_before, limit.into())
    })?;
    Ok(answer::outcome(outcome))
}

/// 22023 for a batch that is none, or no batch any more.
pub fn check_limit(limit: i32) -> Result<i32, Report> {
    if !(1..=MAX_BATCH).contains(&limit) {
        return Err(Report::invalid(format!(
            "limit_rows must be between 1 and {MAX_BATCH}"
        )));
    }
    Ok(limit)
}

fn remove(command: &Command<'_>, closed_before: Interval, limit: i64) -> Result<Outcome, Failure> {
    let key = [Value::Interval(closed_before)];
    let row = command.spi.one(&statements::LONG_AGO, &key);
    let row = row.ok_or_else(|| Report::invalid("closed_before is no interval"))?;
    if row.bool(1)? {
        return Err(Report::invalid("closed_before must not be negative").into());
    }
    let before = row.time(0)?;

    let (instances, applications) = remove_instances(command, before, limit)?;
    let requests = request::purge(command.spi, &command.caller.tenant, limit);
    let refusals = command.spi.run(
        &statements::PURGE_REFUSALS,
        &[
            command.tenant(),
            Value::Uuid(first_id_after(before)),
            Value::Bigint(limit),
        ],
    );
    let refusals = refusals.count();
    let most = instances.max(requests).max(refusals);
    Ok(Outcome {
        applied: true,
        attempts: 1,
        detail: Some(json!({
            "instances": instances,
            "applications": applications,
            "request_keys": requests,
            "refusals": refusals,
            "more": most >= limit as u64,
        })),
        ..Outcome::default()
    })
}

/// Gives how many instances went, and how many applications with their last one. An instance goes
/// only while its application is ours, so that no application is left over.
fn remove_instances(
    command: &Command<'_>,
    before: Time,
    limit: i64,
) -> Result<(u64, u64), Failure> {
    let found = command.spi.run(
        &statements::PURGEABLE_INSTANCES,
        &[
            command.tenant(),
            Value::Uuid(first_id_after(before)),
            Value::Time(before),
            Value::Bigint(limit),
        ],
    );
    let mut candidates = Vec::new();
    for row in found.rows() {
        candidates.push((row.uuid(0)?, row.uuid(1)?));
    }
    let applications: BTreeSet<Uuid> = candidates.iter().map(|(_, of)| *of).collect();
    let applications: Vec<Uuid> = applications.into_iter().collect();
    let applications = chosen(command, &statements::LOCK_APPLICATIONS, &applications)?;
    candidates.retain(|(_, application)| applications.binary_search(application).is_ok());
    let instances: Vec<Uuid> = candidates.into_iter().map(|(id, _)| id).collect();
    let instances = chosen(command, &statements::LOCK_CLOSED_INSTANCES, &instances)?;
    if instances.is_empty() {
        return Ok((0, 0));
    }
    let key = [command.tenant(), Value::Uuids(&instances)];
    for (table, statement) in &statements::PURGE_ROWS {
        permit_delete(table, || command.spi.run(statement, &key).count());
    }
    let removed = command.spi.run(&statements::PURGE_INSTANCES, &key);
    if removed.count() != instances.len() as u64 {
        return Err(trigger_interfered("a trigger kept an instance"));
    }
    let idle = chosen(command, &statements::IDLE_APPLICATIONS, &applications)?;
    remove_applications(command, &idle)?;
    Ok((removed.count(), idle.len() as u64))
}

/// Which of these ids a statement gives, in order.
fn chosen(command: &Command<'_>, statement: &Statement, ids: &[Uuid]) -> Result<Vec<Uuid>, Report> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let key = [command.tenant(), Value::Uuids(ids)];
    let rows = command.spi.run(statement, &key);
    rows.rows().map(|row| row.uuid(0)).collect()
}

fn remove_applications(command: &Command<'_>, idle: &[Uuid]) -> Result<(), Failure> {
    if idle.is_empty() {
        return Ok(());
    }
    let key = [command.tenant(), Value::Uuids(idle)];
    permit_delete("materials", || {
        command.spi.run(&statements::PURGE_MATERIALS, &key).count()
    });
    let removed = command.spi.run(&statements::PURGE_APPLICATIONS, &key);
    if removed.count() != idle.len() as u64 {
        return Err(trigger_interfered("a trigger kept an application"));
    }
    Ok(())
}

/// The lowest id of version 7 that can have been made after a moment.
fn first_id_after(moment: Time) -> Uuid {
    const EPOCH: i128 = 946_684_800_000_000;
    let milliseconds = (i128::from(moment.0) + EPOCH) / 1000 + 1;
    let milliseconds = milliseconds.clamp(0, (1 << 48) - 1) as u128;
    Uuid::from_u128(milliseconds << 80)
}
