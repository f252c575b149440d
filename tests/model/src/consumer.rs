//! Consumers of the outbox, some of whom are killed, are slow, fail, or change their minds, while
//! writers commit, roll back and die.
//!
//! What was published is read from the history at the end, and never from the outbox. Every worker
//! notes what it was handed and what it was told, with the moments before and after each call; the
//! notes of all workers of a consumer are then held against each other by `consumed`.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use postgres::Client;
use serde_json::json;
use uuid::Uuid;

use crate::call::{connect, explain};
use crate::consumed::{self, Claim, Handed, Notes, Settled};
use crate::rng::Rng;
use crate::tables::verify;

/// Their tenant.
const TENANT: &str = "consumed";
/// The last one comes when the others are in the middle of it.
const CONSUMERS: [&str; 3] = ["mail", "index", "late"];
/// Workers of each consumer.
const WORKERS: usize = 2;
const WRITERS: usize = 2;
/// Instances that are written at the same time.
const OPEN: usize = 60;

/// How long, or how much.
pub enum Amount {
    /// Writers write for this long.
    Time(Duration),
    /// Writers write until there are so many events.
    Events(u64),
}

/// What everybody knows.
struct Shared<'a> {
    database: &'a str,
    seed: u64,
    epoch: Instant,
    /// Events that were committed, as far as the writers know.
    committed: AtomicU64,
    writing: AtomicBool,
    instances: Mutex<Vec<Uuid>>,
}

impl Shared<'_> {
    fn connect(&self, settings: &str) -> Result<Client, String> {
        let mut client = connect(Some(self.database))?;
        let settings = format!("SET workflow.tenant = '{TENANT}'; {settings}");
        say(&mut client, &settings)?;
        Ok(client)
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_micros() as u64
    }
}

fn say(client: &mut Client, sql: &str) -> Result<(), String> {
    let said = client.batch_execute(sql);
    said.map_err(|error| format!("{sql}: {}", explain(&error)))
}

/// Lets writers and consumers loose; gives the number of checked deliveries.
pub fn run(database: &str, seed: u64, amount: &Amount) -> Result<usize, String> {
    let shared = Shared {
        database,
        seed,
        epoch: Instant::now(),
        committed: AtomicU64::new(0),
        writing: AtomicBool::new(true),
        instances: Mutex::new(Vec::new()),
    };
    let mut control = prepare(&shared)?;
    let finished = AtomicBool::new(false);
    let (notes, since) = std::thread::scope(|scope| {
        let finished = &finished;
        let shared = &shared;
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| scope.spawn(move || write(shared, number as u64)))
            .collect();
        let workers: Vec<_> = (0..CONSUMERS.len() * WORKERS)
            .map(|number| scope.spawn(move || work(shared, number, finished)))
            .collect();
        let undertaker = scope.spawn(move || bury(shared, finished));
        let since = conduct(shared, &mut control, amount);
        shared.writing.store(false, Ordering::SeqCst);
        let mut failed = since.as_ref().err().cloned();
        for writer in writers {
            let written = writer.join().expect("a writer panicked");
            failed = failed.or(written.err());
        }
        // The workers go on until there is nothing left, unless something went wrong already.
        let drained = match &failed {
            None => drained(shared, &mut control),
            Some(_) => Ok(()),
        };
        finished.store(true, Ordering::SeqCst);
        let notes: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker panicked"))
            .collect();
        let skipped = undertaker.join().expect("the undertaker panicked");
        if let Some(error) = failed {
            return Err(error);
        }
        drained?;
        let mut notes = notes.into_iter().collect::<Result<Vec<Notes>, String>>()?;
        for (consumer, settled) in skipped? {
            notes[consumer * WORKERS].settled.push(settled);
        }
        Ok((notes, since?))
    })?;
    examine(&mut control, &shared, notes, since)
}

