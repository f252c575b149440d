//! The fault lab: each wrong way to arbitrate, run on real servers beside the right one, and what it
//! breaks, counted.
//!
//! `workflow-faults`, on a PostgreSQL named by the usual `PG*` variables and a Redis at the socket
//! `WORKFLOW_REDIS`; `make faults` provides both. It fails if a wrong way shows no damage (then the
//! experiment shows nothing) or the right way shows any. With `UPDATE_DOCS=1` it writes what it
//! counted to `docs/faults.md`.
//!
//! Damage is counted in things lost, doubled or blocked, never in time: sessions are held at the
//! point where the fault lies until everybody is there, so the counts do not depend on how busy the
//! machine is.

mod leases;
mod lookups;
mod page;
mod queues;
mod servers;
mod updates;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use servers::{Result, Servers};

/// A run takes about 20 s.
const LONGEST: Duration = Duration::from_secs(600);

/// What went wrong in a run.
#[derive(Clone, Copy, Debug)]
pub struct Damage {
    /// How often it went wrong.
    pub count: u64,
    /// Of how many.
    pub of: u64,
}

/// One way to do the work.
pub struct Way {
    /// What is done, in a few words.
    pub what: &'static str,
    /// Does it and counts.
    pub run: fn(&Servers) -> Result<Damage>,
}

/// A wrong way beside the right one.
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// How it is often done.
    pub wrong: Way,
    /// How it is done right.
    pub right: Way,
}

/// A fault with what both ways broke.
pub struct Finding {
    /// The fault.
    pub fault: &'static Fault,
    /// Of the wrong way.
    pub wrong: Damage,
    /// Of the right way.
    pub right: Damage,
}

impl Finding {
    fn is_as_expected(&self) -> bool {
        self.wrong.count > 0 && self.right.count == 0
    }
}

static FAULTS: [&[Fault]; 4] = [
    updates::FAULTS,
    queues::FAULTS,
    lookups::FAULTS,
    leases::FAULTS,
];

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprint!("workflow-faults: {error}");
            // What the server said is the cause of a "db error".
            let mut cause = error.source();
            while let Some(error) = cause {
                eprint!(": {error}");
                cause = error.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

/// Gives the number of faults that did not come out as expected.
fn run() -> Result<usize> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // Sessions wait for each other; one that fails on the way must not keep the others for ever.
    thread::spawn(|| {
        thread::sleep(LONGEST);
        eprintln!("workflow-faults: not done after {} s", LONGEST.as_secs());
        std::process::exit(1);
    });
    let servers = Servers::prepare()?;
    println!("{}", servers.description()?);
    let mut findings = Vec::new();
    for fault in FAULTS.iter().copied().flatten() {
        if !wanted.is_empty() && !wanted.iter().any(|name| fault.name.contains(name.as_str())) {
            continue;
        }
        let finding = Finding {
            fault,
            wrong: (fault.wrong.run)(&servers)?,
            right: (fault.right.run)(&servers)?,
        };
        println!(
            "{} {:<52} wrong {:>5} of {:<5} right {:>3} of {:<5} {}",
            if finding.is_as_expected() {
                "ok    "
            } else {
                "FAILED"
            },
            fault.name,
            finding.wrong.count,
            finding.wrong.of,
            finding.right.count,
            finding.right.of,
            fault.unit
        );
        findings.push(finding);
    }
    servers.verify()?;
    let failed = findings.iter().filter(|f| !f.is_as_expected()).count();
    println!("{} passed, {failed} failed", findings.len() - failed);
    if failed == 0 && wanted.is_empty() && std::env::var_os("UPDATE_DOCS").is_some() {
        page::write(&servers.description()?, &findings)?;
    }
    Ok(failed)
}
