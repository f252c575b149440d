//! Workers share a queue of a hundred thousand jobs: each takes the one that has waited longest and
//! finishes it, again and again. Beside it the same promises in plain SQL: `FOR UPDATE SKIP LOCKED`, a
//! lease that expires, a fence, attempts, a log of who had what, a history and an outbox.
//!
//! Commits do not wait for the disk, which would hide the difference. In the second part nothing is
//! vacuumed, and a transaction that began before stays open: what has been taken and finished piles up
//! in front of what has not.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, Statement};
use uuid::Uuid;

use crate::Effort;
use crate::report::{self, Measured};
use crate::server::{Result, Server};

const JOBS: i64 = 100_000;
const WORKERS: [usize; 3] = [1, 4, 16];
/// Jobs of the second part, and of a look at how long a take lasts.
const PILE: usize = 30_000;
const LOOK: usize = 1_000;
/// Jobs that are started in one transaction.
const BATCH: usize = 500;

const MACHINE: &str = r#"{"id": "job", "initial": "READY", "states": {
    "READY": {"meta": {"retry": {"max_attempts": 20}}, "on": {"DONE": "DONE"}},
    "DONE": {"type": "final"}}}"#;

const TABLES: &str = "
    CREATE SEQUENCE peer_fence;
    CREATE TABLE peer_job (id uuid PRIMARY KEY, name text NOT NULL, material jsonb NOT NULL, state text NOT NULL, revision bigint NOT NULL,
        material_version int NOT NULL, available_at timestamptz NOT NULL, attempt int NOT NULL DEFAULT 0, worker text, fence bigint);
    CREATE INDEX peer_job_ready ON peer_job (available_at, id) WHERE state = 'READY';
    CREATE TABLE peer_lease_log (job uuid NOT NULL, fence bigint NOT NULL, worker text NOT NULL, granted_at timestamptz NOT NULL, ended_at timestamptz,
        PRIMARY KEY (job, fence));
    CREATE TABLE peer_job_history (job uuid NOT NULL, revision bigint NOT NULL, event text NOT NULL, actor text NOT NULL, fence bigint NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (job, revision));
    CREATE TABLE peer_job_outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), job uuid NOT NULL, payload jsonb NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());";

/// A way to share the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    SkipLocked,
    Workflow,
}

const WAYS: [(Way, &str); 2] = [
    (Way::SkipLocked, "plain SQL, SKIP LOCKED"),
    (Way::Workflow, "wf_work_take, wf_work_finish"),
];

struct Worker {
    client: Client,
    take: Statement,
    finish: Statement,
}

/// A job in hand: its id and fence.
type Job = (Uuid, i64);

impl Worker {
    fn new(mut client: Client, way: Way) -> Result<Worker> {
        let (take, finish) = match way {
            Way::SkipLocked => (
                "WITH picked AS (
                    SELECT id FROM peer_job WHERE state = 'READY' AND available_at <= clock_timestamp()
                     ORDER BY available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED),
                 taken AS (
                    UPDATE peer_job j SET available_at = clock_timestamp() + '60 s', attempt = j.attempt + 1, worker = 'w', fence = nextval('peer_fence')
                      FROM picked WHERE j.id = picked.id
                    RETURNING j.id, j.fence, j.name, j.revision, j.material_version, j.material, j.attempt, j.available_at),
                 logged AS (INSERT INTO peer_lease_log (job, fence, worker, granted_at) SELECT id, fence, 'w', clock_timestamp() FROM taken)
                 SELECT id, fence, name, revision, material_version, material, attempt, available_at FROM taken",
                "WITH done AS (
                    UPDATE peer_job SET state = 'DONE', revision = revision + 1, worker = NULL
                     WHERE id = $1 AND fence = $2 AND state = 'READY' AND available_at > clock_timestamp() AND material_version = 1
                    RETURNING id, revision),
                 closed AS (UPDATE peer_lease_log l SET ended_at = clock_timestamp() FROM done WHERE l.job = done.id AND l.fence = $2),
                 told AS (INSERT INTO peer_job_outbox (job, payload) SELECT id, jsonb_build_object('revision', revision, 'state', 'DONE') FROM done)
                 INSERT INTO peer_job_history (job, revision, event, actor, fence) SELECT id, revision, 'DONE', 'w', $2 FROM done",
            ),
            Way::Workflow => (
                "SELECT instance_id, fence, business_key, revision, material_version, material, attempt, expires_at
                   FROM wf_work_take('job', 'READY', 'DONE', 'w', 1, 60000)",
                "SELECT applied FROM wf_work_finish($1, $2, 'DONE')",
            ),
        };
        Ok(Worker {
            take: client.prepare(take)?,
            finish: client.prepare(finish)?,
            client,
        })
    }

    fn take(&mut self) -> Result<Job> {
        let row = self.client.query_opt(&self.take, &[])?;
        let row = row.ok_or("the queue ran dry")?;
        Ok((row.get(0), row.get(1)))
    }

    fn finish(&mut self, (id, fence): Job) -> Result<()> {
        // A row, or one that was written.
        match self.client.execute(&self.finish, &[&id, &fence])? {
            1 => Ok(()),
            _ => Err("a job was not finished".into()),
        }
    }
}