fn prepare(shared: &Shared<'_>) -> Result<Client, String> {
    let mut control = connect(Some(shared.database))?;
    // Few attempts, so that there are dead letters.
    let database = shared.database;
    say(
        &mut control,
        &format!("ALTER DATABASE {database} SET workflow.outbox_max_attempts = 4"),
    )?;
    let mut control = shared.connect("SET deadlock_timeout = '25ms'")?;
    let spec = json!({"id": "trail", "initial": "OPEN", "states": {
        "OPEN": {"on": {
            "NOTE": "OPEN",
            "HUSH": {"target": "OPEN", "meta": {"publish": false}},
            "TURN": "THERE",
            "CLOSE": "CLOSED"}},
        "THERE": {"always": {"target": "BACK"}},
        "BACK": {"always": {"target": "OPEN"}},
        "CLOSED": {"type": "final"}}});
    control
        .query("SELECT * FROM wf_define($1)", &[&spec])
        .map_err(|error| format!("wf_define: {}", explain(&error)))?;
    for consumer in &CONSUMERS[..2] {
        say(
            &mut control,
            &format!("SELECT wf_outbox_subscribe('{consumer}')"),
        )?;
    }
    Ok(control)
}

/// Waits for the end of the writing; the last consumer comes when a third is done. Gives the moment,
/// on the server's clock, from which it is to miss nothing.
fn conduct(shared: &Shared<'_>, control: &mut Client, amount: &Amount) -> Result<String, String> {
    let done = |share: f64| match amount {
        Amount::Time(time) => shared.epoch.elapsed() >= time.mul_f64(share),
        Amount::Events(events) => {
            shared.committed.load(Ordering::Relaxed) as f64 >= *events as f64 * share
        }
    };
    while !done(1.0 / 3.0) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let late = CONSUMERS[2];
    loop {
        let row = control
            .query_one(
                "SELECT applied FROM wf_outbox_subscribe($1, on_refusal => 'return')",
                &[&late],
            )
            .map_err(|error| format!("wf_outbox_subscribe: {}", explain(&error)))?;
        if row.get(0) {
            break;
        }
    }
    let since = control
        .query_one("SELECT clock_timestamp()::text", &[])
        .map_err(|error| explain(&error))?
        .get(0);
    while !done(1.0) {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(since)
}

/// Waits until every consumer has nothing left to do.
fn drained(shared: &Shared<'_>, control: &mut Client) -> Result<(), String> {
    let patience = Instant::now();
    let mut left = i64::MAX;
    let mut moved = Instant::now();
    loop {
        let now: i64 = control
            .query_one(
                "SELECT (SELECT count(*) FROM workflow.outbox_queue WHERE tenant_id = $1)
                      + (SELECT count(*) FROM workflow.deliveries WHERE tenant_id = $1)
                      + (SELECT count(*) FROM workflow.outbox_unremoved WHERE tenant_id = $1)",
                &[&TENANT],
            )
            .map_err(|error| explain(&error))?
            .get(0);
        if now == 0 {
            return Ok(());
        }
        if now < left {
            (left, moved) = (now, Instant::now());
        }
        if moved.elapsed() > Duration::from_secs(60) {
            let waited = patience.elapsed().as_secs();
            return Err(format!(
                "{left} events are left after {waited} s, and get no fewer (database {})",
                shared.database
            ));
        }
        std::thread::sleep(Duration::from_millis(if now > 100_000 { 500 } else { 20 }));
    }
}

/// Transactions of many commands: committed, rolled back in part or in whole, or left by the client's
/// death.
fn write(shared: &Shared<'_>, number: u64) -> Result<(), String> {
    let mut rng = Rng::new(shared.seed, 7_000_000 + number);
    let settings = "SET workflow.wait_ms = 100; SET deadlock_timeout = '25ms'";
    let mut client = shared.connect(settings)?;
    let mut started = 0;
    while shared.writing.load(Ordering::Relaxed) {
        say(&mut client, "BEGIN")?;
        let (mut events, mut fresh) = (0, Vec::<Uuid>::new());
        let mut broken = false;
        for _ in 0..1 + rng.below(3) {
            let kept = rng.chance(80);
            if !kept {
                say(&mut client, "SAVEPOINT here")?;
            }
            if shared.instances.lock().expect("no panic").len() + fresh.len() < OPEN && kept {
                started += 1;
                let key = format!("{number}-{started}");
                let row = client
                    .query_one(
                        "SELECT instance_id FROM wf_start('trail', $1, '{}')",
                        &[&key],
                    )
                    .map_err(|error| format!("wf_start: {}", explain(&error)))?;
                fresh.push(row.get(0));
                events += 1;
            }
            match batch(shared, &mut client, &mut rng) {
                Ok(applied) if kept => events += applied,
                Ok(_) => {}
                Err(Some(error)) => return Err(error),
                // A deadlock: the transaction is over.
                Err(None) => {
                    broken = true;
                    break;
                }
            }
            if !kept {
                say(&mut client, "ROLLBACK TO here")?;
            }
        }
        if rng.chance(10) {
            std::thread::sleep(Duration::from_millis(rng.below(20) as u64));
        }
        if broken || rng.chance(8) {
            say(&mut client, "ROLLBACK")?;
        } else if rng.chance(2) {
            client = shared.connect(settings)?;
        } else {
            say(&mut client, "COMMIT")?;
            shared.committed.fetch_add(events, Ordering::Relaxed);
            let mut instances = shared.instances.lock().expect("no panic");
            instances.extend(fresh);
        }
    }
    Ok(())
}

/// Many commands in one statement; gives how many events they published. `Err(None)`: a deadlock.
fn batch(shared: &Shared<'_>, client: &mut Client, rng: &mut Rng) -> Result<u64, Option<String>> {
    let (mut ids, mut events) = (Vec::new(), Vec::new());
    {
        let mut instances = shared.instances.lock().expect("no panic");
        for _ in 0..1 + rng.below(30) {
            if instances.is_empty() {
                break;
            }
            let place = rng.below(instances.len());
            let event = ["NOTE", "HUSH", "TURN", "CLOSE"][rng.weighted(&[82, 8, 8, 2])];
            ids.push(instances[place]);
            events.push(event);
            if event == "CLOSE" {
                instances.swap_remove(place);
            }
        }
    }
    let sent = client.query_one(
        "SELECT coalesce(sum(CASE WHEN NOT o.applied THEN 0 WHEN c.event = 'TURN' THEN 3
                                  WHEN c.event = 'HUSH' THEN 0 ELSE 1 END), 0)
           FROM unnest($1::uuid[], $2::text[]) c (instance, event)
          CROSS JOIN LATERAL wf_send(c.instance, c.event, on_refusal => 'return') o",
        &[&ids, &events],
    );
    match sent {
        Ok(row) => Ok(row.get::<_, i64>(0) as u64),
        Err(error) if error.code().is_some_and(|code| code.code() == "40P01") => Err(None),
        Err(error) => Err(Some(format!("wf_send: {}", explain(&error)))),
    }
}

