//! A hundred sessions want one case.

use uuid::Uuid;

use crate::Effort;
use crate::crowd::{Choice, Crowd, take_turns};
use crate::peers::Peer;
use crate::report;
use crate::server::{Result, Server};

const SESSIONS: usize = 100;

struct One(Uuid);

impl Choice for One {
    fn choose(&self, _: f64) -> Uuid {
        self.0
    }
}

/// Measures it. What one case can do is bounded by the time of a commit, for whoever wants it holds it
/// until the commit is on disk; so it is measured without that wait, too.
pub fn run(server: &Server, effort: Effort) -> Result<()> {
    for durable in [true, false] {
        let how = if durable { "wait" } else { "do not wait" };
        println!("  commits {how} for the disk");
        measure(server, effort, durable)?;
    }
    Ok(())
}

fn measure(server: &Server, effort: Effort, durable: bool) -> Result<()> {
    let case = server.cases(if durable { "hot" } else { "hot, not durable" }, 1)?[0];
    let peers = [
        Peer::ClientForUpdate,
        Peer::ServerUpdate,
        Peer::Workflow("optimistic"),
        Peer::Workflow("pessimistic"),
        Peer::Workflow("adaptive"),
    ];
    let crowd = Crowd {
        sessions: SESSIONS,
        durable,
        choice: &One(case),
    };
    let results = take_turns(server, effort, crowd, &peers)?;
    let named: Vec<_> = results.iter().map(|(peer, m)| (peer.name(), m)).collect();
    report::table(&named);
    let (client, adaptive) = (&results[0].1, &results[4].1);
    let rate = adaptive.median_rate() / client.median_rate();
    report::verdict(
        "adaptive, throughput of client FOR UPDATE",
        rate,
        ">= 3.5",
        rate >= 3.5,
    );
    let p99 = adaptive.latency(0.99) / client.latency(0.99);
    report::verdict(
        "adaptive, p99 of client FOR UPDATE",
        p99,
        "<= 0.167",
        p99 <= 1.0 / 6.0,
    );
    let success = adaptive.success();
    report::verdict("adaptive, success %", success, "100", success >= 100.0);
    Ok(())
}
