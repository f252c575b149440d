//! What a tenant may have at most: WF019.
//!
//! Most limits bound what one call brings, so there is nothing to race for. That of open instances is
//! held by a lock of the tenant's, taken before anything else and kept to the end of the transaction,
//! and by a count under it; only tenants with that limit pay for it.

use workflow_core::refusal::{Reason, Refusal};

use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::pg::spi::Spi;
use crate::pg::value::{Jsonb, Value};
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::{self, statements};

/// A limit by its name in `workflow.limit_name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Instances that have not ended.
    OpenInstances,
    /// Size of a payload or a material, as JSON text.
    PayloadBytes,
    /// Seats of a state, and open in a round.
    Seats,
    /// Timers of a state.
    Timers,
    /// Commands of a bulk call.
    Commands,
}

impl Limit {
    const ALL: [Limit; 5] = [
        Limit::OpenInstances,
        Limit::PayloadBytes,
        Limit::Seats,
        Limit::Timers,
        Limit::Commands,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Limit::OpenInstances => "open_instances",
            Limit::PayloadBytes => "payload_bytes",
            Limit::Seats => "seats",
            Limit::Timers => "timers",
            Limit::Commands => "commands",
        }
    }

    /// The limit of this name.
    pub fn named(name: &str) -> Option<Limit> {
        Limit::ALL.into_iter().find(|limit| limit.name() == name)
    }
}

/// Refuses what is more than the tenant may have.
pub fn check(spi: &Spi, tenant: &str, limit: Limit, wanted: usize) -> Result<(), Failure> {
    match most(spi, tenant, limit)? {
        Some(most) if wanted as i64 > most => Err(exceeded(limit, most, wanted as i64).into()),
        _ => Ok(()),
    }
}

/// Refuses a payload or a material that is too large.
pub fn check_document(command: &Command<'_>, document: Option<&Jsonb>) -> Result<(), Failure> {
    let Some(document) = document else {
        return Ok(());
    };
    let (spi, tenant) = (command.spi, &command.caller.tenant);
    match most(spi, tenant, Limit::PayloadBytes)? {
        None => Ok(()),
        Some(most) => {
            let size = document.to_json()?.len() as i64;
            if size > most {
                return Err(exceeded(Limit::PayloadBytes, most, size).into());
            }
            Ok(())
        }
    }
}

/// Makes sure that one more instance may be open, to the end of the transaction. The lock comes
/// before every other one of a start: whoever waits for it holds no key that its holder may want.
pub fn reserve_instance(command: &Command<'_>) -> Result<(), Failure> {
    let (spi, tenant) = (command.spi, &command.caller.tenant);
    let Some(most) = most(spi, tenant, Limit::OpenInstances)? else {
        return Ok(());
    };
    KeyLock::new(LockKind::OpenInstances, tenant, "").take(&command.budget)?;
    let arguments = [command.tenant(), Value::Bigint(most)];
    let row = spi.one(&statements::COUNT_OPEN, &arguments);
    let open = row.map(|row| row.bigint(0)).transpose()?.unwrap_or(0);
    if open >= most {
        return Err(exceeded(Limit::OpenInstances, most, most + 1).into());
    }
    Ok(())
}

fn most(spi: &Spi, tenant: &str, limit: Limit) -> Result<Option<i64>, Failure> {
    Ok(store::limit(spi, tenant, limit.name())?)
}

fn exceeded(limit: Limit, most: i64, wanted: i64) -> Refusal {
    let message = match limit {
        Limit::OpenInstances => format!("the tenant may have {most} open instances"),
        Limit::PayloadBytes => {
            format!("a document may have {most} bytes, and this one has {wanted}")
        }
        Limit::Seats => format!("a state may have {most} seats, and this would be {wanted}"),
        Limit::Timers => format!("a state may have {most} timers, and this one has {wanted}"),
        Limit::Commands => format!("a call may have {most} commands, and this one has {wanted}"),
    };
    Refusal::new(Reason::LimitExceeded, message)
        .with("limit", limit.name())
        .with("most", most)
}