/// One worker of a consumer.
fn work(shared: &Shared<'_>, number: usize, finished: &AtomicBool) -> Result<Notes, String> {
    let consumer = CONSUMERS[number / WORKERS];
    let mut rng = Rng::new(shared.seed, 8_000_000 + number as u64);
    let mut client = shared.connect("")?;
    let mut notes = Notes::default();
    while !finished.load(Ordering::Relaxed) {
        // Nobody stays slow for ever: at the end everything is to be worked off.
        let calm = !shared.writing.load(Ordering::Relaxed) && rng.chance(70);
        let manner = if calm {
            0
        } else {
            rng.weighted(&[60, 10, 8, 6, 5, 5, 6])
        };
        let limit = 1 + rng.below(if calm { 2000 } else { 200 }) as i32;
        let lease_ms = if manner == 3 { 20 } else { 20_000 };
        let in_transaction = manner >= 5;
        if in_transaction {
            say(&mut client, "BEGIN")?;
        }
        let Some(claim) = claim(shared, &mut client, consumer, limit, lease_ms)? else {
            if in_transaction {
                say(&mut client, "COMMIT")?;
            }
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        match manner {
            // Works, and acknowledges all at once.
            0 => ack(
                shared,
                &mut client,
                consumer,
                &claim,
                &claim.handed,
                &mut notes,
            )?,
            // Acknowledges some, in no order; and the rest.
            1 => {
                let (first, second): (Vec<_>, Vec<_>) =
                    claim.handed.iter().copied().partition(|_| rng.chance(50));
                ack(shared, &mut client, consumer, &claim, &first, &mut notes)?;
                ack(shared, &mut client, consumer, &claim, &second, &mut notes)?;
                // What came before its time was ignored, and now its time has come.
                ack(shared, &mut client, consumer, &claim, &first, &mut notes)?;
                give_back_rest(shared, &mut client, consumer, &claim, &mut notes)?;
            }
            // Fails at some.
            2 => {
                let (failed, done): (Vec<_>, Vec<_>) =
                    claim.handed.iter().copied().partition(|_| rng.chance(20));
                let delay_ms = rng.below(30) as i32;
                nack(
                    shared,
                    &mut client,
                    consumer,
                    &claim,
                    &failed,
                    delay_ms,
                    &mut notes,
                )?;
                ack(shared, &mut client, consumer, &claim, &done, &mut notes)?;
                give_back_rest(shared, &mut client, consumer, &claim, &mut notes)?;
            }
            // Is slow.
            3 => {
                std::thread::sleep(Duration::from_millis(rng.below(50) as u64));
                ack(
                    shared,
                    &mut client,
                    consumer,
                    &claim,
                    &claim.handed,
                    &mut notes,
                )?;
            }
            // Is killed; the claim stays until the operator ends it.
            4 => {
                client = shared.connect("")?;
                expire(shared, &mut client, &claim, &mut notes)?;
            }
            // Works in the transaction of the claim, and acknowledges in it.
            5 => {
                let mut tentative = Notes::default();
                ack(
                    shared,
                    &mut client,
                    consumer,
                    &claim,
                    &claim.handed,
                    &mut tentative,
                )?;
                std::thread::sleep(Duration::from_millis(rng.below(5) as u64));
                say(&mut client, "COMMIT")?;
                notes.add(tentative, shared.now());
            }
            // The same, and is killed or gives up: nothing of it has been.
            _ => {
                let mut tentative = Notes::default();
                ack(
                    shared,
                    &mut client,
                    consumer,
                    &claim,
                    &claim.handed,
                    &mut tentative,
                )?;
                if rng.chance(50) {
                    say(&mut client, "ROLLBACK")?;
                } else {
                    client = shared.connect("")?;
                }
                continue;
            }
        }
        notes.claims.push(claim);
    }
    Ok(notes)
}

fn claim(
    shared: &Shared<'_>,
    client: &mut Client,
    consumer: &str,
    limit: i32,
    lease_ms: i32,
) -> Result<Option<Claim>, String> {
    let before = shared.now();
    let rows = client.query(
        "SELECT id, aggregateid::uuid, revision, attempt, claim, payload ->> 'instance_id' = aggregateid
                AND (payload ->> 'revision')::bigint = revision
           FROM wf_outbox_claim($1, $2, $3, on_refusal => 'return')",
        &[&consumer, &limit, &lease_ms],
    );
    let rows = rows.map_err(|error| format!("wf_outbox_claim: {}", explain(&error)))?;
    let after = shared.now();
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let mut handed = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.get::<_, Option<bool>>(5) != Some(true) {
            return Err("the payload belongs to another event".to_owned());
        }
        handed.push(Handed {
            id: row.get(0),
            instance: row.get(1),
            revision: row.get(2),
            attempt: row.get(3),
        });
    }
    Ok(Some(Claim {
        id: first.get(4),
        before,
        after,
        until: before + lease_ms as u64 * 1000,
        handed,
    }))
}

