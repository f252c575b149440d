//! Events on their way to the consumers of a tenant.
//!
//! Nothing here waits for a writer, or for another consumer: what is locked, somebody else is at.
//! Whoever rests on the list of consumers shares a lock of it to the end of the transaction, if it is
//! free: while a consumer comes or goes, nothing is handed to consumers and nothing is removed.

pub mod claim;
pub mod distribute;
mod heads;
pub mod remove;
pub mod settle;
pub mod subscribe;

use uuid::Uuid;
use workflow_core::delivery::Key;
use workflow_core::refusal::Refusal;

use crate::engine::command::Command;
use crate::engine::failure::Failure;
use crate::pg::value::{Element, Value};
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::statements;

/// The lock of the list of consumers.
fn consumers(command: &Command<'_>) -> KeyLock {
    KeyLock::new(LockKind::Consumers, &command.caller.tenant, "")
}

/// WF005 unless the consumer is subscribed.
fn require(command: &Command<'_>, consumer: &str) -> Result<(), Failure> {
    let key = [command.tenant(), Value::Text(consumer)];
    if command.spi.run(&statements::IS_CONSUMER, &key).count() == 0 {
        return Err(Refusal::not_found("consumer").into());
    }
    Ok(())
}

/// Keys as two arrays of equal length.
fn arrays(keys: &[Key]) -> [Value<'static>; 2] {
    let instances = keys.iter().map(|key| Value::Uuid(key.instance));
    let revisions = keys.iter().map(|key| Value::Bigint(key.revision));
    [
        Value::Array(Element::Uuid, instances.collect()),
        Value::Array(Element::Bigint, revisions.collect()),
    ]
}

/// Their instances, each once.
fn instances(keys: &[Key]) -> Vec<Uuid> {
    let mut instances: Vec<Uuid> = keys.iter().map(|key| key.instance).collect();
    instances.sort_unstable();
    instances.dedup();
    instances
}
