//! `wf_lease_*`: locks with an expiry and a fence.

use serde_json::json;
use workflow_core::lease::{Standing, milliseconds};
use workflow_core::outcome::Outcome;

use crate::engine::command::{self, Command, Common, checked, read_claim};
use crate::engine::failure::Failure;
use crate::engine::lease::acquire::{self, Answer as Answered, Taken};
use crate::engine::lease::{Grant, Key, RESERVED, grace_us, holder};
use crate::engine::request::{self, Fingerprint};
use crate::pg::call::Call;
use crate::pg::cluster;
use crate::pg::entry::{Answer, Cell};
use crate::pg::report::{self, Report};
use crate::pg::value::Time;
use crate::pg::wait::Budget;
use crate::settings;

/// Keys of one call.
const KEYS: usize = 1000;

fn own_key(key: String) -> Result<String, Report> {
    let key = checked("key", key)?;
    if key.starts_with(RESERVED) {
        return Err(Report::invalid(format!(
            "keys that begin with {RESERVED} are the engine's own"
        )));
    }
    Ok(key)
}

/// A time to live that may be asked for.
pub fn time_to_live(name: &str, ttl_ms: i32) -> Result<i32, Report> {
    let most = settings::lease_max_ttl();
    if !(1..=most).contains(&ttl_ms) {
        return Err(Report::invalid(format!(
            "{name} must be between 1 and {most} (workflow.lease_max_ttl)"
        )));
    }
    Ok(ttl_ms)
}

fn run(
    common: Common,
    body: impl FnOnce(&Command<'_>) -> Result<(), Failure>,
) -> Result<Outcome, Report> {
    let fingerprint = Fingerprint::new(common.command);
    command::run(common, fingerprint, |command| {
        body(command)?;
        Ok(Outcome::default())
    })
}

/// `wf_lease_acquire`
pub fn acquire(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_lease_acquire");
    let key = own_key(call.text("key")?.required()?)?;
    acquire_keys(call, "wf_lease_acquire", vec![key])
}

/// `wf_lease_acquire_many`
pub fn acquire_many(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_lease_acquire_many");
    let keys = call.texts("keys")?.required()?;
    let keys: Result<Vec<String>, Report> = keys.into_iter().map(own_key).collect();
    let mut keys = keys?;
    if !(1..=KEYS).contains(&keys.len()) {
        return Err(Report::invalid(format!("keys must be 1 to {KEYS}")));
    }
    keys.sort_unstable();
    if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Report::invalid(format!("keys names {} twice", pair[0])));
    }
    acquire_keys(call, "wf_lease_acquire_many", keys)
}

fn acquire_keys(call: &Call, name: &'static str, keys: Vec<String>) -> Result<Answer, Report> {
    let ttl_ms = time_to_live("ttl_ms", call.int("ttl_ms").required()?)?;
    let holder = call.text("holder")?.optional();
    let holder = holder.map(|holder| checked("holder", holder)).transpose()?;
    let wait_ms = call.int("wait_ms").required()?;
    let request_id = call.text("request_id")?.optional();
    if let Some(key) = &request_id {
        request::check_key(key)?;
    }
    let common = Common::read(name, call, Some(wait_ms), None)?;
    let mut answers = Vec::new();
    let outcome = run(common, |command| {
        let holder = holder.as_deref().unwrap_or(&command.caller.actor);
        let wanted = Grant {
            holder,
            ttl_ms,
            request_id: request_id.as_deref(),
            actor: &command.caller.actor,
        };
        let patience = Budget::new(wait_ms, false);
        answers = acquire::acquire(command, &keys, &wanted, &patience)?
            .into_iter()
            .map(|answer| row(command, holder, answer))
            .collect();
        Ok(())
    })?;
    if answers.is_empty() {
        answers = keys.into_iter().map(|key| refused(key, &outcome)).collect();
    }
    Ok(Answer::Rows(answers))
}

/// `wf_lease_steal`
pub fn steal(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_lease_steal");
    let key = own_key(call.text("key")?.required()?)?;
    let ttl_ms = time_to_live("ttl_ms", call.int("ttl_ms").required()?)?;
    let reason = call.text("reason")?.required()?;
    let common = Common::read("wf_lease_steal", call, None, None)?;
    let mut answer = None;
    let outcome = run(common, |command| {
        let holder = command.caller.actor.as_str();
        let wanted = Grant {
            holder,
            ttl_ms,
            request_id: None,
            actor: holder,
        };
        let owned = Key {
            tenant: &command.caller.tenant,
            key: &key,
        };
        let tenancy = acquire::steal(command, owned, &wanted, &reason)?;
        let stolen = Answered {
            key: key.clone(),
            result: Ok(tenancy),
        };
        answer = Some(row(command, holder, stolen));
        Ok(())
    })?;
    Ok(Answer::Row(
        answer.unwrap_or_else(|| refused(key, &outcome)),
    ))
}

fn row(command: &Command<'_>, holder: &str, answer: Answered) -> Vec<Cell> {
    log_attempt(command, holder, &answer);
    match answer.result {
        Ok(tenancy) => vec![
            Cell::Bool(true),
            Cell::Text(answer.key),
            Cell::Uuid(tenancy.token),
            Cell::Bigint(tenancy.fence),
            Cell::Text(holder.to_owned()),
            Cell::Time(tenancy.expires_at),
            Cell::Bigint(tenancy.remaining_ms),
            Cell::Bool(tenancy.provisional),
            Cell::Null,
            Cell::Null,
        ],
        Err(taken) => not_acquired(answer.key, taken),
    }
}

