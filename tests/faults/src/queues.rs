//! What goes wrong while many want one thing, or one keeps it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use postgres::error::SqlState;
use uuid::Uuid;

use crate::servers::{Result, Servers, crowd};
use crate::{Damage, Fault, Way};

pub static FAULTS: &[Fault] = &[
    Fault {
        name: "retry without backoff",
        unit: "attempts that changed nothing, in 200 edits",
        wrong: Way {
            what: "write back if the version is as it was read, else again at once",
            run: retry_at_once,
        },
        right: Way {
            what: "wf_send in mode pessimistic: a queue",
            run: queue,
        },
    },
    Fault {
        name: "retry without a limit",
        unit: "callers without an answer while the row is held",
        wrong: Way {
            what: "FOR UPDATE NOWAIT, again until it is had",
            run: retry_forever,
        },
        right: Way {
            what: "wf_try_transition with wait_ms",
            run: answer_busy,
        },
    },
    Fault {
        name: "lock without a timeout",
        unit: "strangers who got no connection of the pool",
        wrong: Way {
            what: "FOR UPDATE on a held row",
            run: pool_without_timeout,
        },
        right: Way {
            what: "wf_try_transition with wait_ms",
            run: pool_with_budget,
        },
    },
    Fault {
        name: "slow remote call while holding the lock",
        unit: "others refused or blocked during the call",
        wrong: Way {
            what: "lock, call, write",
            run: call_under_lock,
        },
        right: Way {
            what: "call, then wf_send with what it said",
            run: call_before,
        },
    },
    Fault {
        name: "one global key instead of one per resource",
        unit: "sessions refused that wanted something else",
        wrong: Way {
            what: "one Redis key for all cases",
            run: global_key,
        },
        right: Way {
            what: "wf_transition: the case is the key",
            run: own_key,
        },
    },
];

const EDITORS: usize = 10;
const EDITS: usize = 20;

fn retry_at_once(servers: &Servers) -> Result<Damage> {
    servers.connect()?.batch_execute(
        "DELETE FROM document; INSERT INTO document VALUES (1, 0, clock_timestamp())",
    )?;
    let wasted = crowd(servers, EDITORS, |_, mut client, barrier: &Barrier| {
        let mut wasted = 0;
        barrier.wait();
        for _ in 0..EDITS {
            loop {
                let row = client.query_one("SELECT edits FROM document WHERE id = 1", &[])?;
                let edits: i32 = row.get(0);
                // Deciding takes a moment.
                thread::sleep(Duration::from_millis(1));
                let written = client.execute(
                    "UPDATE document SET edits = edits + 1 WHERE id = 1 AND edits = $1",
                    &[&edits],
                )?;
                if written == 1 {
                    break;
                }
                wasted += 1;
            }
        }
        Ok(wasted)
    })?;
    Ok(Damage {
        count: wasted.iter().sum(),
        of: (EDITORS * EDITS) as u64 + wasted.iter().sum::<u64>(),
    })
}

fn queue(servers: &Servers) -> Result<Damage> {
    let case = servers.case()?;
    let attempts = crowd(servers, EDITORS, |_, mut client, barrier: &Barrier| {
        let mut attempts = 0;
        barrier.wait();
        for _ in 0..EDITS {
            let row = client.query_one(
                "SELECT attempts FROM wf_send($1, 'NOTE', lock_mode => 'pessimistic', wait_ms => 60000)",
                &[&case],
            )?;
            attempts += row.get::<_, i32>(0) as u64;
        }
        Ok(attempts)
    })?;
    let attempts: u64 = attempts.iter().sum();
    Ok(Damage {
        count: attempts - (EDITORS * EDITS) as u64,
        of: attempts,
    })
}

/// How long callers are watched: an answer that comes within this time is one.
const PATIENCE: Duration = Duration::from_secs(3);
const CALLERS: usize = 8;

/// Runs callers while somebody holds what they want, and counts those without an answer when
/// patience ends. `stop` then tells those that never end.
fn while_held(
    servers: &Servers,
    hold: impl FnOnce(&mut Client) -> Result<()>,
    call: impl Fn(&mut Client, &AtomicBool) -> Result<()> + Sync,
) -> Result<Damage> {
    let mut holder = servers.connect()?;
    holder.batch_execute("BEGIN")?;
    hold(&mut holder)?;
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let clients = (0..CALLERS)
        .map(|_| servers.connect())
        .collect::<Result<Vec<_>>>()?;
    thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                let (stop, answered, call) = (&stop, &answered, &call);
                scope.spawn(move || {
                    call(&mut client, stop)?;
                    answered.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                })
            })
            .collect();
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && answered.load(Ordering::SeqCst) < CALLERS as u64 {
            thread::sleep(Duration::from_millis(5));
        }
        let count = CALLERS as u64 - answered.load(Ordering::SeqCst);
        stop.store(true, Ordering::SeqCst);
        holder.batch_execute("ROLLBACK")?;
        for thread in threads {
            let ended: Result<()> = thread.join().map_err(|_| "a session panicked")?;
            ended?;
        }
        Ok(Damage {
            count,
            of: CALLERS as u64,
        })
    })
}

