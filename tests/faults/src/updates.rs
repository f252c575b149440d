//! What goes wrong between reading and writing.

use std::sync::Barrier;

use postgres::Client;

use crate::servers::{Result, Servers, crowd};
use crate::{Damage, Fault, Way};

pub static FAULTS: &[Fault] = &[
    Fault {
        name: "update without the version",
        unit: "edits lost of those acknowledged",
        wrong: Way {
            what: "read, change, write back by the key",
            run: without_version,
        },
        right: Way {
            what: "wf_transition with the revision that was read",
            run: with_revision,
        },
    },
    Fault {
        name: "timestamp in place of a version",
        unit: "edits lost of those acknowledged",
        wrong: Way {
            what: "write back if changed_at, in seconds, is as it was read",
            run: with_timestamp,
        },
        right: Way {
            what: "wf_transition with the revision that was read",
            run: with_revision,
        },
    },
    Fault {
        name: "check before the lock",
        unit: "pieces sold that were not there",
        wrong: Way {
            what: "see that there is one left, lock the row, take it",
            run: check_first,
        },
        right: Way {
            what: "wf_resource_consume",
            run: consume,
        },
    },
];

const SESSIONS: usize = 8;
const ROUNDS: usize = 10;

fn fresh_document(servers: &Servers) -> Result<()> {
    servers.connect()?.batch_execute(
        "DELETE FROM document; INSERT INTO document VALUES (1, 0, clock_timestamp())",
    )?;
    Ok(())
}

/// Edits that were acknowledged and are not there.
fn lost(servers: &Servers, acknowledged: u64) -> Result<Damage> {
    let row = servers
        .connect()?
        .query_one("SELECT edits FROM document WHERE id = 1", &[])?;
    let kept = row.get::<_, i32>(0) as u64;
    Ok(Damage {
        count: acknowledged.saturating_sub(kept),
        of: acknowledged,
    })
}

/// Everybody reads before anybody writes, round by round.
fn edit(
    servers: &Servers,
    write: impl Fn(&mut Client, i32, &str) -> Result<u64> + Sync,
) -> Result<Damage> {
    fresh_document(servers)?;
    let acknowledged = crowd(servers, SESSIONS, |_, mut client, barrier: &Barrier| {
        let mut acknowledged = 0;
        for _ in 0..ROUNDS {
            barrier.wait();
            let row = client.query_one(
                "SELECT edits, changed_at::text FROM document WHERE id = 1",
                &[],
            )?;
            let (edits, changed_at): (i32, String) = (row.get(0), row.get(1));
            barrier.wait();
            acknowledged += write(&mut client, edits + 1, &changed_at)?;
        }
        Ok(acknowledged)
    })?;
    lost(servers, acknowledged.into_iter().sum())
}

fn without_version(servers: &Servers) -> Result<Damage> {
    edit(servers, |client, edits, _| {
        Ok(client.execute(
            "UPDATE document SET edits = $1, changed_at = clock_timestamp() WHERE id = 1",
            &[&edits],
        )?)
    })
}

fn with_timestamp(servers: &Servers) -> Result<Damage> {
    edit(servers, |client, edits, changed_at| {
        Ok(client.execute(
            "UPDATE document SET edits = $1, changed_at = clock_timestamp()
              WHERE id = 1 AND changed_at = $2::text::timestamptz",
            &[&edits, &changed_at],
        )?)
    })
}

fn with_revision(servers: &Servers) -> Result<Damage> {
    let case = servers.case()?;
    let acknowledged = crowd(servers, SESSIONS, |_, mut client, barrier: &Barrier| {
        let mut acknowledged = 0;
        for _ in 0..ROUNDS {
            barrier.wait();
            let row = client.query_one("SELECT revision FROM wf_get($1)", &[&case])?;
            let revision: i64 = row.get(0);
            barrier.wait();
            let row = client.query_one(
                "SELECT applied FROM wf_try_transition($1, 'OPEN', 'OPEN', $2, 1)",
                &[&case, &revision],
            )?;
            acknowledged += u64::from(row.get::<_, bool>(0));
        }
        Ok(acknowledged)
    })?;
    let acknowledged: u64 = acknowledged.into_iter().sum();
    let row = servers
        .connect()?
        .query_one("SELECT revision FROM wf_get($1)", &[&case])?;
    let kept = row.get::<_, i64>(0) as u64 - 1;
    Ok(Damage {
        count: acknowledged.abs_diff(kept),
        of: acknowledged,
    })
}

const PIECES: i32 = 3;

fn check_first(servers: &Servers) -> Result<Damage> {
    servers
        .connect()?
        .execute("INSERT INTO stock VALUES (1, $1)", &[&PIECES])?;
    let sold = crowd(servers, SESSIONS, |_, mut client, barrier: &Barrier| {
        let row = client.query_one("SELECT left_over FROM stock WHERE id = 1", &[])?;
        let enough = row.get::<_, i32>(0) > 0;
        barrier.wait();
        if !enough {
            return Ok(0);
        }
        let mut transaction = client.transaction()?;
        transaction.execute("SELECT FROM stock WHERE id = 1 FOR UPDATE", &[])?;
        transaction.execute(
            "UPDATE stock SET left_over = left_over - 1 WHERE id = 1",
            &[],
        )?;
        transaction.commit()?;
        Ok(1)
    })?;
    Ok(oversold(sold.into_iter().sum()))
}

fn consume(servers: &Servers) -> Result<Damage> {
    servers.connect()?.execute(
        "SELECT wf_resource_set('pieces', $1)",
        &[&i64::from(PIECES)],
    )?;
    let sold = crowd(servers, SESSIONS, |_, mut client, barrier: &Barrier| {
        barrier.wait();
        let row = client.query_one(
            "SELECT applied FROM wf_resource_consume('pieces', 1, on_refusal => 'return')",
            &[],
        )?;
        Ok(u64::from(row.get::<_, bool>(0)))
    })?;
    Ok(oversold(sold.into_iter().sum()))
}

fn oversold(sold: u64) -> Damage {
    Damage {
        count: sold.saturating_sub(PIECES as u64),
        of: sold,
    }
}
