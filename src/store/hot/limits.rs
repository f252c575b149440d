//! What a tenant may have at most.

use pgrx::pg_sys::{INT8OID as BIGINT, TEXTOID as TEXT};

use crate::pg::direct::{Column, Fresh, Purpose, Table};
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::Value;

static LIMITS: Table = Table {
    name: c"limits",
    columns: &[
        Column::new(c"tenant_id", TEXT),
        Column::of_enum(c"name", "limit_name"),
        Column::new(c"value", BIGINT),
    ],
    index: Some((c"limits_pkey", 1)),
};

/// What `READ_LIMIT` gives.
pub fn find(spi: &Spi, tenant: &str, name: &str) -> Result<Option<Option<i64>>, Report> {
    let Some(limits) = spi.open(&LIMITS, Purpose::Read) else {
        return Ok(None);
    };
    let snapshot = Fresh::take();
    for owner in [tenant, "*"] {
        let mut found = None;
        limits.look_up(&snapshot, &[Value::Text(owner)], |row, _| {
            if row.text(1)? == name {
                found = Some(row.bigint(2)?);
            }
            Ok(())
        })?;
        if found.is_some() {
            return Ok(Some(found));
        }
    }
    Ok(Some(None))
}
