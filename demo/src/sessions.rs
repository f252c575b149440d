//! Many sessions decide on one instance at the same moment, one instance after the other.
//!
//! What [`crate::crowd`] shows once, repeated so that rare outcomes have a chance to happen.

use std::collections::BTreeMap;

use crate::collide::{average, collide};
use crate::report::{self, Report};
use crate::server::{self, Answer, Decision, Result, Server};
use crate::stored::Stored;

const SESSIONS: usize = 64;
const REPETITIONS: usize = 20;

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut clients = server.connect_all::<SESSIONS>()?;
    let pages = server::start_many(&mut clients[0], "sessions", REPETITIONS)?;
    let statements = clients
        .iter_mut()
        .map(server::prepare_transition)
        .collect::<Result<Vec<_>>>()?;
    let targets = ["APPROVED", "REJECTED"];
    let bar = report::progress("64 sessions", REPETITIONS as u64);
    let rounds = collide(&mut clients, REPETITIONS, &bar, |side, round, client| {
        let actor = format!("reviewer {side}");
        Decision::new(&actor, &pages[round], targets[side % 2]).send_as(client, &statements[side])
    })?;

    let mut codes = BTreeMap::from([("applied", 0), ("WF001", 0), ("40P01", 0), ("40001", 0)]);
    let (mut collided, mut one, mut stored) = (0, 0, 0);
    for (page, round) in pages.iter().zip(&rounds) {
        collided += usize::from(round.together > 1);
        for answer in &round.answers {
            *codes.entry(answer.code()).or_default() += 1;
        }
        let count = |code| round.answers.iter().filter(|a| a.code() == code).count();
        one += usize::from((count("applied"), count("WF001")) == (1, SESSIONS - 1));
        let state = round.answers.iter().find_map(|answer| match answer {
            Answer::Applied(position) => Some(position.state.as_str()),
            Answer::Refused(_) => None,
        });
        let found = Stored::read(&mut clients[0], page)?;
        stored += usize::from(state.is_some_and(|state| found.decided_once(state)));
    }

    let mut report = Report::new(
        "One applied and 63 explained refusals, each time; never a deadlock or a failed snapshot.",
        ["", "found"],
    );
    report.row([&"repetitions", &REPETITIONS]);
    report.row([&"others had begun before the first answer", &collided]);
    report.row([&"sessions that had, on average", &average(&rounds)]);
    report.row([&"one applied, all others WF001", &one]);
    report.row([&"the winner's decision stored, once", &stored]);
    for (code, count) in &codes {
        report.row([&format!("answers: {code}"), count]);
    }
    report.expect("one applied, all others WF001", REPETITIONS, one);
    report.expect("the winner's decision stored, once", REPETITIONS, stored);
    report.expect_at_least("repetitions that collide", REPETITIONS / 4, collided);
    for (code, expected) in [
        ("applied", REPETITIONS),
        ("WF001", REPETITIONS * (SESSIONS - 1)),
        ("40P01", 0),
        ("40001", 0),
    ] {
        report.expect(code, expected, codes.remove(code).unwrap_or_default());
    }
    report.expect("other answers", 0, codes.values().sum());
    Ok(report)
}
