//! What goes wrong in finding the row to lock.

use crate::servers::{Result, Servers};
use crate::{Damage, Fault, Way};

pub static FAULTS: &[Fault] = &[Fault {
    name: "FOR UPDATE whose WHERE has no index",
    unit: "rows read that nobody asked for, to lock 10",
    wrong: Way {
        what: "WHERE reference = … FOR UPDATE, of 5000 orders",
        run: without_index,
    },
    right: Way {
        what: "wf_lock, of 2000 cases",
        run: by_key,
    },
}];

const LOCKED: u64 = 10;

/// Rows that scans of whole tables read in a transaction.
const SCANNED: &str = "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_xact_all_tables
                        WHERE schemaname IN ('public', 'workflow') AND relname IN ('orders', 'instances')";

fn without_index(servers: &Servers) -> Result<Damage> {
    let mut client = servers.connect()?;
    let mut transaction = client.transaction()?;
    for number in 1..=LOCKED {
        let reference = format!("ref-{}", number + 100);
        let found = transaction.execute(
            "SELECT FROM orders WHERE reference = $1 FOR UPDATE",
            &[&reference],
        )?;
        if found != 1 {
            return Err("the order is not there".into());
        }
    }
    let read = transaction.query_one(SCANNED, &[])?.get::<_, i64>(0) as u64;
    Ok(Damage {
        count: read.saturating_sub(LOCKED),
        of: read,
    })
}

fn by_key(servers: &Servers) -> Result<Damage> {
    let mut client = servers.connect()?;
    client.batch_execute(
        "SELECT wf_start('notes', 'many ' || n, '{}') FROM generate_series(1, 2000) n;
         ANALYZE;",
    )?;
    let rows = client.query("SELECT id FROM workflow.instances LIMIT 10", &[])?;
    // A session of its own, whose plans know how large the table is.
    let mut client = servers.connect()?;
    let mut transaction = client.transaction()?;
    for row in &rows {
        let id: uuid::Uuid = row.get(0);
        transaction.execute("SELECT wf_lock($1)", &[&id])?;
    }
    let scanned = transaction.query_one(SCANNED, &[])?.get::<_, i64>(0) as u64;
    Ok(Damage {
        count: scanned,
        of: scanned + LOCKED,
    })
}