fn hold_row(client: &mut Client) -> Result<()> {
    client.execute("SELECT FROM orders WHERE id = 1 FOR UPDATE", &[])?;
    Ok(())
}

fn hold_case(case: Uuid) -> impl FnOnce(&mut Client) -> Result<()> {
    move |client| {
        client.execute("SELECT wf_lock($1)", &[&case])?;
        Ok(())
    }
}

fn note(client: &mut Client, case: Uuid, wait_ms: i32) -> Result<bool> {
    let row = client.query_one(
        "SELECT applied FROM wf_try_transition($1, 'OPEN', 'OPEN', 1, 1, wait_ms => $2)",
        &[&case, &wait_ms],
    )?;
    Ok(row.get(0))
}

fn retry_forever(servers: &Servers) -> Result<Damage> {
    while_held(servers, hold_row, |client, stop| {
        while !stop.load(Ordering::SeqCst) {
            match client.execute("SELECT FROM orders WHERE id = 1 FOR UPDATE NOWAIT", &[]) {
                Ok(_) => return Ok(()),
                Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    })
}

fn answer_busy(servers: &Servers) -> Result<Damage> {
    let case = servers.case()?;
    while_held(servers, hold_case(case), |client, _| {
        note(client, case, 100)?;
        Ok(())
    })
}

/// A pool of as many connections as there are callers.
struct Pool {
    free: Mutex<Vec<Client>>,
    given_back: Condvar,
}

impl Pool {
    fn new(servers: &Servers) -> Result<Pool> {
        let clients = (0..CALLERS).map(|_| servers.connect());
        Ok(Pool {
            free: Mutex::new(clients.collect::<Result<Vec<_>>>()?),
            given_back: Condvar::new(),
        })
    }

    fn take(&self, patience: Duration) -> Option<Client> {
        let free = self.free.lock().ok()?;
        let (mut free, _) = self
            .given_back
            .wait_timeout_while(free, patience, |free| free.is_empty())
            .ok()?;
        free.pop()
    }

    fn give_back(&self, client: Client) {
        if let Ok(mut free) = self.free.lock() {
            free.push(client);
            self.given_back.notify_one();
        }
    }
}

/// Callers of a held thing take all connections; then strangers want one for something else.
fn pool(
    servers: &Servers,
    hold: impl FnOnce(&mut Client) -> Result<()>,
    call: impl Fn(&mut Client) -> Result<()> + Sync,
    stranger: impl Fn(&mut Client, usize) -> Result<()> + Sync,
) -> Result<Damage> {
    let mut holder = servers.connect()?;
    holder.batch_execute("BEGIN")?;
    hold(&mut holder)?;
    let pool = Pool::new(servers)?;
    let inside = Barrier::new(CALLERS + 1);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    let client = pool.take(PATIENCE);
                    inside.wait();
                    let mut client = client.ok_or("the pool is smaller than it should be")?;
                    let result = call(&mut client);
                    pool.give_back(client);
                    result
                })
            })
            .collect();
        inside.wait();
        let strangers: Vec<_> = (0..CALLERS)
            .map(|number| {
                let (pool, stranger) = (&pool, &stranger);
                scope.spawn(move || -> Result<u64> {
                    let Some(mut client) = pool.take(PATIENCE) else {
                        return Ok(1);
                    };
                    let result = stranger(&mut client, number);
                    pool.give_back(client);
                    result.map(|()| 0)
                })
            })
            .collect();
        let mut count = 0;
        for stranger in strangers {
            let blocked: Result<u64> = stranger.join().map_err(|_| "a session panicked")?;
            count += blocked?;
        }
        holder.batch_execute("ROLLBACK")?;
        for caller in callers {
            let ended: Result<()> = caller.join().map_err(|_| "a session panicked")?;
            ended?;
        }
        Ok(Damage {
            count,
            of: CALLERS as u64,
        })
    })
}

fn pool_without_timeout(servers: &Servers) -> Result<Damage> {
    pool(
        servers,
        hold_row,
        |client| {
            client.execute("SELECT FROM orders WHERE id = 1 FOR UPDATE", &[])?;
            Ok(())
        },
        |client, number| {
            let id = number as i32 + 2;
            client.execute("SELECT FROM orders WHERE id = $1 FOR UPDATE", &[&id])?;
            Ok(())
        },
    )
}

