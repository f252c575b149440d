//! From the queue to the deliveries of each consumer.

use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::pg::report::Report;
use crate::pg::value::Value;
use crate::store::statements;

/// Events of one instance that are moved in one step; the rest follows in the next.
const EVENTS_OF_INSTANCE: i32 = 200;

/// Moves the first events of up to `limit` instances to the consumers, of whom there may be none;
/// gives the number of events. The list of consumers must not change meanwhile.
///
/// A snapshot that sees a revision sees those before it, and the head of an instance in the queue is
/// locked before anything behind it is touched: so what moves is the front, and in order.
///
/// For one consumer, what is moved are new heads of its own. The others get the events as well.
pub fn distribute(
    command: &Command<'_>,
    limit: i32,
    consumer: Option<&str>,
) -> Result<i64, Failure> {
    let heads = [
        command.tenant(),
        Value::Int(limit),
        Value::optional(consumer, Value::Text),
    ];
    let heads = command.spi.run(&statements::LOCK_QUEUE_HEADS, &heads);
    let instances = heads.rows().map(|row| row.uuid(0));
    let instances = instances.collect::<Result<Vec<_>, Report>>()?;
    if instances.is_empty() {
        return Ok(0);
    }
    let moved = [
        command.tenant(),
        Value::Uuids(&instances),
        Value::Int(EVENTS_OF_INSTANCE),
    ];
    let Some(moved) = command.spi.one(&statements::DISTRIBUTE, &moved) else {
        return Ok(0);
    };
    let events = moved.bigint(0)?;
    if events == 0 || !moved.bool(1)? {
        return Err(trigger_interfered(
            "a trigger kept an event from a consumer",
        ));
    }
    Ok(events)
}
