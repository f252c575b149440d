//! Leases: the row of a key, tenures granted, renewed and ended, and the check before a write.
//!
//! A new tenure changes the fence and takes the row FOR UPDATE; a write under the lease holds it FOR
//! KEY SHARE to its commit, so no new tenure comes between the check and the commit; renewals and
//! releases take it FOR NO KEY UPDATE, which does not conflict with that. The clock is read after the
//! lock.

pub mod acquire;
pub mod check;
pub mod fences;
pub mod holder;

use uuid::Uuid;
use workflow_core::lease::{Standing, Tenure, Written};

use crate::engine::failure::{Failure, trigger_interfered};
use crate::pg::cluster::{self, Run};
use crate::pg::report::Report;
use crate::pg::spi::{Spi, Statement};
use crate::pg::value::{Time, Value};
use crate::settings;
use crate::store::statements;

/// Keys that begin so are the engine's own.
pub const RESERVED: &str = "workflow.";

/// Whose key.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    /// The tenant.
    pub tenant: &'a str,
    /// The key.
    pub key: &'a str,
}

impl<'a> Key<'a> {
    fn arguments(&self) -> [Value<'a>; 2] {
        [Value::Text(self.tenant), Value::Text(self.key)]
    }

    /// Whether the lock was had.
    pub fn lock(&self, spi: &Spi, statement: &Statement) -> bool {
        spi.run(statement, &self.arguments()).count() > 0
    }

    /// The row as it is now.
    pub fn read(&self, spi: &Spi) -> Result<Option<Lease>, Report> {
        let Some(row) = spi.one(&statements::READ_LEASE, &self.arguments()) else {
            return Ok(None);
        };
        let run = cluster::run();
        let (of_cluster, of_epoch) = (row.bigint(12)?, row.bigint(13)?);
        let written = if of_cluster != run.cluster {
            Written::Elsewhere
        } else if of_epoch != run.epoch {
            Written::InAnEarlierRun
        } else {
            Written::InThisRun
        };
        Ok(Some(Lease {
            fence: row.bigint(0)?,
            token: row.uuid(1)?,
            holder: row.text(3)?,
            request_id: row.opt_text(4)?,
            actor: row.opt_text(14)?,
            granted_at: row.time(5)?,
            renewed_at: row.time(6)?,
            ttl_ms: row.int(8)?,
            renewals: row.int(9)?,
            longest_us: row.bigint(10)?,
            tenure: Tenure {
                held: row.bool(2)?,
                expires_at: row.time(7)?.0,
                seen_at: row.time(11)?.0,
                written,
            },
        }))
    }
}

/// The last tenure of a key.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Its number.
    pub fence: i64,
    /// Its secret.
    pub token: Uuid,
    /// Who has it, for people.
    pub holder: String,
    /// The request it was granted for.
    pub request_id: Option<String>,
    /// Who asked for it.
    pub actor: Option<String>,
    /// When it was granted.
    pub granted_at: Time,
    /// When it was granted or renewed last.
    pub renewed_at: Time,
    /// For how long, at last.
    pub ttl_ms: i32,
    /// How often it was renewed.
    pub renewals: i32,
    longest_us: i64,
    /// Whether it stands.
    pub tenure: Tenure,
}

impl Lease {
    /// How it stands now.
    pub fn standing(&self) -> Standing {
        self.tenure.standing(Time::now().0, grace_us())
    }

    /// When it ends, unless it is renewed.
    pub fn ends_at(&self) -> Time {
        Time(self.tenure.ends_at(grace_us()))
    }

    /// The clock of its row.
    pub fn now(&self) -> Time {
        Time(self.tenure.now(Time::now().0))
    }

    fn longest_at(&self, now: Time) -> i64 {
        self.longest_us.max(now.0 - self.renewed_at.0)
    }
}

/// `workflow.lease_grace`
pub fn grace_us() -> i64 {
    i64::from(settings::lease_grace()) * 1000
}

/// A new tenure.
pub struct Grant<'a> {
    /// Its holder, for people.
    pub holder: &'a str,
    /// For how long.
    pub ttl_ms: i32,
    /// The request it is granted for.
    pub request_id: Option<&'a str>,
    /// Who asks for it.
    pub actor: &'a str,
}

/// A tenure that has begun.
pub struct Granted {
    /// Its secret.
    pub token: Uuid,
    /// Its number.
    pub fence: i64,
    /// When it ends.
    pub expires_at: Time,
    /// Whether it can still be undone.
    pub provisional: bool,
}

