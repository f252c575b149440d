//! Two calls decide the same instances in opposite order, at the same moment, again and again.
//!
//! Each takes its locks in one order whatever the order of its commands, so that neither ever holds
//! what the other waits for while it waits itself.

use std::sync::Barrier;
use std::thread;

use postgres::Client;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::report::{self, Report};
use crate::server::{self, DEFAULT_TENANT, Result, Server};

const ROUNDS: usize = 200;
const INSTANCES: usize = 8;

/// Codes of one call's answers, or the SQLSTATE that ended it.
fn send(client: &mut Client, commands: &Value) -> Vec<String> {
    let answers = client.query(
        "SELECT COALESCE(code, CASE WHEN applied THEN 'applied' ELSE 'none' END)
           FROM wf_transition_many($1) ORDER BY ordinal",
        &[commands],
    );
    match answers {
        Ok(rows) => rows.iter().map(|row| row.get(0)).collect(),
        Err(error) => vec![error.code().map_or("broken", |code| code.code()).to_owned()],
    }
}

fn commands(instances: impl Iterator<Item = Uuid>, target: &str) -> Value {
    instances
        .map(|instance| {
            json!({ "instance": instance, "from_state": "SUBMITTED", "to_state": target,
                    "expected_revision": 1, "material_version": 1 })
        })
        .collect()
}

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut main = server.connect()?;
    let mut clients = [server.connect()?, server.connect()?];
    let bar = report::progress("rounds", ROUNDS as u64);
    let (mut applied, mut stale, mut other, mut split) = (0, 0, 0, 0);
    for round in 0..ROUNDS {
        let mut instances = Vec::new();
        for number in 0..INSTANCES {
            let key = format!("opposite {round} {number}");
            instances.push(server::start(&mut main, DEFAULT_TENANT, &key)?.instance);
        }
        let forth = commands(instances.iter().copied(), "APPROVED");
        let back = commands(instances.iter().rev().copied(), "REJECTED");
        let barrier = Barrier::new(2);
        let calls = clients.iter_mut().zip([&forth, &back]);
        let answers: Vec<Vec<String>> = thread::scope(|scope| {
            let threads: Vec<_> = calls
                .map(|(client, commands)| {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        barrier.wait();
                        send(client, commands)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| vec!["panic".to_owned()]))
                .collect()
        });
        for code in answers.iter().flatten() {
            match code.as_str() {
                "applied" => applied += 1,
                "WF001" => stale += 1,
                _ => other += 1,
            }
        }
        let winners = answers
            .iter()
            .filter(|codes| codes.iter().any(|code| code == "applied"))
            .count();
        split += usize::from(winners != 1);
        bar.inc(1);
    }
    bar.finish_and_clear();

    let decisions = ROUNDS * INSTANCES;
    let mut report = Report::new(
        "Two calls about the same instances in opposite order: one decides all of them, nobody meets a deadlock.",
        ["", "found"],
    );
    report.row([&"rounds", &ROUNDS]);
    report.row([&"instances in each", &INSTANCES]);
    report.row([&"commands applied", &applied]);
    report.row([&"commands refused WF001", &stale]);
    report.row([&"any other answer, deadlocks among them", &other]);
    report.row([&"rounds in which both calls decided something", &split]);
    report.expect("applied", decisions, applied);
    report.expect("WF001", decisions, stale);
    report.expect("other answers", 0, other);
    report.expect("rounds without a single winner", 0, split);
    Ok(report)
}
