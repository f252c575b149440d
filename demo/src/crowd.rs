//! A hundred people have the same page open and decide at the same moment.
//!
//! Besides the single winner this shows the manner of losing: ninety-nine explained refusals, and
//! neither a deadlock nor a serialization failure that a client library would retry by itself.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::report::{self, Report};
use crate::server::{self, Answer, DEFAULT_TENANT, Decision, Page, Result, Server};

const CONNECTIONS: usize = 100;

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut main = server.connect()?;
    let started = server::start(&mut main, DEFAULT_TENANT, "crowd")?;

    let bar = report::progress("connections with the page", CONNECTIONS as u64);
    let mut seats = Vec::new();
    for number in 0..CONNECTIONS {
        let mut client = server.connect()?;
        let page = server::open_page(&mut client, DEFAULT_TENANT, started.instance)?;
        let statement = server::prepare_transition(&mut client)?;
        let target = ["APPROVED", "REJECTED"][number % 2];
        let actor = format!("reviewer {number}");
        seats.push((client, statement, Page::of(&page)?, actor, target));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let same_page = seats
        .iter()
        .filter(|(_, _, page, _, _)| (page.revision, page.material) == (1, 1))
        .count();

    // The caller of this function holds the last place at the barrier, and the clock.
    let barrier = Barrier::new(CONNECTIONS + 1);
    let (answers, released) = thread::scope(|scope| {
        let threads: Vec<_> = seats
            .iter_mut()
            .map(|(client, statement, page, actor, target)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let answer = Decision::new(actor, page, target).send_as(client, statement);
                    (answer, Instant::now())
                })
            })
            .collect();
        let released = Instant::now();
        barrier.wait();
        let answers: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        (answers, released)
    });
    let answers = answers
        .into_iter()
        .collect::<std::result::Result<Vec<(Answer, Instant)>, _>>()
        .map_err(|_| "a connection's thread panicked")?;
    let took: Duration = answers
        .iter()
        .map(|(_, at)| at.duration_since(released))
        .max()
        .unwrap_or_default();

    let mut codes: BTreeMap<&str, usize> =
        BTreeMap::from([("applied", 0), ("WF001", 0), ("40P01", 0), ("40001", 0)]);
    for (answer, _) in &answers {
        *codes.entry(answer.code()).or_default() += 1;
    }
    let applied = codes.remove("applied").unwrap_or_default();
    let lost = codes.remove("WF001").unwrap_or_default();
    let deadlocks = codes.remove("40P01").unwrap_or_default();
    let serialization = codes.remove("40001").unwrap_or_default();
    let others: usize = codes.values().sum();
    let stored = main.query_one(
        "SELECT i.state, i.revision,
                (SELECT count(*) FROM workflow.history AS h
                  WHERE h.tenant_id = i.tenant_id AND h.instance_id = i.id
                    AND h.decision IS NOT NULL)
           FROM workflow.instances AS i WHERE i.tenant_id = $1 AND i.id = $2",
        &[&DEFAULT_TENANT, &started.instance],
    )?;
    let (state, revision, decisions): (String, i64, i64) =
        (stored.get(0), stored.get(1), stored.get(2));

    let mut report = Report::new(
        "However many decide at once: one wins, everybody else is told why, nobody has to retry.",
        ["", "found"],
    );
    report.row([&"connections", &answers.len()]);
    report.row([&"had the page of revision 1, material 1", &same_page]);
    report.row([&"applied", &applied]);
    report.row([&"WF001 stale_revision", &lost]);
    report.row([&"40P01 deadlock", &deadlocks]);
    report.row([&"40001 serialization failure", &serialization]);
    report.row([&"any other answer", &others]);
    report.row([&"decisions in history", &decisions]);
    report.row([&"revision in the end", &revision]);
    report.row([
        &"ms from release to the last answer, first command of each",
        &format!("{:.1}", took.as_secs_f64() * 1000.0),
    ]);
    for (code, count) in &codes {
        report.note(format!("Other answer: {count} × {code}."));
    }

    report.expect(
        "connections at revision 1, material 1",
        CONNECTIONS,
        same_page,
    );
    report.expect("applied", 1, applied);
    report.expect("WF001", CONNECTIONS - 1, lost);
    report.expect("40P01", 0, deadlocks);
    report.expect("40001", 0, serialization);
    report.expect("other answers", 0, others);
    report.expect("decisions in history", 1, decisions);
    report.expect("revision in the end", 2, revision);
    let told_right = answers
        .iter()
        .filter(|(answer, _)| match answer {
            Answer::Applied(told) => (&told.state, told.revision) == (&state, revision),
            Answer::Refused(_) => false,
        })
        .count();
    report.expect("winners who were told what is stored", 1, told_right);
    Ok(report)
}
