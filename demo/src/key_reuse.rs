//! Two different commands arrive under one request key at the same moment.
//!
//! A key stands for one command. Were the second answered as a replay of the first, its sender
//! would believe in something that never happened; were both carried out, the key meant nothing.

use postgres::Client;

use crate::collide::collide;
use crate::report::{self, Report};
use crate::server::{self, Answer, Decision, Result, Server};
use crate::stored::{self, Stored};

const ROUNDS: usize = 100;

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut clients = server.connect_all()?;
    let one = decide(&mut clients, "one", 1)?;
    let two = decide(&mut clients, "two", 2)?;

    let mut report = Report::new(
        "Of two commands under one request key one is carried out, and the other is told of it.",
        ["", "opposite, on one instance", "on two instances"],
    );
    report.row([&"rounds", &ROUNDS, &ROUNDS]);
    report.row([&"both under way at once", &one.together, &two.together]);
    report.row([&"one applied, one WF008", &one.one, &two.one]);
    report.row([&"only the applied one stored", &one.stored, &two.stored]);
    report.row([&"key stored once", &one.keys, &two.keys]);
    for (which, tally) in [("one instance", &one), ("two instances", &two)] {
        let what = |what| format!("{which}: {what}");
        report.expect(&what("one applied, one WF008"), ROUNDS, tally.one);
        report.expect(&what("only the applied one stored"), ROUNDS, tally.stored);
        report.expect(&what("key stored once"), ROUNDS, tally.keys);
        report.expect_at_least(&what("rounds that collide"), ROUNDS / 4, tally.together);
        for codes in tally.unexpected.iter().take(5) {
            report.note(format!("On {which}: {codes}."));
        }
    }
    Ok(report)
}

#[derive(Default)]
struct Tally {
    together: usize,
    one: usize,
    stored: usize,
    keys: usize,
    /// Other answers than one applied and one WF008.
    unexpected: Vec<String>,
}

/// Each round is about one instance or about two, of which each side takes one.
fn decide(clients: &mut [Client; 2], name: &str, instances: usize) -> Result<Tally> {
    let name = format!("key reuse {name}");
    let pages = server::start_many(&mut clients[0], &name, ROUNDS * instances)?;
    let statements = [
        server::prepare_transition(&mut clients[0])?,
        server::prepare_transition(&mut clients[1])?,
    ];
    let page = |side: usize, round: usize| &pages[round * instances + side % instances];
    let target = |side: usize| ["APPROVED", "REJECTED"][side];
    let key = |round: usize| format!("{name}: {round}");
    let bar = report::progress("one key, two commands", ROUNDS as u64);
    let rounds = collide(clients, ROUNDS, &bar, |side, round, client| {
        let decision = Decision {
            request_id: Some(&key(round)),
            ..Decision::new("anna", page(side, round), target(side))
        };
        decision.send_as(client, &statements[side])
    })?;

    let mut tally = Tally::default();
    for (number, round) in rounds.iter().enumerate() {
        tally.together += usize::from(round.together == 2);
        let winner = match round.answers.each_ref().map(Answer::code) {
            ["applied", "WF008"] => Some(0),
            ["WF008", "applied"] => Some(1),
            codes => {
                tally.unexpected.push(codes.join(" and "));
                None
            }
        };
        tally.one += usize::from(winner.is_some());
        if let Some(winner) = winner {
            let won = Stored::read(&mut clients[0], page(winner, number))?;
            let lost = Stored::read(&mut clients[0], page(1 - winner, number))?;
            let alone = instances == 1 || lost.untouched();
            tally.stored += usize::from(won.decided_once(target(winner)) && alone);
        }
        let rows = stored::under_key(&mut clients[0], &key(number))?;
        tally.keys += usize::from(rows == (1, 1));
    }
    Ok(tally)
}
