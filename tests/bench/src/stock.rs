//! A hundred sessions want one stock: one that never runs out, and one that does.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, Statement};

use crate::Effort;
use crate::report::{self, Measured};
use crate::server::{Result, Server};

const SESSIONS: usize = 100;
const WARM_UP: Duration = Duration::from_millis(500);

/// The same work for peers: a balance, and a ledger.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS peer_stock (key text PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0)) WITH (fillfactor = 50);
    CREATE TABLE IF NOT EXISTS peer_moves (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL,
        quantity bigint NOT NULL, balance bigint NOT NULL, actor text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE OR REPLACE FUNCTION peer_consume(which text, who text) RETURNS bigint LANGUAGE sql AS $$
        WITH moved AS (UPDATE peer_stock SET balance = balance - 1 WHERE key = which AND balance >= 1 RETURNING balance)
        INSERT INTO peer_moves (key, quantity, balance, actor) SELECT which, -1, balance, who FROM moved RETURNING balance
    $$;";

/// A way to take one piece.
#[derive(Clone, Copy)]
enum Way {
    ClientForUpdate,
    ServerUpdate,
    Workflow,
}

const WAYS: [(Way, &str); 3] = [
    (Way::ClientForUpdate, "client FOR UPDATE, 5 statements"),
    (Way::ServerUpdate, "SQL function, ungated"),
    (Way::Workflow, "wf_resource_consume"),
];

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Sold,
    SoldOut,
    Busy,
}

struct Buyer {
    client: Client,
    way: Way,
    statements: Vec<Statement>,
}

impl Buyer {
    fn new(mut client: Client, way: Way) -> Result<Buyer> {
        let texts: &[&str] = match way {
            Way::ClientForUpdate => &[
                "SELECT balance FROM peer_stock WHERE key = 'hot' FOR UPDATE",
                "UPDATE peer_stock SET balance = balance - 1 WHERE key = 'hot'",
                "INSERT INTO peer_moves (key, quantity, balance, actor) VALUES ('hot', -1, $1, 'ann')",
            ],
            Way::ServerUpdate => &["SELECT peer_consume('hot', 'ann')"],
            Way::Workflow => &[
                "SELECT remaining FROM wf_resource_consume('hot', 1, wait_ms => 60000, actor => 'ann')",
            ],
        };
        let statements = texts.iter().map(|text| client.prepare(text));
        Ok(Buyer {
            statements: statements.collect::<std::result::Result<_, _>>()?,
            client,
            way,
        })
    }

    fn buy(&mut self) -> Result<Answer> {
        match self.way {
            Way::ClientForUpdate => {
                let mut transaction = self.client.transaction()?;
                let row = transaction.query_one(&self.statements[0], &[])?;
                let left: i64 = row.get(0);
                if left < 1 {
                    transaction.rollback()?;
                    return Ok(Answer::SoldOut);
                }
                transaction.execute(&self.statements[1], &[])?;
                transaction.execute(&self.statements[2], &[&(left - 1)])?;
                transaction.commit()?;
                Ok(Answer::Sold)
            }
            Way::ServerUpdate => {
                let row = self.client.query_one(&self.statements[0], &[])?;
                let left: Option<i64> = row.get(0);
                Ok(left.map_or(Answer::SoldOut, |_| Answer::Sold))
            }
            Way::Workflow => match self.client.query_one(&self.statements[0], &[]) {
                Ok(_) => Ok(Answer::Sold),
                Err(error) => match error.code().map(SqlState::code) {
                    Some("WF012") if says_none_left(&error) => Ok(Answer::SoldOut),
                    Some("55P03") => Ok(Answer::Busy),
                    _ => Err(error.into()),
                },
            },
        }
    }
}

/// 'Insufficient' for one piece must mean that there is none.
fn says_none_left(error: &postgres::Error) -> bool {
    let detail = error.as_db_error().and_then(|error| error.detail());
    let detail = detail.and_then(|json| serde_json::from_str::<serde_json::Value>(json).ok());
    detail.is_some_and(|detail| detail["remaining"] == 0)
}

/// Measures it.
pub fn run(server: &Server, effort: Effort) -> Result<()> {
    server.connect()?.batch_execute(TABLES)?;
    for durable in [true, false] {
        let how = if durable { "wait" } else { "do not wait" };
        println!("  enough for everybody, commits {how} for the disk");
        enough(server, effort, durable)?;
    }
    println!(
        "  1000 pieces for {SESSIONS} sessions that go on until they are told that there are none"
    );
    for (way, name) in WAYS {
        scarce(server, way, name)?;
    }
    Ok(())
}

