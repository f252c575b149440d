//! Consumers come and go.

use serde_json::json;
use uuid::Uuid;
use workflow_core::outcome::Outcome;

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::pg::value::{Time, Value};
use crate::store::statements;

use super::distribute::distribute;
use super::{consumers, require};

/// Instances of which events are moved in one step.
const INSTANCES: i32 = 10_000;

/// `wf_outbox_subscribe`
///
/// Alone with the list of consumers: what has been committed so far goes to those who are there, and
/// whatever is found in the queue later is for the new one as well. Who writes at this moment has
/// nothing to do with it, and is not waited for.
pub fn subscribe(
    command: &Command<'_>,
    consumer: &str,
    from_start: bool,
) -> Result<Outcome, Failure> {
    consumers(command).take(&command.budget)?;
    let key = [command.tenant(), Value::Text(consumer)];
    let known = command.spi.run(&statements::IS_CONSUMER, &key).count() > 0;
    let mut events = 0;
    if !known {
        while distribute(command, INSTANCES, None)? > 0 {}
        if from_start {
            events = command
                .spi
                .run(&statements::DELIVER_FROM_START, &key)
                .count();
        }
        let row = [
            command.tenant(),
            Value::Text(consumer),
            Value::Time(Time::now()),
        ];
        if command.spi.run(&statements::INSERT_CONSUMER, &row).count() != 1 {
            return Err(trigger_interfered("a trigger kept a consumer out"));
        }
    }
    Ok(Outcome {
        applied: true,
        replayed: known,
        attempts: 1,
        detail: Some(json!({"events": events})),
        ..Outcome::default()
    })
}

/// `wf_outbox_unsubscribe`
pub fn unsubscribe(command: &Command<'_>, consumer: &str) -> Result<Outcome, Failure> {
    consumers(command).take(&command.budget)?;
    require(command, consumer)?;
    let key = [
        command.tenant(),
        Value::Text(consumer),
        Value::Uuid(Uuid::now_v7()),
    ];
    // What nobody waits for any more is removed by the claims of those who are left.
    let forgotten = command.budget.wait(|| {
        let forgotten = command.spi.run(&statements::FORGET_DELIVERIES, &key);
        forgotten.row(0).map(|row| row.bigint(0))
    })?;
    let events = forgotten.transpose()?.unwrap_or(0);
    if command
        .spi
        .run(&statements::REMOVE_CONSUMER, &key[..2])
        .count()
        != 1
    {
        return Err(trigger_interfered("a trigger kept a consumer in"));
    }
    Ok(Outcome {
        applied: true,
        attempts: 1,
        detail: Some(json!({"events": events})),
        ..Outcome::default()
    })
}
