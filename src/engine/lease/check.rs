//! The lease that a command presents, kept and checked before it writes.

use workflow_core::decide::Lease as Answer;
use workflow_core::lease::Standing;

use super::{Key, Lease};
use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::store::statements;

/// What a command says it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Keeps new tenures away until the transaction ends, within the budget. Whether this one stands
    /// is to be read afterwards; nothing is locked for one that is over.
    pub fn keep(&self, command: &Command<'_>) -> Result<(), Failure> {
        let (spi, key) = (command.spi, self.key(&command.caller.tenant));
        if self.judge(key.read(spi)?.as_ref()) == Answer::Holds
            && !key.lock(spi, &statements::TRY_KEEP_LEASE)
        {
            command
                .budget
                .wait(|| key.lock(spi, &statements::KEEP_LEASE))?;
        }
        Ok(())
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
            Standing::Void => Answer::Lost(format!(
                "the lease {} was granted in another cluster",
                self.key
            )),
        }
    }
}
