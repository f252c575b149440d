//! A few cases are wanted by many and most by few: ten thousand of them, by a power law.

use uuid::Uuid;

use crate::Effort;
use crate::crowd::{Choice, Crowd, take_turns};
use crate::peers::Peer;
use crate::report;
use crate::server::{Result, Server};

const CASES: usize = 10_000;
const SESSIONS: usize = 64;
const EXPONENT: f64 = 0.99;

struct PowerLaw {
    cases: Vec<Uuid>,
    /// Share of the cases up to each.
    upto: Vec<f64>,
}

impl PowerLaw {
    fn new(cases: Vec<Uuid>) -> PowerLaw {
        let mut sum = 0.0;
        let mut upto: Vec<f64> = (1..=cases.len())
            .map(|rank| {
                sum += (rank as f64).powf(-EXPONENT);
                sum
            })
            .collect();
        for share in &mut upto {
            *share /= sum;
        }
        PowerLaw { cases, upto }
    }
}

impl Choice for PowerLaw {
    fn choose(&self, drawn: f64) -> Uuid {
        let rank = self.upto.partition_point(|share| *share < drawn);
        self.cases[rank.min(self.cases.len() - 1)]
    }
}

/// Measures it.
pub fn run(server: &Server, effort: Effort) -> Result<()> {
    let choice = PowerLaw::new(server.cases("mix", CASES)?);
    let crowd = Crowd {
        sessions: SESSIONS,
        durable: true,
        choice: &choice,
    };
    let peers = ["optimistic", "pessimistic", "adaptive"].map(Peer::Workflow);
    let results = take_turns(server, effort, crowd, &peers)?;
    let named: Vec<_> = results.iter().map(|(peer, m)| (peer.name(), m)).collect();
    report::table(&named);
    let best = results[..2]
        .iter()
        .map(|(_, measured)| measured.median_rate())
        .fold(0.0, f64::max);
    let rate = results[2].1.median_rate() / best;
    report::verdict(
        "adaptive, throughput of the best fixed mode",
        rate,
        ">= 1",
        rate >= 1.0,
    );
    Ok(())
}
