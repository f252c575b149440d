//! What goes wrong with a lock that expires.
//!
//! The wrong ways take their lock in Redis as is often done: `SET key NX PX`; the right ways are
//! `wf_lease_*`. So that the counts do not depend on a clock, a lease runs out when the experiment says
//! so: in Redis its key is taken away, which is what Redis does when the time is over; in PostgreSQL its
//! times are put back until they are over.

use crate::servers::{Result, Servers};
use crate::{Damage, Fault, Way};

pub static FAULTS: &[Fault] = &[
    Fault {
        name: "release without the owner check",
        unit: "tenures that another one overlapped",
        wrong: Way {
            what: "Redis: DEL, when the work is done",
            run: release_unchecked,
        },
        right: Way {
            what: "wf_lease_release: only with the token of the tenure",
            run: release_by_token,
        },
    },
    Fault {
        name: "release in two steps",
        unit: "tenures that another one overlapped",
        wrong: Way {
            what: "Redis: GET, compare in the client, DEL",
            run: release_in_two_steps,
        },
        right: Way {
            what: "wf_lease_release: only with the token of the tenure",
            run: release_by_token,
        },
    },
    Fault {
        name: "work longer than the lease, without a fence",
        unit: "late writes that were accepted",
        wrong: Way {
            what: "acquire in Redis, work, write",
            run: late_write,
        },
        right: Way {
            what: "wf_lease_acquire, work, wf_send with the fence",
            run: fenced_write,
        },
    },
];

const ROUNDS: u64 = 50;

/// A lock in Redis, by the name of its holder.
struct Lock {
    redis: redis::Connection,
    key: String,
}

impl Lock {
    fn new(servers: &Servers, round: u64) -> Result<Lock> {
        let key = format!("lease-{}-{round}", uuid::Uuid::now_v7());
        let redis = servers.redis()?;
        Ok(Lock { redis, key })
    }

    fn acquire(&mut self, holder: &str) -> Result<bool> {
        let taken: Option<String> = redis::cmd("SET")
            .arg(&self.key)
            .arg(holder)
            .arg("NX")
            .arg("PX")
            .arg(600_000)
            .query(&mut self.redis)?;
        Ok(taken.is_some())
    }

    fn holder(&mut self) -> Result<Option<String>> {
        Ok(redis::cmd("GET").arg(&self.key).query(&mut self.redis)?)
    }

    fn delete(&mut self) -> Result<()> {
        let _: i64 = redis::cmd("DEL").arg(&self.key).query(&mut self.redis)?;
        Ok(())
    }

    /// Its time is over.
    fn expires(&mut self) -> Result<()> {
        let _: i64 = redis::cmd("PEXPIRE")
            .arg(&self.key)
            .arg(0)
            .query(&mut self.redis)?;
        Ok(())
    }

    fn must_acquire(&mut self, holder: &str) -> Result<()> {
        if self.acquire(holder)? {
            Ok(())
        } else {
            Err(format!("{holder} did not get a free lock").into())
        }
    }
}

/// A works too long; B gets the lock; A releases; and whether C then gets what B holds.
fn overlaps(
    servers: &Servers,
    release: impl Fn(&mut Lock, &mut dyn FnMut(&mut Lock) -> Result<()>) -> Result<()>,
) -> Result<Damage> {
    let mut count = 0;
    for round in 0..ROUNDS {
        let mut lock = Lock::new(servers, round)?;
        lock.must_acquire("a")?;
        release(&mut lock, &mut |lock| {
            lock.expires()?;
            lock.must_acquire("b")
        })?;
        count += u64::from(lock.acquire("c")?);
    }
    Ok(Damage { count, of: ROUNDS })
}

fn release_unchecked(servers: &Servers) -> Result<Damage> {
    overlaps(servers, |lock, meanwhile| {
        meanwhile(lock)?;
        lock.delete()
    })
}

fn release_in_two_steps(servers: &Servers) -> Result<Damage> {
    overlaps(servers, |lock, meanwhile| {
        let mine = lock.holder()?.as_deref() == Some("a");
        meanwhile(lock)?;
        if mine {
            lock.delete()?;
        }
        Ok(())
    })
}