fn settle(
    shared: &Shared<'_>,
    client: &mut Client,
    sql: &str,
    arguments: &[&(dyn postgres::types::ToSql + Sync)],
    given: &[Handed],
) -> Result<(Vec<Uuid>, u64, u64), String> {
    let before = shared.now();
    let row = client
        .query_one(sql, arguments)
        .map_err(|error| format!("{sql}: {}", explain(&error)))?;
    let after = shared.now();
    let detail: serde_json::Value = row.get(1);
    let ignored: Vec<Uuid> = serde_json::from_value(detail["ignored"].clone())
        .map_err(|error| format!("{detail}: {error}"))?;
    let ignored: std::collections::HashSet<Uuid> = ignored.into_iter().collect();
    let done: Vec<Uuid> = given
        .iter()
        .map(|handed| handed.id)
        .filter(|id| !ignored.contains(id))
        .collect();
    let told = detail["events"].as_u64() == Some(done.len() as u64)
        && row.get::<_, bool>(0) == (given.is_empty() || !done.is_empty());
    if told {
        Ok((done, before, after))
    } else {
        Err(format!("an answer that contradicts itself: {detail}"))
    }
}

fn ids(handed: &[Handed]) -> Vec<Uuid> {
    handed.iter().map(|handed| handed.id).collect()
}