fn fill(server: &Server, pieces: i64) -> Result<()> {
    let mut client = server.connect()?;
    client.execute("SELECT wf_resource_set('hot', $1)", &[&pieces])?;
    client.execute(
        "INSERT INTO peer_stock VALUES ('hot', $1) ON CONFLICT (key) DO UPDATE SET balance = $1",
        &[&pieces],
    )?;
    client.batch_execute("VACUUM ANALYZE workflow.resources, peer_stock")?;
    client.batch_execute("CHECKPOINT")?;
    Ok(())
}

fn enough(server: &Server, effort: Effort, durable: bool) -> Result<()> {
    fill(server, 1_000_000_000)?;
    let mut results: Vec<(String, Measured)> = WAYS
        .iter()
        .map(|(_, name)| ((*name).to_owned(), Measured::new()))
        .collect();
    for round in 0..effort.rounds {
        // Nobody is always first.
        for turn in 0..WAYS.len() {
            let place = (turn + round) % WAYS.len();
            let measured = crowd(server, WAYS[place].0, durable, effort.seconds)?;
            results[place].1.add_round(&measured);
        }
    }
    let named: Vec<_> = results.iter().map(|(name, m)| (name.clone(), m)).collect();
    report::table(&named);
    let rate = results[2].1.median_rate() / results[0].1.median_rate();
    report::verdict("throughput of client FOR UPDATE", rate, ">= 3", rate >= 3.0);
    let success = results[2].1.success();
    report::verdict("success %", success, "100", success >= 100.0);
    Ok(())
}

fn crowd(server: &Server, way: Way, durable: bool, seconds: u64) -> Result<Measured> {
    let time = Duration::from_secs(seconds);
    let sessions = together(server, way, durable, |buyer| {
        let begin = Instant::now() + WARM_UP;
        let end = begin + time;
        let mut measured = Measured::new();
        loop {
            let started = Instant::now();
            let answer = buyer.buy()?;
            let now = Instant::now();
            if now > end {
                break;
            }
            if started >= begin {
                let busy = u64::from(answer == Answer::Busy);
                measured.count(answer == Answer::Sold, busy, now - started);
            }
        }
        measured.took(time);
        Ok(measured)
    })?;
    let mut all = Measured::new();
    for session in &sessions {
        all.add_session(session);
    }
    Ok(all)
}

/// Everybody buys until there is none: what is sold is what there was.
fn scarce(server: &Server, way: Way, name: &str) -> Result<()> {
    const PIECES: u64 = 1000;
    fill(server, PIECES as i64)?;
    let started = Instant::now();
    let sessions = together(server, way, true, |buyer| {
        let (mut sold, mut busy) = (0, 0);
        loop {
            match buyer.buy()? {
                Answer::Sold => sold += 1,
                Answer::Busy => busy += 1,
                Answer::SoldOut => break,
            }
        }
        Ok((sold, busy))
    })?;
    let took = started.elapsed();
    let sold: u64 = sessions.iter().map(|(sold, _)| sold).sum();
    let busy: u64 = sessions.iter().map(|(_, busy)| busy).sum();
    println!(
        "  {name:<34} sold {sold} of {PIECES}, busy {busy}, all told {:.0} ms",
        took.as_secs_f64() * 1000.0
    );
    // One who was told 'insufficient' too early would leave a piece unsold.
    if sold != PIECES {
        return Err(format!("{name}: sold {sold} of {PIECES} pieces").into());
    }
    Ok(())
}

/// So many sessions at once, which begin together.
fn together<T: Send>(
    server: &Server,
    way: Way,
    durable: bool,
    work: impl Fn(&mut Buyer) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let buyers = (0..SESSIONS)
        .map(|_| Buyer::new(server.connect_as(durable)?, way))
        .collect::<Result<Vec<_>>>()?;
    let ready = Barrier::new(SESSIONS);
    let (ready, work) = (&ready, &work);
    thread::scope(|scope| {
        let threads: Vec<_> = buyers
            .into_iter()
            .map(|mut buyer| {
                scope.spawn(move || {
                    ready.wait();
                    work(&mut buyer)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a session panicked")?)
            .collect()
    })
}
