//! The lease that a command presents, kept and checked before it writes.

use workflow_core::decide::Lease as Answer;
use workflow_core::lease::Standing;

use super::{Key, Lease};
use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::engine::request::Fingerprint;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::store::statements;

/// Whether new tenures are kept away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// They are. Whether this one stands is to be read afterwards.
    Here,
    /// This one is over, and why.
    Lost(String),
    /// Somebody is just beginning one.
    Busy,
}

/// Adds the lease that a command presents to its fingerprint.
pub fn seal(fingerprint: &mut Fingerprint, lease: Option<&Presented>) {
    fingerprint.text(lease.map(|lease| lease.key.as_str()));
    fingerprint.number(lease.map(|lease| lease.fence));
}

/// What a command says it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Presented {
    /// The key.
    pub key: String,
    /// The number of the tenure.
    pub fence: i64,
}

impl Presented {
    /// The key of a tenant.
    pub fn key<'a>(&'a self, tenant: &'a str) -> Key<'a> {
        Key {
            tenant,
            key: &self.key,
        }
    }

    /// Keeps new tenures away until the transaction ends, if that can be had at once.
    pub fn try_keep(&self, spi: &Spi, tenant: &str) -> Result<Kept, Report> {
        let key = self.key(tenant);
        Ok(match self.judge(key.read(spi)?.as_ref()) {
            Answer::Lost(why) => Kept::Lost(why),
            _ if key.lock(spi, &statements::TRY_KEEP_LEASE) => Kept::Here,
            _ => Kept::Busy,
        })
    }

    /// The same, however long that takes.
    pub fn wait_to_keep(&self, spi: &Spi, tenant: &str) {
        self.key(tenant).lock(spi, &statements::KEEP_LEASE);
    }

    /// The same within the budget. Gives why the tenure is over, if it is: then nothing is locked,
    /// and what is read later must not be taken for a lease that is kept.
    pub fn keep(&self, command: &Command<'_>) -> Result<Option<String>, Failure> {
        let (spi, tenant) = (command.spi, command.caller.tenant.as_str());
        match self.try_keep(spi, tenant)? {
            Kept::Here => Ok(None),
            Kept::Lost(why) => Ok(Some(why)),
            Kept::Busy => {
                command.budget.wait(|| self.wait_to_keep(spi, tenant))?;
                Ok(None)
            }
        }
    }

    /// Whether the tenure stands now.
    pub fn check(&self, spi: &Spi, tenant: &str) -> Result<Answer, Report> {
        Ok(self.judge(self.key(tenant).read(spi)?.as_ref()))
    }

    fn judge(&self, lease: Option<&Lease>) -> Answer {
        let Some(lease) = lease else {
            return Answer::Lost(format!("there never was a lease {}", self.key));
        };
        if lease.fence != self.fence {
            return Answer::Lost(format!(
                "the lease {} is not at fence {}",
                self.key, self.fence
            ));
        }
        match lease.standing() {
            Standing::Held(_) => Answer::Holds,
            Standing::Expired => Answer::Lost(format!("the lease {} has expired", self.key)),
            Standing::Released => Answer::Lost(format!("the lease {} was released", self.key)),
            Standing::Void => {
                Answer::Lost(format!("the lease {} came with a restored dump", self.key))
            }
        }
    }
}
