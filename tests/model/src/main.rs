//! A model checker: many sessions send random commands about few instances, and everything the
//! server answers and keeps is held against an oracle written from the contract alone.
//!
//! A run is a series of rounds. Each has two tenants of its own, so that afterwards every row of
//! these tenants can be compared with the model: what no committed command explains is a violation,
//! and so is what is missing. Sessions are threads; what each of them draws comes from the printed
//! seed, how they meet is left to the scheduler. A part of the time goes to the consumers of the
//! outbox, `consumer`, another one to the holders of leases, `leases`, and to machine work, `jobs`.

mod applications;
mod board;
mod call;
mod check;
mod command;
mod consumed;
mod consumer;
mod directory;
mod faults;
mod generate;
mod hands;
mod human;
mod instance;
mod jobs;
mod leases;
mod library;
mod locks;
mod machine;
mod machines;
mod many;
mod model;
mod oracle;
mod over;
mod pages;
mod panel;
mod path;
mod record;
mod refusals;
mod report;
mod rng;
mod round;
mod run;
mod seats;
mod session;
mod tables;
mod task;
mod tenures;
mod undone;
mod view;
mod votes;
mod work;
mod worked;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the command line says.
pub struct Options {
    /// How long rounds are begun.
    pub seconds: u64,
    /// What the sessions draw from.
    pub seed: u64,
    /// How many there are.
    pub sessions: usize,
    /// Instead of all else: consumers, until so many events were written.
    pub events: Option<u64>,
    /// Instead of all else: holders of leases, for so many seconds.
    pub leases: Option<u64>,
}

fn options() -> Result<Options, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut options = Options {
        seconds: 120,
        seed: now.map_or(1, |now| now.as_nanos() as u64 % 1_000_000_000),
        sessions: 8,
        events: None,
        leases: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next();
        let number = value.as_deref().and_then(|value| value.parse::<u64>().ok());
        let number = number.ok_or_else(|| format!("{word} needs a number"));
        match word.as_str() {
            "--seconds" => options.seconds = number?,
            "--seed" => options.seed = number?,
            "--events" => options.events = Some(number?),
            "--leases" => options.leases = Some(number?),
            "--sessions" => options.sessions = number?.max(1) as usize,
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("workflow-model: {error}");
            eprintln!(
                "usage: workflow-model [--seconds N] [--seed S] [--sessions N] [--events N] [--leases N]"
            );
            return ExitCode::from(2);
        }
    };
    println!(
        "seed {}, {} sessions, {} s",
        options.seed, options.sessions, options.seconds
    );
    match run::run(&options) {
        Ok(passed) => {
            println!("{passed} passed, 0 failed");
            ExitCode::SUCCESS
        }
        Err((passed, error)) => {
            println!("{error}");
            println!("seed {}", options.seed);
            println!("{passed} passed, 1 failed");
            ExitCode::FAILURE
        }
    }
}
