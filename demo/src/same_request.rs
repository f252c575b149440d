//! Many sessions send one and the same request at the same moment, as retries of a client that is
//! not told in time.
//!
//! The request is carried out once. Whoever comes after gets the answer of that one time, and only
//! `replayed` says which it was.

use serde_json::Value;

use crate::collide::{average, collide};
use crate::report::{self, Report};
use crate::server::{self, Decision, Refusal, Result, Server};
use crate::stored::{self, Stored};

const SESSIONS: usize = 64;
const REPETITIONS: usize = 20;

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut clients = server.connect_all::<SESSIONS>()?;
    let pages = server::start_many(&mut clients[0], "same request", REPETITIONS)?;
    let statements = clients
        .iter_mut()
        .map(server::prepare_in_full)
        .collect::<Result<Vec<_>>>()?;
    let key = |round: usize| format!("same request {round}");
    let bar = report::progress("64 sessions, one request", REPETITIONS as u64);
    let rounds = collide(&mut clients, REPETITIONS, &bar, |side, round, client| {
        let decision = Decision {
            request_id: Some(&key(round)),
            ..Decision::new("anna", &pages[round], "APPROVED")
        };
        let row = decision.query(client, &statements[side])?;
        Ok((row.try_get("replayed")?, row.try_get("rest")?))
    })?;

    let together = average(&rounds);
    let mut tally = Tally::default();
    for (number, (page, round)) in pages.iter().zip(rounds).enumerate() {
        tally.collided += usize::from(round.together > 1);
        tally.add(&round.answers);
        let stored = Stored::read(&mut clients[0], page)?;
        tally.stored += usize::from(stored.decided_once("APPROVED"));
        let rows = stored::under_key(&mut clients[0], &key(number))?;
        tally.keys += usize::from(rows == (1, 1));
    }

    let mut report = Report::new(
        "However often a request arrives, and at once: it is carried out once, and always answered.",
        ["", "found"],
    );
    report.row([&"repetitions", &REPETITIONS]);
    report.row([&"others had begun before the first answer", &tally.collided]);
    report.row([&"sessions that had, on average", &together]);
    report.row([&"answers", &tally.answers]);
    report.row([&"errors", &tally.errors.len()]);
    report.row([&"one answer not replayed, all others are", &tally.once]);
    report.row([&"all else in the answers equal", &tally.equal]);
    report.row([&"one decision, event and task stored", &tally.stored]);
    report.row([&"one request and one step bear the key", &tally.keys]);
    for error in tally.errors.iter().take(5) {
        report.note(format!("{} {}", error.sqlstate, error.message));
    }
    report.expect_at_least("repetitions that collide", REPETITIONS / 4, tally.collided);
    report.expect("answers", REPETITIONS * SESSIONS, tally.answers);
    report.expect("errors", 0, tally.errors.len());
    report.expect("one answer not replayed", REPETITIONS, tally.once);
    report.expect("equal answers", REPETITIONS, tally.equal);
    report.expect("one decision, event, task", REPETITIONS, tally.stored);
    report.expect("one request, one step", REPETITIONS, tally.keys);
    Ok(report)
}

/// `replayed`, and all other columns of the answer.
type Answer = std::result::Result<(bool, Value), postgres::Error>;

/// Repetitions, unless it says otherwise.
#[derive(Default)]
struct Tally {
    collided: usize,
    /// Answers that are no errors.
    answers: usize,
    errors: Vec<Refusal>,
    once: usize,
    equal: usize,
    stored: usize,
    keys: usize,
}

impl Tally {
    fn add(&mut self, round: &[Answer]) {
        let mut answers = Vec::new();
        for answer in round {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(error) => self.errors.push(Refusal::of(error)),
            }
        }
        self.answers += answers.len();
        let executed = answers.iter().filter(|(replayed, _)| !replayed).count();
        self.once += usize::from(executed == 1 && answers.len() == SESSIONS);
        let applied = |answer: &Value| {
            (&answer["applied"], &answer["state"], &answer["revision"])
                == (&true.into(), &"APPROVED".into(), &2.into())
        };
        let equal = answers
            .iter()
            .all(|(_, rest)| applied(rest) && *rest == answers[0].1);
        self.equal += usize::from(equal && answers.len() == SESSIONS);
    }
}
