//! Who belongs to which tenant.

use pgrx::pg_sys::{TEXTARRAYOID as TEXTS, TEXTOID as TEXT, TIMESTAMPTZOID as TIME};

use crate::pg::direct::{Column, Fresh, Purpose, Table};
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::{Time, Value};

use super::super::Memberships;

static MEMBERS: Table = Table {
    name: c"members",
    columns: &[
        Column::new(c"member", TEXT),
        Column::new(c"tenant_id", TEXT),
        Column::new(c"roles", TEXTS),
        Column::new(c"valid_until", TIME),
    ],
    index: Some((c"members_member", 1)),
};

/// What `MEMBERSHIPS` gives.
pub fn memberships(spi: &Spi, login: &str) -> Result<Option<Memberships>, Report> {
    let Some(members) = spi.open(&MEMBERS, Purpose::Read) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    members.look_up(&Fresh::take(), &[Value::Text(login)], |row, _| {
        let valid_until = row.opt_time(3)?;
        if valid_until.is_none_or(|until| until > Time::now()) {
            found.push((row.text(1)?, row.texts(2)?));
        }
        Ok(())
    })?;
    found.sort();
    Ok(Some(found))
}