/// A lease of the extension: its key, and who got which token and fence.
struct Lease {
    client: postgres::Client,
    key: String,
}

/// What a holder was given.
struct Tenure {
    token: uuid::Uuid,
    fence: i64,
}

impl Lease {
    fn new(servers: &Servers, round: u64) -> Result<Lease> {
        let key = format!("lease-{}-{round}", uuid::Uuid::now_v7());
        let client = servers.connect()?;
        Ok(Lease { client, key })
    }

    fn acquire(&mut self, holder: &str) -> Result<Option<Tenure>> {
        let row = self.client.query_one(
            "SELECT acquired, token, fence FROM wf_lease_acquire($1, 600000, $2)",
            &[&self.key, &holder],
        )?;
        Ok(row.get::<_, bool>(0).then(|| Tenure {
            token: row.get(1),
            fence: row.get(2),
        }))
    }

    fn must_acquire(&mut self, holder: &str) -> Result<Tenure> {
        let tenure = self.acquire(holder)?;
        tenure.ok_or_else(|| format!("{holder} did not get a free lease").into())
    }

    /// Its time is over.
    fn expires(&mut self) -> Result<()> {
        let past = "granted_at = granted_at - interval '1 hour'";
        self.client.execute(
            &format!(
                "WITH log AS (UPDATE workflow.lease_log SET {past} WHERE key = $1 AND ended_at IS NULL)
                 UPDATE workflow.leases SET {past}, renewed_at = renewed_at - interval '1 hour',
                        expires_at = expires_at - interval '1 hour', seen_at = seen_at - interval '1 hour'
                  WHERE key = $1"
            ),
            &[&self.key],
        )?;
        Ok(())
    }

    fn release(&mut self, tenure: &Tenure) -> Result<()> {
        self.client.query_one(
            "SELECT released FROM wf_lease_release($1, $2)",
            &[&self.key, &tenure.token],
        )?;
        Ok(())
    }
}

fn release_by_token(servers: &Servers) -> Result<Damage> {
    let mut count = 0;
    for round in 0..ROUNDS {
        let mut lease = Lease::new(servers, round)?;
        let late = lease.must_acquire("a")?;
        lease.expires()?;
        lease.must_acquire("b")?;
        lease.release(&late)?;
        count += u64::from(lease.acquire("c")?.is_some());
    }
    Ok(Damage { count, of: ROUNDS })
}

/// A is paused, its lease runs out, B takes over and writes; then A goes on and writes.
fn late_write(servers: &Servers) -> Result<Damage> {
    let mut client = servers.connect()?;
    client.batch_execute(
        "DELETE FROM document; INSERT INTO document VALUES (1, 0, clock_timestamp())",
    )?;
    let mut count = 0;
    for round in 0..ROUNDS {
        let mut lock = Lock::new(servers, round)?;
        lock.must_acquire("a")?;
        lock.expires()?;
        lock.must_acquire("b")?;
        let mut write = |text: u64| {
            let sql = "UPDATE document SET edits = $1 WHERE id = 1";
            client.execute(sql, &[&(text as i32)])
        };
        if write(2 * round + 2)? != 1 {
            return Err("the holder's write was refused".into());
        }
        count += write(2 * round + 1)?;
    }
    Ok(Damage { count, of: ROUNDS })
}

fn fenced_write(servers: &Servers) -> Result<Damage> {
    let case = servers.case()?;
    let mut count = 0;
    for round in 0..ROUNDS {
        let mut lease = Lease::new(servers, round)?;
        let late = lease.must_acquire("a")?;
        lease.expires()?;
        let holder = lease.must_acquire("b")?;
        let mut write = |tenure: &Tenure| {
            let row = lease.client.query_one(
                "SELECT applied FROM wf_send($1, 'NOTE', lease_key => $2, fence => $3,
                        on_refusal => 'return')",
                &[&case, &lease.key, &tenure.fence],
            )?;
            Result::Ok(row.get::<_, bool>(0))
        };
        if !write(&holder)? {
            return Err("the holder's write was refused".into());
        }
        count += u64::from(write(&late)?);
    }
    Ok(Damage { count, of: ROUNDS })
}