fn ack(
    shared: &Shared<'_>,
    client: &mut Client,
    consumer: &str,
    claim: &Claim,
    given: &[Handed],
    notes: &mut Notes,
) -> Result<(), String> {
    let sql = "SELECT applied, detail FROM wf_outbox_ack($1, $2, $3)";
    let arguments: [&(dyn postgres::types::ToSql + Sync); 3] = [&consumer, &claim.id, &ids(given)];
    let (ids, before, after) = settle(shared, client, sql, &arguments, given)?;
    notes.settled.push(Settled {
        ids,
        before,
        after,
        given_back: false,
    });
    Ok(())
}

fn nack(
    shared: &Shared<'_>,
    client: &mut Client,
    consumer: &str,
    claim: &Claim,
    given: &[Handed],
    delay_ms: i32,
    notes: &mut Notes,
) -> Result<(), String> {
    let sql = "SELECT applied, detail FROM wf_outbox_nack($1, $2, $3, $4, 'no')";
    let arguments: [&(dyn postgres::types::ToSql + Sync); 4] =
        [&consumer, &claim.id, &ids(given), &delay_ms];
    let (ids, before, after) = settle(shared, client, sql, &arguments, given)?;
    notes.settled.push(Settled {
        ids,
        before,
        after,
        given_back: true,
    });
    Ok(())
}

/// What a failure released is not with this worker any more, and may be claimed by another one.
fn give_back_rest(
    shared: &Shared<'_>,
    client: &mut Client,
    consumer: &str,
    claim: &Claim,
    notes: &mut Notes,
) -> Result<(), String> {
    nack(shared, client, consumer, claim, &claim.handed, 0, notes)?;
    let now = shared.now();
    notes.settled.push(Settled {
        ids: ids(&claim.handed),
        before: claim.after,
        after: now,
        given_back: true,
    });
    Ok(())
}

/// The lease of a killed worker runs out, without anybody waiting for it.
fn expire(
    shared: &Shared<'_>,
    client: &mut Client,
    claim: &Claim,
    notes: &mut Notes,
) -> Result<(), String> {
    let before = shared.now();
    client
        .execute(
            "UPDATE workflow.deliveries SET available_at = clock_timestamp()
              WHERE tenant_id = $1 AND claim = $2",
            &[&TENANT, &claim.id],
        )
        .map_err(|error| explain(&error))?;
    notes.settled.push(Settled {
        ids: ids(&claim.handed),
        before,
        after: shared.now(),
        given_back: true,
    });
    Ok(())
}

