//! What it costs to watch for contention where there is none: ten thousand cases, each wanted by
//! nobody else. The modes take turns call by call in the same session, so that whatever disturbs the
//! machine disturbs both; commits do not wait for the disk, which would hide the difference.

use std::time::{Duration, Instant};

use crate::Effort;
use crate::crowd::Random;
use crate::peers::{Peer, Session, Step};
use crate::report::{self, Measured};
use crate::server::{Result, Server};

const CASES: usize = 10_000;
const MODES: [&str; 2] = ["optimistic", "adaptive"];

/// Measures it.
pub fn run(server: &Server, effort: Effort) -> Result<()> {
    let cases = server.cases("cold", CASES)?;
    let mut sessions = Vec::<Box<dyn Session>>::new();
    for mode in MODES {
        sessions.push(Peer::Workflow(mode).session(server.connect_as(false)?)?);
    }
    let mut results = [Measured::new(), Measured::new()];
    let mut random = Random::new(1);
    let time = Duration::from_secs(effort.seconds);
    for _ in 0..effort.rounds {
        let mut round = [Measured::new(), Measured::new()];
        let end = Instant::now() + time;
        while Instant::now() < end {
            let first = usize::from(random.next() < 0.5);
            for mode in [first, 1 - first] {
                let case = cases[(random.next() * CASES as f64) as usize];
                let started = Instant::now();
                let Step::Done = sessions[mode].step(case)? else {
                    return Err("busy, though nobody else is there".into());
                };
                round[mode].count(true, 0, started.elapsed());
            }
        }
        for (all, mut one) in results.iter_mut().zip(round) {
            one.took(time);
            all.add_round(&one);
        }
    }
    let named: Vec<_> = MODES
        .iter()
        .map(|mode| Peer::Workflow(mode).name())
        .zip(&results)
        .collect();
    report::table(&named);
    let median = results[1].latency(0.5) / results[0].latency(0.5);
    report::verdict(
        "adaptive, median of optimistic",
        median,
        "<= 1.03",
        median <= 1.03,
    );
    let mean = results[1].mean_latency() / results[0].mean_latency();
    report::verdict(
        "adaptive, mean of optimistic",
        mean,
        "<= 1.03",
        mean <= 1.03,
    );
    Ok(())
}
