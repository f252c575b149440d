//! Two reviewers decide oppositely at the same moment, again and again.
//!
//! Beside it runs what applications do without an arbiter: read the status, then update it by id.
//! Both go through the same harness, on the same two connections. The naive way losing decisions
//! is therefore the evidence that the rounds really collide; if it lost none, the experiment would
//! have shown nothing about either, and says so.

use postgres::{Client, Statement};

use crate::collide::collide;
use crate::report::{self, Report};
use crate::server::{self, Answer, Decision, Result, Server};
use crate::stored::Stored;

/// Who sits at which connection, and where their decision leads.
const SIDES: [(&str, &str); 2] = [("anna", "APPROVED"), ("boris", "REJECTED")];

/// Runs the experiment.
pub fn run(server: &Server, rounds: usize) -> Result<Report> {
    let mut clients = server.connect_all()?;
    let arbitrated = arbitrated(&mut clients, rounds)?;
    let naive = naive(&mut clients, rounds)?;

    let mut report = Report::new(
        "Of two opposite decisions on one revision exactly one stands, and the other side is told.",
        ["", "wf_transition", "SELECT, then UPDATE by id"],
    );
    let (ours, theirs) = (&arbitrated.tally, &naive);
    report.row([&"rounds", &ours.rounds, &theirs.rounds]);
    report.row([&"both were told they had won", &ours.both, &theirs.both]);
    report.row([&"exactly one winner", &ours.one, &theirs.one]);
    report.row([&"no winner", &ours.none, &theirs.none]);
    report.row([&"told that they had lost", &ours.losers, &theirs.losers]);
    report.row([&"any other answer", &ours.others, &theirs.others]);
    report.row([&"approve stands", &ours.stands[0], &theirs.stands[0]]);
    report.row([&"reject stands", &ours.stands[1], &theirs.stands[1]]);
    report.row([
        &"decisions silently lost",
        &ours.silently_lost,
        &theirs.silently_lost,
    ]);
    report.row([
        &"one decision on record",
        &ours.one_recorded,
        &theirs.one_recorded,
    ]);
    report.row([&"one task completed, none open", &arbitrated.tasks, &""]);
    report.row([&"one event of the decision", &arbitrated.events, &""]);

    report.expect("rounds with exactly one winner", rounds, ours.one);
    report.expect("losers by WF001", rounds, ours.losers);
    report.expect("other answers", 0, ours.others);
    report.expect("approve or reject stands", rounds, ours.stands.iter().sum());
    report.expect("decisions silently lost", 0, ours.silently_lost);
    report.expect("one decision in history", rounds, ours.one_recorded);
    report.expect("one task completed", rounds, arbitrated.tasks);
    report.expect("one event in the outbox", rounds, arbitrated.events);
    report.expect("errors of the naive way", 0, theirs.others);
    report.expect_at_least(
        "decisions that the naive way lost (the rounds collide)",
        1,
        theirs.silently_lost,
    );
    match &arbitrated.loser {
        Some((actor, refusal)) => report.show_refusal(actor, refusal),
        None => report.note("Nobody was refused."),
    }
    Ok(report)
}

/// What one side of a round was told.
enum Told {
    Won,
    Lost,
    Other,
}

/// What a way of deciding led to, over all rounds.
#[derive(Default)]
struct Tally {
    rounds: usize,
    both: usize,
    one: usize,
    none: usize,
    losers: usize,
    others: usize,
    /// Rounds after which each side's decision stands.
    stands: [usize; 2],
    /// Decisions whose side was told that it had won, and that do not stand.
    silently_lost: usize,
    /// Rounds with one decision on record, neither more nor fewer.
    one_recorded: usize,
}

impl Tally {
    /// `state` and `recorded` are what the database holds after the round.
    fn add(&mut self, told: [Told; 2], state: &str, recorded: i64) {
        self.rounds += 1;
        let won = told.iter().filter(|told| matches!(told, Told::Won)).count();
        match won {
            0 => self.none += 1,
            1 => self.one += 1,
            _ => self.both += 1,
        }
        for (side, told) in told.iter().enumerate() {
            let stands = state == SIDES[side].1;
            self.stands[side] += usize::from(stands);
            match told {
                Told::Won => self.silently_lost += usize::from(!stands),
                Told::Lost => self.losers += 1,
                Told::Other => self.others += 1,
            }
        }
        self.one_recorded += usize::from(recorded == 1);
    }
}