/// Dead letters are skipped or requeued; gives what was skipped, by number of the consumer.
fn bury(shared: &Shared<'_>, finished: &AtomicBool) -> Result<Vec<(usize, Settled)>, String> {
    let mut rng = Rng::new(shared.seed, 9_000_000);
    let mut client = shared.connect("")?;
    let mut skipped = Vec::new();
    while !finished.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let rows = client
            .query(
                "SELECT consumer, id FROM workflow.dead_letters LIMIT 100",
                &[],
            )
            .map_err(|error| explain(&error))?;
        for row in rows {
            let (consumer, id): (String, Uuid) = (row.get(0), row.get(1));
            let skip = rng.chance(50);
            let sql = if skip {
                "SELECT applied FROM wf_outbox_skip($1, $2)"
            } else {
                "SELECT applied FROM wf_outbox_requeue($1, $2)"
            };
            let before = shared.now();
            let applied: bool = client
                .query_one(sql, &[&consumer, &vec![id]])
                .map_err(|error| format!("{sql}: {}", explain(&error)))?
                .get(0);
            let number = CONSUMERS.iter().position(|name| *name == consumer);
            if skip && applied {
                let settled = Settled {
                    ids: vec![id],
                    before,
                    after: shared.now(),
                    given_back: false,
                };
                skipped.push((number.ok_or("a dead letter of nobody")?, settled));
            }
        }
    }
    Ok(skipped)
}

/// Holds the notes against the history.
fn examine(
    control: &mut Client,
    shared: &Shared<'_>,
    mut notes: Vec<Notes>,
    since: String,
) -> Result<usize, String> {
    let rows = control
        .query(
            "SELECT instance_id, revision, at > $2::text::timestamptz
               FROM workflow.history
              WHERE tenant_id = $1 AND event IS DISTINCT FROM 'HUSH'
              ORDER BY instance_id, revision",
            &[&TENANT, &since],
        )
        .map_err(|error| explain(&error))?;
    let committed = shared.committed.load(Ordering::SeqCst);
    if committed != rows.len() as u64 {
        let what = "events were committed, and the history has";
        return Err(format!("{committed} {what} {}", rows.len()));
    }
    let mut published: HashMap<Uuid, Vec<(i64, bool)>> = HashMap::new();
    for row in &rows {
        let events = published.entry(row.get(0)).or_default();
        events.push((row.get(1), row.get(2)));
    }
    let mut checked = 0;
    let mut known = HashMap::new();
    for (number, consumer) in CONSUMERS.iter().enumerate().rev() {
        let mut all = Notes::default();
        for notes in notes.drain(number * WORKERS..) {
            all.claims.extend(notes.claims);
            all.settled.extend(notes.settled);
        }
        let late = number == 2;
        checked += consumed::check(&published, &all, late, &mut known)
            .map_err(|what| format!("VIOLATION, consumer {consumer}: {what}\n"))?;
    }
    let left = control
        .query_one(
            "SELECT count(*) FROM workflow.outbox WHERE tenant_id = $1",
            &[&TENANT],
        )
        .map_err(|error| explain(&error))?;
    if left.get::<_, i64>(0) != 0 {
        return Err("everything is acknowledged, and the outbox is not empty\n".to_owned());
    }
    verify(control, Some(TENANT)).map_err(|violation| violation.what)?;
    println!(
        "consumers: {} events of {} instances, {checked} deliveries to {} consumers in {} s",
        rows.len(),
        published.len(),
        CONSUMERS.len(),
        shared.epoch.elapsed().as_secs()
    );
    Ok(checked)
}
