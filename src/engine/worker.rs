//! The background worker, where the library is preloaded.
//!
//! A launcher lists the databases and, every `workflow.worker_interval`, starts a short-lived
//! process in each of them: that one does all jobs of its database and ends, so that nobody keeps a
//! database from being dropped, renamed or copied. Where the extension is not installed, or not in
//! the version of this library, it ends at once.

use std::collections::HashMap;
use std::ffi::CStr;
use std::time::{Duration, Instant};

use pgrx::pg_sys::Oid;
use serde_json::json;

use crate::engine::failure::Failure;
use crate::engine::work::rescue;
use crate::engine::{delivery, request, timer};
use crate::pg::installation::{self, AsOwner};
use crate::pg::report::{self, Report};
use crate::pg::spi::Spi;
use crate::pg::subtransaction::Caught;
use crate::pg::worker::{self, Database, Description, Process};
use crate::settings;

/// Something to be done in every database, again and again.
struct Job {
    /// As `pg_stat_activity.query` and the server log show it.
    name: &'static CStr,
    /// Not more often than this; zero: in every round.
    every: Duration,
    /// One bounded batch, in a transaction of its own, as the owner of the tables.
    run: fn(&Spi, &mut Place) -> Result<Progress, Failure>,
}

/// What there is to do. One that fails is logged, and does not keep the others from being done.
static JOBS: &[Job] = &[
    Job {
        name: c"workflow: due timers",
        every: Duration::ZERO,
        run: timer::run_next_tenant,
    },
    Job {
        name: c"workflow: work whose lease has run out",
        every: Duration::ZERO,
        run: rescue::run_next_tenant,
    },
    Job {
        name: c"workflow: events that nobody waits for",
        every: Duration::from_secs(60),
        run: delivery::remove::next_tenant,
    },
    Job {
        name: c"workflow: request keys whose time is over",
        every: Duration::from_secs(600),
        run: request::purge_next_tenant,
    },
];

/// The jobs of one process, a bit each.
type Jobs = u32;

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There may be more to do.
    More,
    /// That was all.
    Done,
}

/// Where a job goes on after a batch.
#[derive(Default)]
pub struct Place {
    /// The last tenant it has been to; empty at the beginning.
    pub tenant: String,
    /// Whether a tenant has had more to do than one batch.
    pub again: bool,
}

/// A process does no more batches after this, and the next one is started at once.
const SLICE: Duration = Duration::from_secs(2);
/// How long after an error the launcher is started anew.
const RESTART: Duration = Duration::from_secs(5);

/// Registers the launcher, if the library is being preloaded.
pub fn register() {
    if worker::can_register() {
        worker::register(&Description {
            kind: "workflow launcher",
            name: "workflow launcher",
            function: "workflow_launcher",
            restart: Some(RESTART),
            argument: 0,
            extra: 0,
        });
    }
}

/// A process at work.
struct Running {
    database: Oid,
    process: Process,
    since: Instant,
}

/// Main function of the launcher.
pub fn launch(_: u32, _: u32) {
    worker::connect(None);
    report::log("workflow launcher started");
    let mut running: Vec<Running> = Vec::new();
    let mut waiting: Vec<Database> = Vec::new();
    let mut calendar = Calendar::default();
    let mut next_round = Instant::now();
    let mut full = false;
    loop {
        let mut unfinished = Vec::new();
        running.retain(|worker| {
            let over = worker.process.is_over();
            if over && worker.since.elapsed() >= SLICE {
                unfinished.push(worker.database);
                calendar.0.remove(&worker.database);
            }
            !over
        });
        let now = Instant::now();
        let interval = settings::worker_interval();
        if !settings::worker() {
            waiting.clear();
            next_round = now;
        } else if now >= next_round || !unfinished.is_empty() {
            let new_round = now >= next_round;
            if new_round {
                next_round = now + interval;
            }
            let wanted = databases().into_iter().filter(|database| {
                (new_round || unfinished.contains(&database.oid))
                    && !running.iter().any(|worker| worker.database == database.oid)
                    && !waiting.iter().any(|known| known.oid == database.oid)
            });
            waiting.extend(wanted.collect::<Vec<_>>());
        }
        while running.len() < settings::worker_processes() && !waiting.is_empty() {
            let database = waiting.remove(0);
            let jobs = calendar.due(database.oid);
            match start(&database, jobs) {
                Some(process) => {
                    calendar.begin(database.oid, jobs);
                    full = false;
                    running.push(Running {
                        database: database.oid,
                        process,
                        since: Instant::now(),
                    });
                }
                None => {
                    if !full {
                        report::log(
                            "workflow launcher: no free background worker, see max_worker_processes",
                        );
                    }
                    full = true;
                    waiting.clear();
                }
            }
        }
        let sleep = settings::worker().then(|| {
            let left = next_round.saturating_duration_since(Instant::now());
            // Settings may have been reloaded to a shorter interval.
            left.min(interval).max(Duration::from_millis(1))
        });
        worker::wait(sleep);
        next_round = next_round.min(Instant::now() + settings::worker_interval());
    }
}