/// Begins a tenure of a key that nobody holds. Its row, if there is one, is ours, and `before` what
/// it says; if there is none, nobody else makes it.
pub fn grant(
    spi: &Spi,
    key: Key<'_>,
    before: Option<&Lease>,
    grant: &Grant<'_>,
) -> Result<Granted, Failure> {
    let run = cluster::run();
    fences::rise(spi, &run)?;
    let now = before.map_or_else(Time::now, Lease::now);
    let expires_at = now.after(std::time::Duration::from_millis(grant.ttl_ms as u64));
    let token = secret()?;
    let [tenant, name] = key.arguments();
    let mut row = vec![
        tenant,
        name,
        Value::Bigint(fences::base(run.timeline)),
        Value::Uuid(token),
        Value::Text(grant.holder),
        Value::optional(grant.request_id, Value::Text),
        Value::Time(now),
        Value::Time(expires_at),
        Value::Int(grant.ttl_ms),
        Value::Bigint(run.cluster),
        Value::Bigint(run.epoch),
        Value::Text(grant.actor),
    ];
    let statement = match before {
        None => &statements::INSERT_LEASE,
        Some(before) => {
            let elsewhere = before.tenure.written == Written::Elsewhere;
            row.push(Value::Bigint(if elsewhere { fences::LEAP } else { 1 }));
            &statements::GRANT_LEASE
        }
    };
    let fence = match spi.one(statement, &row) {
        Some(written) => written.bigint(0)?,
        None => return Err(trigger_interfered("a trigger kept a lease out")),
    };
    let provisional = cluster::in_transaction_block();
    if provisional {
        // The caller knows the number before the commit, which may never come.
        cluster::flush_log();
    }
    cluster::commit_durably();
    let [tenant, name] = key.arguments();
    let logged = spi.run(
        &statements::LOG_TENURE,
        &[
            tenant,
            name,
            Value::Bigint(fence),
            Value::Text(grant.holder),
            Value::Time(now),
            Value::Int(grant.ttl_ms),
            Value::Bool(provisional),
            Value::Text(grant.actor),
        ],
    );
    if logged.count() != 1 {
        return Err(trigger_interfered("a trigger kept a tenure out of the log"));
    }
    Ok(Granted {
        token,
        fence,
        expires_at,
        provisional,
    })
}

/// A token that nobody can guess.
pub fn secret() -> Result<Uuid, Report> {
    let bytes = cluster::random_bytes().ok_or_else(|| {
        Report::new(
            workflow_core::sqlstate::SqlState::DATA_CORRUPTED,
            "the server has no random numbers",
        )
    })?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// Why a tenure ended.
pub struct End<'a> {
    /// In the words of `workflow.lease_end`.
    pub word: &'static str,
    /// When.
    pub at: Time,
    /// What an operator said.
    pub reason: Option<&'a str>,
}

impl End<'_> {
    /// How a tenure ended that nobody holds any more, if that is not in the log yet.
    pub fn of(lease: &Lease) -> Option<End<'static>> {
        let (word, at) = match lease.standing() {
            Standing::Held(_) | Standing::Released => return None,
            Standing::Expired => ("expired", lease.ends_at()),
            Standing::Void => ("void", Time(lease.tenure.expires_at.min(lease.now().0))),
        };
        Some(End {
            word,
            at,
            reason: None,
        })
    }
}

/// Writes down how a tenure ended. Its row is ours.
pub fn log_end(spi: &Spi, key: Key<'_>, lease: &Lease, end: &End<'_>) -> Result<(), Failure> {
    let [tenant, name] = key.arguments();
    let longest_us = lease.longest_at(end.at);
    let logged = spi.run(
        &statements::LOG_TENURE_END,
        &[
            tenant,
            name,
            Value::Bigint(lease.fence),
            Value::Time(end.at),
            Value::Text(end.word),
            Value::Int(lease.ttl_ms),
            Value::Int(lease.renewals),
            Value::Bigint(longest_us),
            Value::optional(end.reason, Value::Text),
        ],
    );
    if logged.count() != 1 {
        return Err(trigger_interfered("a trigger kept the end of a tenure out"));
    }
    Ok(())
}

/// Prolongs the tenure of a row that is ours.
pub fn renew(spi: &Spi, key: Key<'_>, lease: &Lease, ttl_ms: i32) -> Result<Time, Failure> {
    let Run { cluster, epoch, .. } = cluster::run();
    let now = lease.now();
    let expires_at = now.after(std::time::Duration::from_millis(ttl_ms as u64));
    let [tenant, name] = key.arguments();
    let renewed = spi.run(
        &statements::RENEW_LEASE,
        &[
            tenant,
            name,
            Value::Time(now),
            Value::Time(expires_at),
            Value::Int(ttl_ms),
            Value::Bigint(lease.longest_at(now)),
            Value::Bigint(cluster),
            Value::Bigint(epoch),
        ],
    );
    if renewed.count() != 1 {
        return Err(trigger_interfered(
            "a trigger kept a lease from being renewed",
        ));
    }
    cluster::commit_durably();
    Ok(expires_at)
}

/// Ends the tenure of a row that is ours.
pub fn release(spi: &Spi, key: Key<'_>, lease: &Lease) -> Result<(), Failure> {
    let now = lease.now();
    let [tenant, name] = key.arguments();
    let released = spi.run(
        &statements::RELEASE_LEASE,
        &[
            tenant,
            name,
            Value::Time(now),
            Value::Bigint(lease.longest_at(now)),
        ],
    );
    if released.count() != 1 {
        return Err(trigger_interfered(
            "a trigger kept a lease from being released",
        ));
    }
    let end = End {
        word: "released",
        at: now,
        reason: None,
    };
    log_end(spi, key, lease, &end)
}