/// Measures it.
pub fn run(server: &Server, effort: Effort) -> Result<()> {
    let mut client = server.connect()?;
    client.batch_execute(TABLES)?;
    let machine: serde_json::Value = serde_json::from_str(MACHINE)?;
    client.execute("SELECT wf_define($1)", &[&machine])?;
    for workers in WORKERS {
        fill(server, JOBS)?;
        share(server, effort, workers)?;
    }
    println!("  {PILE} jobs taken and finished by one worker, nothing vacuumed");
    fill(server, JOBS)?;
    pile(server)
}

/// So many jobs that wait, for both.
fn fill(server: &Server, jobs: i64) -> Result<()> {
    let mut client = server.connect_as(false)?;
    let waiting: i64 = client
        .query_one("SELECT count(*) FROM workflow.work_items", &[])?
        .get(0);
    // Each start holds a lock to the end of its transaction.
    for first in (waiting..jobs).step_by(BATCH) {
        let last = (first + BATCH as i64).min(jobs) - 1;
        client.query(
            "SELECT FROM generate_series($1::bigint, $2) n,
                    wf_start('job', format('job %s %s', n, clock_timestamp()), '{\"amount\": 1}')",
            &[&first, &last],
        )?;
    }
    client.execute(
        "INSERT INTO peer_job (id, name, material, state, revision, material_version, available_at)
         SELECT gen_random_uuid(), format('job %s', n), '{\"amount\": 1}', 'READY', 1, 1, clock_timestamp()
           FROM generate_series((SELECT count(*) FROM peer_job WHERE state = 'READY'), $1::bigint - 1) n",
        &[&jobs],
    )?;
    client.batch_execute("VACUUM ANALYZE")?;
    client.batch_execute("CHECKPOINT")?;
    Ok(())
}

fn share(server: &Server, effort: Effort, workers: usize) -> Result<()> {
    println!("  {JOBS} jobs, {workers} workers: a step is a take and a finish");
    let mut results = [Measured::new(), Measured::new()];
    for round in 0..effort.rounds {
        // Nobody is always first.
        for turn in 0..WAYS.len() {
            let place = (turn + round) % WAYS.len();
            let measured = together(server, WAYS[place].0, workers, effort.seconds)?;
            results[place].add_round(&measured);
        }
    }
    let named: Vec<_> = WAYS
        .iter()
        .map(|(_, name)| (*name).to_owned())
        .zip(&results)
        .collect();
    report::table(&named);
    Ok(())
}

fn together(server: &Server, way: Way, workers: usize, seconds: u64) -> Result<Measured> {
    let time = Duration::from_secs(seconds);
    let crowd = (0..workers)
        .map(|_| Worker::new(server.connect_as(false)?, way))
        .collect::<Result<Vec<_>>>()?;
    let ready = Barrier::new(workers);
    let ready = &ready;
    let sessions: Vec<Result<Measured>> = thread::scope(|scope| {
        let threads: Vec<_> = crowd
            .into_iter()
            .map(|mut worker| {
                scope.spawn(move || {
                    ready.wait();
                    let end = Instant::now() + time;
                    let mut measured = Measured::new();
                    loop {
                        let started = Instant::now();
                        let job = worker.take()?;
                        worker.finish(job)?;
                        let now = Instant::now();
                        if now > end {
                            break;
                        }
                        measured.count(true, 0, now - started);
                    }
                    measured.took(time);
                    Ok(measured)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a worker panicked")?)
            .collect()
    });
    let mut all = Measured::new();
    for session in sessions {
        all.add_session(&session?);
    }
    Ok(all)
}

/// How long a take lasts before and after many others.
fn pile(server: &Server) -> Result<()> {
    let mut admin = server.connect()?;
    let tables = "peer_job workflow.work_items workflow.instances workflow.leases";
    for table in tables.split(' ') {
        admin.batch_execute(&format!(
            "ALTER TABLE {table} SET (autovacuum_enabled = off)"
        ))?;
    }
    let mut oldest = server.connect()?;
    let mut open = oldest.build_transaction().start()?;
    open.batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1")?;
    let mut growth = Vec::new();
    for (way, name) in WAYS {
        let mut worker = Worker::new(server.connect_as(false)?, way)?;
        let (mut first, mut last) = (Measured::new(), Measured::new());
        for number in 0..PILE {
            let started = Instant::now();
            let job = worker.take()?;
            let took = started.elapsed();
            if number < LOOK {
                first.count(true, 0, took);
            } else if number >= PILE - LOOK {
                last.count(true, 0, took);
            }
            worker.finish(job)?;
        }
        println!(
            "  {name:<34} take, mean of the first {LOOK}: {:.3} ms, of the last: {:.3} ms",
            first.mean_latency(),
            last.mean_latency()
        );
        growth.push(last.mean_latency() / first.mean_latency());
    }
    open.rollback()?;
    for table in tables.split(' ') {
        admin.batch_execute(&format!("ALTER TABLE {table} RESET (autovacuum_enabled)"))?;
    }
    report::verdict("growth of a take, plain SQL", growth[0], "any", true);
    report::verdict(
        "growth of a take, wf_work_take",
        growth[1],
        "<= 1.5",
        growth[1] <= 1.5,
    );
    Ok(())
}