struct Arbitrated {
    tally: Tally,
    /// Instances with one completed task and no open one.
    tasks: usize,
    /// Instances with one event of a decision in the outbox.
    events: usize,
    /// The first loser, and what it was told.
    loser: Option<(&'static str, server::Refusal)>,
}

fn arbitrated(clients: &mut [Client; 2], rounds: usize) -> Result<Arbitrated> {
    let pages = server::start_many(&mut clients[0], "race", rounds)?;
    let statements = [
        server::prepare_transition(&mut clients[0])?,
        server::prepare_transition(&mut clients[1])?,
    ];
    let bar = report::progress("wf_transition", rounds as u64);
    let played = collide(clients, rounds, &bar, |side, round, client| {
        let (actor, target) = SIDES[side];
        Decision::new(actor, &pages[round], target).send_as(client, &statements[side])
    })?;

    let mut result = Arbitrated {
        tally: Tally::default(),
        tasks: 0,
        events: 0,
        loser: None,
    };
    for (page, round) in pages.iter().zip(played) {
        let answers = round.answers;
        let stored = Stored::read(&mut clients[0], page)?;
        result.tasks += usize::from(stored.one_task_completed);
        result.events += usize::from(stored.events == 1);
        let told = answers.each_ref().map(|answer| match answer.code() {
            "applied" => Told::Won,
            "WF001" => Told::Lost,
            _ => Told::Other,
        });
        result.tally.add(told, &stored.state, stored.decisions);
        if result.loser.is_none() {
            result.loser =
                SIDES
                    .iter()
                    .zip(answers)
                    .find_map(|((actor, _), answer)| match answer {
                        Answer::Refused(refusal) => Some((*actor, refusal)),
                        Answer::Applied(_) => None,
                    });
        }
    }
    Ok(result)
}

/// The same decisions as application code takes them without an arbiter, each statement in
/// autocommit: look whether it is still open, write the new status, write down who decided.
fn naive(clients: &mut [Client; 2], rounds: usize) -> Result<Tally> {
    clients[0].batch_execute(
        "CREATE TABLE demo.request (id int PRIMARY KEY, status text NOT NULL);
         CREATE TABLE demo.decision (request int NOT NULL, actor text NOT NULL, status text NOT NULL);
         CREATE INDEX ON demo.decision (request)",
    )?;
    clients[0].execute(
        "INSERT INTO demo.request SELECT n, 'SUBMITTED' FROM generate_series(1, $1) AS n",
        &[&i32::try_from(rounds)?],
    )?;
    let statements = [Naive::new(&mut clients[0])?, Naive::new(&mut clients[1])?];
    let bar = report::progress("SELECT, then UPDATE by id", rounds as u64);
    let played = collide(clients, rounds, &bar, |side, round, client| {
        statements[side]
            .decide(client, round as i32 + 1, SIDES[side])
            .unwrap_or(Told::Other)
    })?;

    let mut tally = Tally::default();
    for (request, round) in (1..).zip(played) {
        let row = clients[0].query_one(
            "SELECT r.status, (SELECT count(*) FROM demo.decision AS d WHERE d.request = r.id)
               FROM demo.request AS r WHERE r.id = $1",
            &[&request],
        )?;
        tally.add(round.answers, row.get(0), row.get(1));
    }
    Ok(tally)
}

struct Naive {
    read: Statement,
    write: Statement,
    record: Statement,
}

impl Naive {
    fn new(client: &mut Client) -> Result<Naive> {
        Ok(Naive {
            read: client.prepare("SELECT status FROM demo.request WHERE id = $1")?,
            write: client.prepare("UPDATE demo.request SET status = $2 WHERE id = $1")?,
            record: client.prepare("INSERT INTO demo.decision VALUES ($1, $2, $3)")?,
        })
    }

    fn decide(
        &self,
        client: &mut Client,
        request: i32,
        (actor, target): (&str, &str),
    ) -> std::result::Result<Told, postgres::Error> {
        let status: String = client.query_one(&self.read, &[&request])?.try_get(0)?;
        if status != "SUBMITTED" {
            return Ok(Told::Lost);
        }
        if client.execute(&self.write, &[&request, &target])? != 1 {
            return Ok(Told::Lost);
        }
        client.execute(&self.record, &[&request, &actor, &target])?;
        Ok(Told::Won)
    }
}
