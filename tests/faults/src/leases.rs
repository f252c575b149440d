//! What goes wrong with a lock that expires.
//!
//! The wrong ways take their lock in Redis as is often done: `SET key NX PX`. So that the counts do
//! not depend on a clock, a lease runs out when the experiment says so: its key is taken away, which
//! is what Redis does when the time is over.

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
            what: "Redis: compare and delete in one script",
            run: release_checked,
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
            what: "Redis: compare and delete in one script",
            run: release_checked,
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
            what: "the number of the lease is checked in the write",
            run: fenced_write,
        },
    },
];

const ROUNDS: u64 = 50;

const COMPARE_AND_DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

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

    fn release_as(&mut self, holder: &str) -> Result<()> {
        let _: i64 = redis::cmd("EVAL")
            .arg(COMPARE_AND_DELETE)
            .arg(1)
            .arg(&self.key)
            .arg(holder)
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

fn release_checked(servers: &Servers) -> Result<Damage> {
    overlaps(servers, |lock, meanwhile| {
        meanwhile(lock)?;
        lock.release_as("a")
    })
}

/// A is paused, its lease runs out, B takes over and writes; then A goes on and writes.
fn late(
    servers: &Servers,
    write: impl Fn(&mut postgres::Client, i32, i64) -> Result<u64>,
) -> Result<Damage> {
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
        // Fences rise with each tenure.
        let (a, b) = (2 * round as i64 + 1, 2 * round as i64 + 2);
        if write(&mut client, b as i32, b)? != 1 {
            return Err("the holder's write was refused".into());
        }
        count += write(&mut client, a as i32, a)?;
    }
    Ok(Damage { count, of: ROUNDS })
}

fn late_write(servers: &Servers) -> Result<Damage> {
    late(servers, |client, text, _| {
        Ok(client.execute("UPDATE document SET edits = $1 WHERE id = 1", &[&text])?)
    })
}

fn fenced_write(servers: &Servers) -> Result<Damage> {
    late(servers, |client, text, fence| {
        Ok(client.execute(
            "UPDATE document SET edits = $1, fence = $2 WHERE id = 1 AND fence <= $2",
            &[&text, &fence],
        )?)
    })
}
