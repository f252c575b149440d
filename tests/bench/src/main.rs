//! Measures the extension beside its peers: other ways to do the same work on the same server.
//!
//! `workflow-bench [--rounds N] [--seconds N] [EXPERIMENT…]`, on a server named by the usual `PG*`
//! variables, in a database of its own; `make bench` provides one that writes durably. Whatever is
//! compared is measured in one run, in rounds that take turns, and what counts are the ratios: the
//! machine may be busy with other things, but then it is so for everybody.
//!
//! An experiment is a file: it says which [`peers`] take part and what they do, lets a [`crowd`] do
//! it, and hands what was measured to the [`report`].

mod cold;
mod crowd;
mod hot;
mod mix;
mod peers;
mod report;
mod server;
mod stock;
mod work;

use std::process::ExitCode;

use server::{Result, Server};

/// How long and how often.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Length of a round of one peer, in seconds.
    pub seconds: u64,
    /// Rounds of each peer.
    pub rounds: usize,
}

type Experiment = fn(&Server, Effort) -> Result<()>;

const EXPERIMENTS: [(&str, Experiment); 5] = [
    ("hot", hot::run),
    ("cold", cold::run),
    ("mix", mix::run),
    ("stock", stock::run),
    ("work", work::run),
];

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("workflow-bench: {error}");
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

fn run(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let mut effort = Effort {
        seconds: 5,
        rounds: 3,
    };
    let mut chosen = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64> {
            let value = arguments
                .next()
                .ok_or(format!("{argument} needs a number"))?;
            Ok(value.parse()?)
        };
        match argument.as_str() {
            "--seconds" => effort.seconds = number()?.max(1),
            "--rounds" => effort.rounds = number()?.max(1) as usize,
            name => chosen.push(
                EXPERIMENTS
                    .iter()
                    .find(|(known, _)| *known == name)
                    .ok_or(format!("there is no experiment {name}"))?,
            ),
        }
    }
    if chosen.is_empty() {
        chosen.extend(&EXPERIMENTS);
    }
    let server = Server::prepare()?;
    println!("{}", server.description()?);
    for (name, experiment) in chosen {
        println!("\n{name}");
        experiment(&server, effort)?;
        server.verify()?;
    }
    Ok(())
}
