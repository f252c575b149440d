//! Both sides decide the same at the same moment: two people, or one person in two tabs.
//!
//! Agreeing does not make two decisions of one: the second is refused as any other. But a person
//! who merely sent twice must be able to tell that from having lost to somebody else.

use postgres::Client;
use serde_json::Value;

use crate::collide::collide;
use crate::report::{self, Report};
use crate::server::{self, Answer, Decision, Result, Server};
use crate::stored::Stored;

const ROUNDS: usize = 100;

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut clients = server.connect_all()?;
    let people = approve(&mut clients, ["anna", "boris"])?;
    let tabs = approve(&mut clients, ["anna", "anna"])?;

    let mut report = Report::new(
        "Of two equal decisions one stands; only its own author is told that it was the same one.",
        ["", "two people", "two tabs of one"],
    );
    report.row([&"rounds", &ROUNDS, &ROUNDS]);
    report.row([&"both under way at once", &people.together, &tabs.together]);
    report.row([&"one applied, one WF001", &people.one, &tabs.one]);
    report.row([&"told: the same command", &people.same, &tabs.same]);
    report.row([&"told: another's command", &people.other, &tabs.other]);
    report.row([&"one decision stored", &people.stored, &tabs.stored]);
    for (who, tally) in [("two people", &people), ("two tabs", &tabs)] {
        let what = |what| format!("{who}: {what}");
        report.expect(&what("one applied, one WF001"), ROUNDS, tally.one);
        report.expect(&what("one decision stored"), ROUNDS, tally.stored);
        report.expect_at_least(&what("rounds that collide"), ROUNDS / 4, tally.together);
        for codes in tally.unexpected.iter().take(5) {
            report.note(format!("Of {who}: {codes}."));
        }
    }
    report.expect("two people: the same command", 0, people.same);
    report.expect("two people: another's command", ROUNDS, people.other);
    report.expect("two tabs: the same command", ROUNDS, tabs.same);
    report.expect("two tabs: another's command", 0, tabs.other);
    Ok(report)
}

#[derive(Default)]
struct Tally {
    together: usize,
    one: usize,
    /// Losers whose refusal says `winner.same_command`, and whose refusal denies it.
    same: usize,
    other: usize,
    stored: usize,
    /// Other answers than one applied and one WF001.
    unexpected: Vec<String>,
}

fn approve(clients: &mut [Client; 2], actors: [&str; 2]) -> Result<Tally> {
    let name = format!("same decision of {} and {}", actors[0], actors[1]);
    let pages = server::start_many(&mut clients[0], &name, ROUNDS)?;
    let statements = [
        server::prepare_transition(&mut clients[0])?,
        server::prepare_transition(&mut clients[1])?,
    ];
    let bar = report::progress("equal decisions", ROUNDS as u64);
    let rounds = collide(clients, ROUNDS, &bar, |side, round, client| {
        Decision::new(actors[side], &pages[round], "APPROVED").send_as(client, &statements[side])
    })?;

    let mut tally = Tally::default();
    for (page, round) in pages.iter().zip(rounds) {
        tally.together += usize::from(round.together == 2);
        match round.answers.each_ref().map(Answer::code) {
            ["applied", "WF001"] | ["WF001", "applied"] => tally.one += 1,
            codes => tally.unexpected.push(codes.join(" and ")),
        }
        for refusal in round.answers.iter().filter_map(Answer::refusal) {
            let detail: Value = serde_json::from_str(&refusal.detail).unwrap_or_default();
            match detail.pointer("/winner/same_command") {
                Some(Value::Bool(true)) => tally.same += 1,
                Some(Value::Bool(false)) => tally.other += 1,
                _ => {}
            }
        }
        let stored = Stored::read(&mut clients[0], page)?;
        tally.stored += usize::from(stored.decided_once("APPROVED"));
    }
    Ok(tally)
}
