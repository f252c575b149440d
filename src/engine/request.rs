//! Request keys: the same command under the same key is carried out once and answered twice.

use sha2::{Digest, Sha256};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Reason, Refusal};

use crate::engine::failure::Failure;
use crate::engine::identity::Caller;
use crate::engine::worker::{Place, Progress};
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::{Jsonb, Time, Value};
use crate::pg::wait::{Budget, KeyLock, LockKind};
use crate::settings;
use crate::store::statements;

/// The longest key, in bytes.
const MAX_KEY: usize = 512;

/// Digest over a command and all its arguments, each with its length, so that no two commands give
/// the same bytes.
#[derive(Clone)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Begins with the command's name.
    pub fn new(command: &str) -> Fingerprint {
        let mut fingerprint = Fingerprint(Sha256::new());
        fingerprint.bytes(Some(command.as_bytes()));
        fingerprint
    }

    /// Adds an argument.
    pub fn bytes(&mut self, argument: Option<&[u8]>) {
        match argument {
            None => self.0.update([0]),
            Some(bytes) => {
                self.0.update([1]);
                self.0.update((bytes.len() as u64).to_be_bytes());
                self.0.update(bytes);
            }
        }
    }

    /// Adds a text.
    pub fn text(&mut self, argument: Option<&str>) {
        self.bytes(argument.map(str::as_bytes));
    }

    /// Adds a number.
    pub fn number(&mut self, argument: Option<i64>) {
        self.bytes(
            argument
                .map(i64::to_be_bytes)
                .as_ref()
                .map(|bytes| bytes.as_slice()),
        );
    }

    /// Adds a document, by its binary image.
    pub fn json(&mut self, argument: Option<&Jsonb>) {
        self.bytes(argument.map(Jsonb::image));
    }

    /// The digest, for the person who calls.
    fn of(mut self, caller: &Caller) -> Vec<u8> {
        self.text(Some(&caller.tenant));
        self.text(Some(&caller.actor));
        self.0.finalize().to_vec()
    }

    /// Adds a list.
    pub fn texts(&mut self, argument: Option<&[String]>) {
        self.number(argument.map(|list| list.len() as i64));
        for element in argument.into_iter().flatten() {
            self.text(Some(element));
        }
    }
}

/// A key in use by the running command; its lock is held to the end of the transaction.
pub struct Request {
    key: String,
    fingerprint: Vec<u8>,
}

/// Takes the key. An outcome, if the command has been carried out under it before.
pub fn open(
    spi: &Spi,
    caller: &Caller,
    key: &str,
    fingerprint: Fingerprint,
    budget: &Budget,
) -> Result<(Request, Option<Outcome>), Failure> {
    let fingerprint = fingerprint.of(caller);
    KeyLock::new(LockKind::Request, &caller.tenant, key).take(budget)?;
    let replay = look_up(spi, caller, key, std::slice::from_ref(&fingerprint))?;
    Ok((
        Request {
            key: key.to_owned(),
            fingerprint,
        },
        replay,
    ))
}

/// The outcome a command would be answered with, were it sent in one of these forms; no lock.
pub fn peek(
    spi: &Spi,
    caller: &Caller,
    key: &str,
    forms: [Fingerprint; 2],
) -> Result<Option<Outcome>, Failure> {
    look_up(
        spi,
        caller,
        key,
        &forms.map(|fingerprint| fingerprint.of(caller)),
    )
}

fn look_up(
    spi: &Spi,
    caller: &Caller,
    key: &str,
    forms: &[Vec<u8>],
) -> Result<Option<Outcome>, Failure> {
    let known = [Value::Text(&caller.tenant), Value::Text(key)];
    let Some(row) = spi.one(&statements::READ_REQUEST, &known) else {
        return Ok(None);
    };
    if !forms.contains(&row.bytes(0)?) {
        return Err(mismatch(key).into());
    }
    let outcome = row.jsonb(1)?.to_json()?;
    let mut outcome: Outcome = serde_json::from_str(&outcome)
        .map_err(|error| Report::invalid(format!("stored outcome: {error}")))?;
    outcome.replayed = true;
    Ok(Some(outcome))
}

/// WF008: the key was given for something else.
pub fn mismatch(key: &str) -> Refusal {
    let message = "the request key belongs to another command";
    Refusal::new(Reason::RequestMismatch, message).with("request_id", key)
}

/// Place of a key in the order in which several of them are taken.
pub fn lock_order(caller: &Caller, key: &str) -> (u32, u32) {
    KeyLock::new(LockKind::Request, &caller.tenant, key).order()
}

impl Request {
    /// Digest of the command.
    pub fn fingerprint(&self) -> &[u8] {
        &self.fingerprint
    }

    /// The key, for the history.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Keeps the outcome of a command that was carried out.
    pub fn keep(
        &self,
        spi: &Spi,
        caller: &Caller,
        command: &str,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let image = serde_json::to_string(outcome)
            .map_err(|error| Report::invalid(format!("outcome: {error}")))?;
        let written = spi.run(
            &statements::INSERT_REQUEST,
            &[
                Value::Text(&caller.tenant),
                Value::Text(&self.key),
                Value::Text(command),
                Value::Bytes(&self.fingerprint),
                Value::Json(&image),
                Value::Time(Time::now()),
            ],
        );
        if written.count() != 1 {
            return Err(super::failure::trigger_interfered(
                "a trigger kept a request key out",
            ));
        }
        Ok(())
    }
}

/// 22023 for a key that is empty or too long.
pub fn check_key(key: &str) -> Result<(), Report> {
    if key.is_empty() {
        return Err(Report::invalid("request_id must not be empty"));
    }
    if key.len() > MAX_KEY {
        return Err(Report::invalid(format!(
            "request_id must not be longer than {MAX_KEY} bytes"
        )));
    }
    Ok(())
}

/// Removes keys of the next tenant that are older than `workflow.request_retention`. A job of the
/// background worker; elsewhere `wf_purge` does it.
pub fn purge_next_tenant(spi: &Spi, place: &mut Place) -> Result<Progress, Failure> {
    const BATCH: i64 = 1000;
    let next = [Value::Text(&place.tenant)];
    let Some(row) = spi.one(&statements::NEXT_TENANT_WITH_REQUESTS, &next) else {
        let again = std::mem::take(place).again;
        return Ok(if again {
            Progress::More
        } else {
            Progress::Done
        });
    };
    place.tenant = row.text(0)?;
    let removed = purge(spi, &place.tenant, BATCH);
    place.again |= removed >= BATCH as u64;
    Ok(Progress::More)
}

/// Removes up to `limit` keys of a tenant that are older than `workflow.request_retention`; gives
/// their number.
pub fn purge(spi: &Spi, tenant: &str, limit: i64) -> u64 {
    let oldest = Time(Time::now().0 - i64::from(settings::request_retention()) * 1_000_000);
    let old = [
        Value::Text(tenant),
        Value::Time(oldest),
        Value::Bigint(limit),
    ];
    spi.run(&statements::PURGE_REQUESTS, &old).count()
}
