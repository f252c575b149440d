//! Machine work: workers that finish, fail, give back, prolong, are too late or are never heard of again,
//! while material changes, instances are moved away and back, and time rescues.
//!
//! Every worker notes what it was handed and what it was told, with the moments before and after each
//! call by the clock that the server shares; `worked` holds the notes of all of them against each other
//! and against the history.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use postgres::Client;
use serde_json::json;
use uuid::Uuid;

use crate::call::{connect, explain};
use crate::rng::Rng;
use crate::tables::verify;
use crate::worked::{self, Answer, Notes, Settled, Taken, Verb};

/// Their tenant.
pub const TENANT: &str = "jobs";
/// How often a job is tried.
pub const ATTEMPTS: i32 = 4;
const WORKERS: usize = 6;
/// Jobs that are not done, while there is time.
const OPEN: i64 = 40;
/// How long the queue may take to be worked off.
const DRAIN: Duration = Duration::from_secs(60);

struct Shared<'a> {
    database: &'a str,
    seed: u64,
    disturbing: AtomicBool,
    finished: AtomicBool,
    instances: Mutex<Vec<Uuid>>,
}

impl Shared<'_> {
    fn connect(&self) -> Result<Client, String> {
        let mut client = connect(Some(self.database))?;
        let settings = format!("SET workflow.tenant = '{TENANT}'; SET workflow.wait_ms = 300");
        client
            .batch_execute(&settings)
            .map_err(|error| explain(&error))?;
        Ok(client)
    }
}

/// Microseconds by the clock of this machine.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

/// Lets workers loose for so long; gives the number of checked takes.
pub fn run(database: &str, seed: u64, time: Duration) -> Result<usize, String> {
    let shared = Shared {
        database,
        seed,
        disturbing: AtomicBool::new(true),
        finished: AtomicBool::new(false),
        instances: Mutex::new(Vec::new()),
    };
    let mut control = shared.connect()?;
    let spec = json!({"id": "job", "initial": "READY", "states": {
        "READY": {
            "meta": {"retry": {"max_attempts": ATTEMPTS, "base_ms": 4, "max_ms": 20, "exhausted": "BROKEN"},
                     "on_supersede": "stay"},
            "on": {"DONE": "DONE", "HOLD": "HELD"}},
        "HELD": {"meta": {"on_supersede": "stay"}, "on": {"RESUME": "READY"}},
        "BROKEN": {"meta": {"on_supersede": "stay"}, "on": {"DROP": "DONE"}},
        "DONE": {"type": "final"}}});
    control
        .execute("SELECT wf_define($1)", &[&spec])
        .map_err(|error| explain(&error))?;
    let began = Instant::now();
    let notes = std::thread::scope(|scope| {
        let shared = &shared;
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| scope.spawn(move || work(shared, number)))
            .collect();
        let disturber = scope.spawn(move || disturb(shared));
        std::thread::sleep(time);
        shared.disturbing.store(false, Ordering::SeqCst);
        let mut failed = disturber.join().expect("the disturber panicked").err();
        if failed.is_none() {
            failed = drained(&mut control).err();
        }
        shared.finished.store(true, Ordering::SeqCst);
        let notes: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker panicked"))
            .collect();
        match failed {
            Some(error) => Err(error),
            None => notes.into_iter().collect::<Result<Vec<Notes>, String>>(),
        }
    })?;
    let mut all = Notes::default();
    for notes in notes {
        all.taken.extend(notes.taken);
        all.settled.extend(notes.settled);
    }
    let checked = worked::check(&mut control, &all)
        .map_err(|what| format!("VIOLATION, machine work: {what}\n"))?;
    verify(&mut control, Some(TENANT)).map_err(|violation| violation.what)?;
    println!(
        "machine work: {} jobs, {} takes, {} answers in {} s",
        shared.instances.lock().expect("nobody panicked").len(),
        all.taken.len(),
        all.settled.len(),
        began.elapsed().as_secs()
    );
    Ok(checked)
}

