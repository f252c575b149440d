//! What the holder of a lease does with it: renew and release. Only the token says who that is.

use uuid::Uuid;
use workflow_core::lease::Standing;

use super::{Key, Lease, release, renew};
use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::pg::value::Time;
use crate::store::statements;

/// A lease that was renewed.
pub struct Renewed {
    /// Its number, as before.
    pub fence: i64,
    /// When it ends.
    pub expires_at: Time,
}

/// Renews the tenure of this token, or says why not.
pub fn renew_by_token(
    command: &Command<'_>,
    key: Key<'_>,
    token: Uuid,
    ttl_ms: i32,
) -> Result<Result<Renewed, &'static str>, Failure> {
    match own(command, key, token)? {
        Err(reason) => Ok(Err(reason)),
        Ok(lease) => {
            let expires_at = renew(command.spi, key, &lease, ttl_ms)?;
            Ok(Ok(Renewed {
                fence: lease.fence,
                expires_at,
            }))
        }
    }
}

/// Releases the tenure of this token, or says why not.
pub fn release_by_token(
    command: &Command<'_>,
    key: Key<'_>,
    token: Uuid,
) -> Result<Result<(), &'static str>, Failure> {
    match own(command, key, token)? {
        Err(reason) => Ok(Err(reason)),
        Ok(lease) => release(command.spi, key, &lease).map(Ok),
    }
}

/// The row, locked, if this token's tenure stands.
fn own(
    command: &Command<'_>,
    key: Key<'_>,
    token: Uuid,
) -> Result<Result<Lease, &'static str>, Failure> {
    // Nothing is locked for a token that is not the key's.
    if let Err(reason) = judge(key.read(command.spi)?, token) {
        return Ok(Err(reason));
    }
    lock(command, key)?;
    Ok(judge(key.read(command.spi)?, token))
}

fn judge(lease: Option<Lease>, token: Uuid) -> Result<Lease, &'static str> {
    let lease = lease.ok_or("unknown")?;
    if lease.token != token {
        return Err("not_holder");
    }
    match lease.standing() {
        Standing::Held(_) => Ok(lease),
        over => Err(over.as_str()),
    }
}

/// Takes the row of a key whose fence stays, within the budget.
pub fn lock(command: &Command<'_>, key: Key<'_>) -> Result<(), Failure> {
    if !key.lock(command.spi, &statements::TRY_LOCK_TENURE) {
        let spi = command.spi;
        command
            .budget
            .wait(|| key.lock(spi, &statements::LOCK_TENURE))?;
    }
    Ok(())
}
