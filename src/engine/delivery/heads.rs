//! Looking for what a consumer may be handed: the heads of instances, at a cost that does not grow
//! with what waits behind them.

use std::cell::RefCell;

use uuid::Uuid;
use workflow_core::delivery::{Key, Waiting};

use crate::engine::command::Command;
use crate::pg::report::Report;
use crate::pg::spi::{Row, Rows, Statement};
use crate::pg::value::{Time, Value};
use crate::store::statements;

/// Locks up to `limit` heads. What is to be tried again goes before what is new: it is older, and its
/// attempts are counted.
pub fn lock(command: &Command<'_>, consumer: &str, limit: i32) -> Result<Vec<Waiting>, Report> {
    let after_all_new = Time(Time::BEFORE_ALL.0 + 1);
    let mut heads = Vec::new();
    for (from, to) in [
        (after_all_new, Time::now()),
        (Time::BEFORE_ALL, Time::BEFORE_ALL),
    ] {
        let room = limit - heads.len() as i32;
        if room > 0 {
            let range = Range { consumer, from, to };
            heads.extend(range.lock(command, room)?);
        }
    }
    Ok(heads)
}

/// When what is looked for is available.
struct Range<'a> {
    consumer: &'a str,
    from: Time,
    to: Time,
}

impl Range<'_> {
    /// The oldest first, as far as there are not more than some events to look at; then instance by
    /// instance, where nobody looks at what follows a head.
    fn lock(&self, command: &Command<'_>, room: i32) -> Result<Vec<Waiting>, Report> {
        let window = Value::Int(200 + 4 * room);
        let end = self.run(
            command,
            &statements::WINDOW_END,
            std::slice::from_ref(&window),
        );
        let end = end.row(0);
        let end = end.map(|row| Ok::<_, Report>((row.time(0)?, row.time(1)?)));
        let end = end.transpose()?;
        let (available, occurred) = end.unwrap_or((Time::INFINITY, Time::INFINITY));
        let until = [Value::Time(available), Value::Time(occurred)];
        let oldest = [&[Value::Int(room)], &until[..], &[window]].concat();
        let mut heads = read(&self.run(command, &statements::LOCK_HEADS, &oldest))?;
        if end.is_some() {
            let left = room - heads.len() as i32;
            heads.extend(self.by_instance(command, left, &until)?);
        }
        Ok(heads)
    }

    /// In turn: one begins where the last one ended, or the instances in front would always come first.
    fn by_instance(
        &self,
        command: &Command<'_>,
        room: i32,
        later: &[Value<'_>],
    ) -> Result<Vec<Waiting>, Report> {
        thread_local! {
            static PLACE: RefCell<Option<(String, String, Uuid)>> = const { RefCell::new(None) };
        }
        let tenant = &command.caller.tenant;
        let place = PLACE.take();
        let place = place.filter(|(of, by, _)| of == tenant && by == self.consumer);
        let place = place.map_or(Uuid::nil(), |(_, _, place)| place);
        let mut heads: Vec<Waiting> = Vec::new();
        for (from, to) in [(place, Uuid::max()), (Uuid::nil(), place)] {
            let left = room - heads.len() as i32;
            if left > 0 && from < to {
                let between = [Value::Uuid(from), Value::Uuid(to)];
                let some = [&[Value::Int(left)], later, &between[..]].concat();
                heads.extend(read(&self.run(
                    command,
                    &statements::LOCK_HEADS_BY_INSTANCE,
                    &some,
                ))?);
            }
        }
        let last = heads.last().filter(|_| heads.len() as i32 >= room);
        PLACE.set(last.map(|last| (tenant.clone(), self.consumer.to_owned(), last.key.instance)));
        Ok(heads)
    }

    fn run<'s>(
        &self,
        command: &'s Command<'_>,
        statement: &Statement,
        more: &[Value<'_>],
    ) -> Rows<'s> {
        let range = [
            command.tenant(),
            Value::Text(self.consumer),
            Value::Time(self.from),
            Value::Time(self.to),
        ];
        command.spi.run(statement, &[&range[..], more].concat())
    }
}

fn read(rows: &Rows<'_>) -> Result<Vec<Waiting>, Report> {
    rows.rows().map(|row| waiting(&row)).collect()
}

/// A row that begins with the key of an event, how often it was handed out, and whether it is claimed.
pub fn waiting(row: &Row) -> Result<Waiting, Report> {
    Ok(Waiting {
        key: Key {
            instance: row.uuid(0)?,
            revision: row.bigint(1)?,
        },
        attempt: row.int(2)?,
        lapsed: row.bool(3)?,
    })
}
