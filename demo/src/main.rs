//! What `make demo` runs: reviewers collide on a real server, and the program counts what happened.
//!
//! Each experiment prints what it saw and judges it by itself; the exit code is the verdict over
//! all of them, so that the demonstration is a test as well. Every number is read from the server
//! or counted from its answers. With `--races` it also runs those that show less and test more.

mod collide;
mod crowd;
mod interruption;
mod key_reuse;
mod opposite_order;
mod options;
mod race;
mod report;
mod same_decision;
mod same_request;
mod server;
mod sessions;
mod stale_page;
mod stored;
mod tenants;
mod verify;

use std::process::ExitCode;
use std::time::Instant;

use options::Options;
use report::Report;
use server::{Result, Server};

type Experiment<'a> = (&'static str, &'a dyn Fn(&Server) -> Result<Report>);

fn main() -> ExitCode {
    let begun = Instant::now();
    let options = match Options::given() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("workflow-demo: {error}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    let race = |server: &Server| race::run(server, options.rounds);
    let mut experiments: Vec<Experiment> = vec![
        ("Opposite decisions at the same moment", &race),
        ("An old page after new material", &stale_page::run),
        ("A failure in the middle leaves nothing", &interruption::run),
        ("Two tenants with one business key", &tenants::run),
        ("100 connections on one instance", &crowd::run),
    ];
    if options.races {
        experiments.extend::<[Experiment; 5]>([
            ("Equal decisions at the same moment", &same_decision::run),
            ("64 sessions on one instance, repeated", &sessions::run),
            ("64 sessions send one request", &same_request::run),
            ("One request key for two commands", &key_reuse::run),
            ("Many commands in opposite order", &opposite_order::run),
        ]);
    }
    experiments.push(("What is stored agrees with itself", &verify::run));

    let server = match Server::prepare() {
        Ok(server) => server,
        Err(error) => {
            eprintln!("workflow-demo: {}", server::explain(error.as_ref()));
            return ExitCode::FAILURE;
        }
    };
    println!("{}", server.banner());
    let mut failed = 0;
    for (number, (title, run)) in (1..).zip(&experiments) {
        report::heading(number, title);
        let passed = match run(&server) {
            Ok(report) => report.print(),
            Err(error) => report::broke_off(error.as_ref()),
        };
        failed += u32::from(!passed);
    }
    report::verdict(failed, experiments.len(), begun.elapsed());
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