/// Waits until every job has come to an end.
fn drained(control: &mut Client) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let row = control
            .query_one(
                "SELECT count(*) FROM workflow.instances WHERE tenant_id = $1 AND state IN ('READY', 'HELD')",
                &[&TENANT],
            )
            .map_err(|error| explain(&error))?;
        let left: i64 = row.get(0);
        if left == 0 {
            return Ok(());
        }
        if began.elapsed() > DRAIN {
            return Err(format!("{left} jobs are lost: nobody is handed them"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts jobs, brings new material, moves jobs away and back, and rescues.
fn disturb(shared: &Shared<'_>) -> Result<(), String> {
    let mut rng = Rng::new(shared.seed, 7_000_000);
    let mut client = shared.connect()?;
    let mut started = 0;
    while shared.disturbing.load(Ordering::Relaxed) {
        let open: i64 = client
            .query_one(
                "SELECT count(*) FROM workflow.instances WHERE tenant_id = $1 AND NOT closed AND state <> 'BROKEN'",
                &[&TENANT],
            )
            .map_err(|error| explain(&error))?
            .get(0);
        for _ in open..OPEN {
            started += 1;
            let id: Uuid = client
                .query_one(
                    "SELECT instance_id FROM wf_start('job', $1, '{\"page\": 1}')",
                    &[&format!("job {started}")],
                )
                .map_err(|error| explain(&error))?
                .get(0);
            shared.instances.lock().expect("nobody panicked").push(id);
        }
        let recent = {
            let instances = shared.instances.lock().expect("nobody panicked");
            let from = instances.len().saturating_sub(OPEN as usize);
            instances[from + rng.below(instances.len() - from)]
        };
        let sql = match rng.weighted(&[4, 2, 2, 3]) {
            0 => {
                "SELECT count(u.*) FROM workflow.instances i JOIN workflow.applications a ON a.id = i.application_id,
                        wf_supersede_material(a.id, a.material_version, '{\"page\": 2}', on_refusal => 'return') u
                  WHERE i.id = $1"
            }
            1 => "SELECT count(*) FROM wf_send($1, 'HOLD', on_refusal => 'return')",
            2 => "SELECT count(*) FROM wf_send($1, 'RESUME', on_refusal => 'return')",
            _ => "SELECT count(*) FROM (SELECT $1::uuid) x, wf_run_due(20)",
        };
        client
            .query_one(sql, &[&recent])
            .map_err(|error| format!("{sql}: {}", explain(&error)))?;
        std::thread::sleep(Duration::from_millis(rng.below(8) as u64));
    }
    // What was moved away comes back, or it would never end.
    client
        .query(
            "SELECT FROM workflow.instances i, wf_send(i.id, 'RESUME') WHERE i.tenant_id = $1 AND i.state = 'HELD'",
            &[&TENANT],
        )
        .map_err(|error| explain(&error))?;
    Ok(())
}

fn work(shared: &Shared<'_>, number: usize) -> Result<Notes, String> {
    let mut rng = Rng::new(shared.seed, 7_100_000 + number as u64);
    let mut client = shared.connect()?;
    let mut notes = Notes::default();
    while !shared.finished.load(Ordering::Relaxed) {
        let undone = rng.chance(8);
        if undone {
            say(&mut client, "BEGIN")?;
        }
        let taken = take(&mut client, &mut rng, number)?;
        if undone {
            // As if it had never been.
            say(&mut client, "ROLLBACK")?;
            continue;
        }
        if taken.is_empty() {
            std::thread::sleep(Duration::from_millis(2 + rng.below(6) as u64));
        }
        notes.taken.extend(taken.iter().cloned());
        for job in &taken {
            if !treat(&mut client, &mut rng, job, &mut notes)? {
                client = shared.connect()?;
                break;
            }
        }
    }
    Ok(notes)
}

fn say(client: &mut Client, sql: &str) -> Result<(), String> {
    let said = client.batch_execute(sql);
    said.map_err(|error| format!("{sql}: {}", explain(&error)))
}

fn take(client: &mut Client, rng: &mut Rng, number: usize) -> Result<Vec<Taken>, String> {
    let (limit, lease_ms) = (1 + rng.below(3) as i32, 50 + rng.below(250) as i32);
    let rows = client
        .query(
            "SELECT instance_id, revision, material_version, attempt, fence,
                    (extract(epoch FROM expires_at) * 1000000)::bigint
               FROM wf_work_take('job', 'READY', 'DONE', $1, $2, $3)",
            &[&format!("worker {number}"), &limit, &lease_ms],
        )
        .map_err(|error| format!("wf_work_take: {}", explain(&error)))?;
    let after = now();
    Ok(rows
        .iter()
        .map(|row| Taken {
            instance: row.get(0),
            revision: row.get(1),
            material_version: row.get(2),
            attempt: row.get(3),
            fence: row.get(4),
            expires_at: row.get(5),
            after,
        })
        .collect())
}

/// Does something with a job; false if the worker is dead afterwards.
fn treat(
    client: &mut Client,
    rng: &mut Rng,
    job: &Taken,
    notes: &mut Notes,
) -> Result<bool, String> {
    let mut settle = |client: &mut Client, verb: Verb| -> Result<(), String> {
        notes.settled.push(call(client, job, verb)?);
        Ok(())
    };
    let late = |job: &Taken| {
        let left = job.expires_at - now();
        std::thread::sleep(Duration::from_micros(left.max(0) as u64 + 5_000));
    };
    match rng.weighted(&[50, 16, 10, 8, 6, 4, 4, 2]) {
        0 => settle(client, Verb::Finish)?,
        1 => settle(client, Verb::Fail)?,
        2 => settle(client, Verb::GiveBack)?,
        3 => {
            settle(client, Verb::Extend)?;
            settle(client, Verb::Finish)?;
        }
        4 => {
            late(job);
            let verbs = [Verb::Finish, Verb::Fail, Verb::GiveBack, Verb::Extend];
            settle(client, *rng.pick(&verbs))?;
        }
        5 => return Ok(false),
        6 => {
            // Comes to nothing, and is done again.
            say(client, "BEGIN")?;
            call(client, job, Verb::Finish)?;
            say(client, "ROLLBACK")?;
            settle(client, Verb::Finish)?;
        }
        _ => {
            settle(client, Verb::Finish)?;
            settle(client, Verb::Finish)?;
        }
    }
    Ok(true)
}

fn call(client: &mut Client, job: &Taken, verb: Verb) -> Result<Settled, String> {
    let sql = match verb {
        Verb::Finish => "wf_work_finish($1, $2, 'DONE', on_refusal => 'return')",
        Verb::Fail => "wf_work_fail($1, $2, 'it failed', on_refusal => 'return')",
        Verb::GiveBack => "wf_work_give_back($1, $2, on_refusal => 'return')",
        Verb::Extend => "wf_work_extend($1, $2, 150, on_refusal => 'return')",
    };
    let sql = format!(
        "SELECT applied, coalesce(code, ''), state, coalesce((detail ->> 'exhausted')::boolean, false),
                (extract(epoch FROM (detail ->> 'expires_at')::timestamptz) * 1000000)::bigint
           FROM {sql}"
    );
    let before = now();
    let row = client
        .query_one(&sql, &[&job.instance, &job.fence])
        .map_err(|error| format!("{sql}: {}", explain(&error)))?;
    let after = now();
    let answer = if row.get(0) {
        Answer::Applied {
            state: row.get(2),
            exhausted: row.get(3),
            expires_at: row.get(4),
        }
    } else {
        Answer::Refused(row.get(1))
    };
    Ok(Settled {
        instance: job.instance,
        fence: job.fence,
        verb,
        answer,
        before,
        after,
    })
}