fn not_acquired(key: String, taken: Taken) -> Vec<Cell> {
    vec![
        Cell::Bool(false),
        Cell::Text(key),
        Cell::Null,
        // The fence of another's tenure is nothing to go on with.
        Cell::Null,
        Cell::optional(taken.holder, Cell::Text),
        Cell::optional(taken.ends_at, Cell::Time),
        Cell::optional(taken.remaining_ms, Cell::Bigint),
        Cell::Bool(false),
        Cell::Text(taken.reason.to_owned()),
        Cell::Bigint(taken.retry_after_ms),
    ]
}

/// A call that was refused as a whole, with on_refusal => 'return'.
fn refused(key: String, outcome: &Outcome) -> Vec<Cell> {
    let mut cells = vec![Cell::Bool(false), Cell::Text(key)];
    cells.extend((0..5).map(|_| Cell::Null));
    cells.push(Cell::Bool(false));
    cells.push(Cell::optional(outcome.reason.clone(), Cell::Text));
    let retry = outcome.retry_after_ms.map(i64::from);
    cells.push(Cell::optional(retry, Cell::Bigint));
    cells
}

fn log_attempt(command: &Command<'_>, holder: &str, answer: &Answered) {
    if !settings::log_lease_attempts() {
        return;
    }
    let reason = answer.result.as_ref().err().map(|taken| taken.reason);
    let line = json!({
        "command": command.name,
        "tenant": command.caller.tenant,
        "actor": command.caller.actor,
        "key": answer.key,
        "holder": holder,
        "acquired": answer.result.is_ok(),
        "fence": answer.result.as_ref().ok().map(|tenancy| tenancy.fence),
        "reason": reason,
    });
    report::log(&format!("workflow lease: {line}"));
}

/// `wf_lease_renew`
pub fn renew(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_lease_renew");
    let key = own_key(call.text("key")?.required()?)?;
    let token = call.uuid("token").required()?;
    let ttl_ms = time_to_live("ttl_ms", call.int("ttl_ms").required()?)?;
    let common = Common::read("wf_lease_renew", call, None, None)?;
    let mut cells = None;
    let outcome = run(common, |command| {
        let key = Key {
            tenant: &command.caller.tenant,
            key: &key,
        };
        cells = Some(match holder::renew_by_token(command, key, token, ttl_ms)? {
            Ok(renewed) => vec![
                Cell::Bool(true),
                Cell::Bigint(renewed.fence),
                Cell::Time(renewed.expires_at),
                Cell::Bigint(i64::from(ttl_ms)),
                Cell::Null,
            ],
            Err(reason) => not_renewed(Some(reason.to_owned())),
        });
        Ok(())
    })?;
    Ok(Answer::Row(
        cells.unwrap_or_else(|| not_renewed(outcome.reason)),
    ))
}

fn not_renewed(reason: Option<String>) -> Vec<Cell> {
    vec![
        Cell::Bool(false),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::optional(reason, Cell::Text),
    ]
}

/// `wf_lease_release`
pub fn release(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_lease_release");
    let key = own_key(call.text("key")?.required()?)?;
    let token = call.uuid("token").required()?;
    let common = Common::read("wf_lease_release", call, None, None)?;
    let mut released = None;
    let outcome = run(common, |command| {
        let key = Key {
            tenant: &command.caller.tenant,
            key: &key,
        };
        released = Some(holder::release_by_token(command, key, token)?);
        Ok(())
    })?;
    let reason = match released {
        Some(Ok(())) => None,
        Some(Err(reason)) => Some(reason.to_owned()),
        None => outcome.reason,
    };
    let is_released = matches!(released, Some(Ok(())));
    Ok(Answer::Row(vec![
        Cell::Bool(is_released),
        Cell::optional(reason, Cell::Text),
    ]))
}

/// `wf_lease_inspect`
pub fn inspect(call: &Call) -> Result<Answer, Report> {
    let key = checked("key", call.text("key")?.required()?)?;
    let claim = read_claim(call)?;
    let lease = command::read(&claim, |spi, caller| {
        let key = Key {
            tenant: &caller.tenant,
            key: &key,
        };
        Ok(key.read(spi)?)
    })?;
    let Some(lease) = lease else {
        let mut cells = vec![Cell::Bool(false)];
        cells.extend((0..5).map(|_| Cell::Null));
        return Ok(Answer::Row(cells));
    };
    let left = match lease.standing() {
        Standing::Held(left) => Some(milliseconds(left)),
        _ => None,
    };
    Ok(Answer::Row(vec![
        Cell::Bool(left.is_some()),
        Cell::Text(lease.holder),
        Cell::Bigint(lease.fence),
        Cell::optional(left, Cell::Bigint),
        Cell::Int(lease.renewals),
        Cell::Time(lease.granted_at),
    ]))
}

/// `workflow.lease_ends_at`
pub fn ends_at(call: &Call) -> Result<Answer, Report> {
    let expires_at = call.time("expires_at").optional();
    let of_cluster = call.bigint("cluster").optional();
    let of_epoch = call.bigint("epoch").optional();
    let run = cluster::run();
    let (Some(expires_at), Some(of_cluster), Some(of_epoch)) = (expires_at, of_cluster, of_epoch)
    else {
        return Ok(Answer::Scalar(Cell::Null));
    };
    Ok(Answer::Scalar(Cell::Time(if of_cluster != run.cluster {
        Time::BEFORE_ALL
    } else if of_epoch != run.epoch {
        Time(expires_at.0.saturating_add(grace_us()))
    } else {
        expires_at
    })))
}
