//! What `make demo` runs: reviewers collide on a real server, and the program counts what happened.
//!
//! Each experiment prints what it saw and judges it by itself; the exit code is the verdict over
//! all of them, so that the demonstration is a test as well. Every number is read from the server
//! or counted from its answers.

mod crowd;
mod interruption;
mod race;
mod report;
mod server;
mod stale_page;
mod tenants;
mod verify;

use std::process::ExitCode;
use std::time::Instant;

use report::Report;
use server::{Result, Server};

type Experiment = (&'static str, fn(&Server) -> Result<Report>);

const EXPERIMENTS: [Experiment; 6] = [
    ("Opposite decisions at the same moment", race::run),
    ("An old page after new material", stale_page::run),
    ("A failure in the middle leaves nothing", interruption::run),
    ("Two tenants with one business key", tenants::run),
    ("100 connections on one instance", crowd::run),
    ("What is stored agrees with itself", verify::run),
];

fn main() -> ExitCode {
    let begun = Instant::now();
    let server = match Server::prepare() {
        Ok(server) => server,
        Err(error) => {
            eprintln!("workflow-demo: {}", server::explain(error.as_ref()));
            return ExitCode::FAILURE;
        }
    };
    println!("{}", server.banner());
    let mut failed = 0;
    for (number, (title, run)) in (1..).zip(EXPERIMENTS) {
        report::heading(number, title);
        let passed = match run(&server) {
            Ok(report) => report.print(),
            Err(error) => report::broke_off(error.as_ref()),
        };
        failed += u32::from(!passed);
    }
    report::verdict(failed, EXPERIMENTS.len(), begun.elapsed());
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