fn pool_with_budget(servers: &Servers) -> Result<Damage> {
    let case = servers.case()?;
    let others = (0..CALLERS)
        .map(|_| servers.case())
        .collect::<Result<Vec<_>>>()?;
    pool(
        servers,
        hold_case(case),
        |client| note(client, case, 100).map(drop),
        |client, number| note(client, others[number], 100).map(drop),
    )
}

/// One works on a case and calls somebody far away, who takes as long as it takes everybody else to
/// try what they want. Gives how many of them could not do it.
fn during_call(
    servers: &Servers,
    work: impl FnOnce(&mut Client, &dyn Fn()) -> Result<()> + Send,
    other: impl Fn(&mut Client) -> Result<bool> + Sync,
) -> Result<Damage> {
    let (called, answered) = (Barrier::new(CALLERS + 1), Barrier::new(CALLERS + 1));
    let mut worker = servers.connect()?;
    let clients = (0..CALLERS)
        .map(|_| servers.connect())
        .collect::<Result<Vec<_>>>()?;
    thread::scope(|scope| {
        let (called, answered, other) = (&called, &answered, &other);
        let others: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                scope.spawn(move || {
                    called.wait();
                    let done = other(&mut client);
                    answered.wait();
                    done
                })
            })
            .collect();
        work(&mut worker, &|| {
            called.wait();
            answered.wait();
        })?;
        let mut count = 0;
        for other in others {
            let done: Result<bool> = other.join().map_err(|_| "a session panicked")?;
            count += u64::from(!done?);
        }
        Ok(Damage {
            count,
            of: CALLERS as u64,
        })
    })
}

fn call_under_lock(servers: &Servers) -> Result<Damage> {
    during_call(
        servers,
        |worker, call| {
            let mut transaction = worker.transaction()?;
            transaction.execute("SELECT FROM orders WHERE id = 1 FOR UPDATE", &[])?;
            call();
            transaction.execute("UPDATE orders SET reference = 'called' WHERE id = 1", &[])?;
            Ok(transaction.commit()?)
        },
        |client| {
            client.batch_execute("SET lock_timeout = '100ms'")?;
            match client.execute("UPDATE orders SET reference = 'noted' WHERE id = 1", &[]) {
                Ok(_) => Ok(true),
                Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(false),
                Err(error) => Err(error.into()),
            }
        },
    )
}

fn call_before(servers: &Servers) -> Result<Damage> {
    let case = servers.case()?;
    let send =
        "SELECT applied FROM wf_send($1, 'NOTE', lock_mode => 'pessimistic', wait_ms => 60000,
                                            on_refusal => 'return')";
    during_call(
        servers,
        |worker, call| {
            call();
            let row = worker.query_one(send, &[&case])?;
            if row.get::<_, bool>(0) {
                Ok(())
            } else {
                Err("what the call said was refused".into())
            }
        },
        |client| Ok(client.query_one(send, &[&case])?.get(0)),
    )
}

fn global_key(servers: &Servers) -> Result<Damage> {
    let mut connection = servers.redis()?;
    let mut refused = 0;
    let acquire = |connection: &mut redis::Connection, holder: usize| -> Result<bool> {
        let taken: Option<String> = redis::cmd("SET")
            .arg("lock")
            .arg(holder)
            .arg("NX")
            .arg("PX")
            .arg(60_000)
            .query(connection)?;
        Ok(taken.is_some())
    };
    if !acquire(&mut connection, 0)? {
        return Err("the key is taken already".into());
    }
    for stranger in 1..=CALLERS {
        refused += u64::from(!acquire(&mut servers.redis()?, stranger)?);
    }
    let _: i64 = redis::cmd("DEL").arg("lock").query(&mut connection)?;
    Ok(Damage {
        count: refused,
        of: CALLERS as u64,
    })
}

fn own_key(servers: &Servers) -> Result<Damage> {
    let held = servers.case()?;
    let others = (0..CALLERS)
        .map(|_| servers.case())
        .collect::<Result<Vec<_>>>()?;
    let mut holder = servers.connect()?;
    holder.batch_execute("BEGIN")?;
    hold_case(held)(&mut holder)?;
    let applied = crowd(servers, CALLERS, |number, mut client, barrier: &Barrier| {
        barrier.wait();
        note(&mut client, others[number], 0)
    })?;
    holder.batch_execute("ROLLBACK")?;
    Ok(Damage {
        count: applied.into_iter().filter(|applied| !applied).count() as u64,
        of: CALLERS as u64,
    })
}