/// The databases to work in. A failure is logged, and there are none until the next round.
fn databases() -> Vec<Database> {
    let listed = worker::transaction(c"workflow: list databases", || Ok(worker::databases()));
    let listed = listed.unwrap_or_else(|caught| {
        complain(None, c"list databases", &caught);
        Vec::new()
    });
    let only = settings::worker_databases();
    listed
        .into_iter()
        .filter(|database| only.is_empty() || only.contains(&database.name))
        .collect()
}

/// When each job was last begun in each database.
#[derive(Default)]
struct Calendar(HashMap<Oid, Vec<Option<Instant>>>);

impl Calendar {
    fn due(&self, database: Oid) -> Jobs {
        let last = self.0.get(&database);
        JOBS.iter().enumerate().fold(0, |due, (i, job)| {
            let last = last.and_then(|last| last[i]);
            let is_due = last.is_none_or(|last| last.elapsed() >= job.every);
            due | Jobs::from(is_due) << i
        })
    }

    fn begin(&mut self, database: Oid, jobs: Jobs) {
        let last = self.0.entry(database);
        let last = last.or_insert_with(|| vec![None; JOBS.len()]);
        for (i, last) in last.iter_mut().enumerate() {
            if jobs >> i & 1 == 1 {
                *last = Some(Instant::now());
            }
        }
    }
}

fn start(database: &Database, jobs: Jobs) -> Option<Process> {
    Process::start(&Description {
        kind: "workflow worker",
        name: &format!("workflow worker for database {}", database.name),
        function: "workflow_worker",
        restart: None,
        argument: database.oid.to_u32(),
        extra: jobs,
    })
}

/// Main function of a process in one database.
pub fn work(database: u32, jobs: Jobs) {
    worker::connect(Some(Oid::from(database)));
    let started = Instant::now();
    let installed = worker::transaction(c"workflow: look for the extension", || {
        Ok(installation::owner(&Spi::connect(false)).is_ok())
    });
    if installed != Ok(true) {
        return;
    }
    let all = JOBS.iter().enumerate();
    for (_, job) in all.filter(|(i, _)| jobs >> i & 1 == 1) {
        let mut place = Place::default();
        loop {
            let before = place.tenant.clone();
            let done = worker::transaction(job.name, || {
                let spi = Spi::connect(false);
                let owner = installation::owner(&spi).map_err(told)?;
                let _owner = AsOwner::switch(owner);
                (job.run)(&spi, &mut place).map_err(|failure| match failure {
                    Failure::Error(report) => told(report),
                    Failure::Refused(refusal) => told(Report::from(&*refusal)),
                })
            });
            match done {
                Ok(Progress::More) if started.elapsed() < SLICE => {}
                Ok(_) => break,
                Err(caught) => {
                    complain(Some(database), job.name, &caught);
                    // One tenant's failure is not the next one's.
                    if place.tenant == before || started.elapsed() >= SLICE {
                        break;
                    }
                }
            }
        }
    }
}

fn told(report: Report) -> Caught {
    Caught {
        code: report.state.as_str().to_owned(),
        message: report.message,
    }
}

fn complain(database: Option<u32>, job: &CStr, caught: &Caught) {
    let line = json!({
        "database_oid": database,
        "job": job.to_string_lossy(),
        "code": caught.code,
        "message": caught.message,
    });
    report::log(&format!("workflow worker failed: {line}"));
}
