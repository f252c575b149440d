//! Two reviewers decide oppositely at the same moment, again and again.
//!
//! Beside it runs what applications do without an arbiter: read the status, then update it by id.
//! Both go through the same harness, on the same two connections. The naive way losing decisions
//! is therefore the evidence that the rounds really collide; if it lost none, the experiment would
//! have shown nothing about either, and says so.

use std::sync::Barrier;
use std::thread;

use indicatif::ProgressBar;
use postgres::{Client, Statement};

use crate::report::{self, Report};
use crate::server::{self, Answer, DEFAULT_TENANT, Decision, Page, Result, Server};

const ROUNDS: usize = 200;

/// Who sits at which connection, and where their decision leads.
const SIDES: [(&str, &str); 2] = [("anna", "APPROVED"), ("boris", "REJECTED")];

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut clients = [server.connect()?, server.connect()?];
    let arbitrated = arbitrated(&mut clients)?;
    let naive = naive(&mut clients)?;

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

    report.expect("rounds with exactly one winner", ROUNDS, ours.one);
    report.expect("losers by WF001", ROUNDS, ours.losers);
    report.expect("other answers", 0, ours.others);
    report.expect("approve or reject stands", ROUNDS, ours.stands.iter().sum());
    report.expect("decisions silently lost", 0, ours.silently_lost);
    report.expect("one decision in history", ROUNDS, ours.one_recorded);
    report.expect("one task completed", ROUNDS, arbitrated.tasks);
    report.expect("one event in the outbox", ROUNDS, arbitrated.events);
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

fn arbitrated(clients: &mut [Client; 2]) -> Result<Arbitrated> {
    let rows = clients[0].query(
        "SELECT s.instance_id, s.application_id, s.state, s.revision, s.material_version
           FROM generate_series(1, $1) AS n,
                wf_start(definition => 'review', business_key => 'race ' || n,
                         material => jsonb_build_object('number', n), actor => 'submitter') AS s",
        &[&(ROUNDS as i32)],
    )?;
    let pages = rows.iter().map(Page::of).collect::<Result<Vec<Page>>>()?;
    let statements = [
        server::prepare_transition(&mut clients[0])?,
        server::prepare_transition(&mut clients[1])?,
    ];
    let bar = report::progress("wf_transition", pages.len() as u64);
    let answers = collide(clients, pages.len(), &bar, |side, round, client| {
        let (actor, target) = SIDES[side];
        Decision::new(actor, &pages[round], target).send_as(client, &statements[side])
    })?;

    let mut result = Arbitrated {
        tally: Tally::default(),
        tasks: 0,
        events: 0,
        loser: None,
    };
    for (page, answers) in pages.iter().zip(answers) {
        let row = clients[0].query_one(
            "SELECT i.state,
                    (SELECT count(*) FROM workflow.history AS h
                      WHERE h.tenant_id = i.tenant_id AND h.instance_id = i.id
                        AND h.decision IS NOT NULL),
                    (SELECT array_agg(t.status::text) FROM workflow.tasks AS t
                      WHERE t.tenant_id = i.tenant_id AND t.instance_id = i.id),
                    (SELECT count(*) FROM workflow.outbox AS o
                      WHERE o.tenant_id = i.tenant_id AND o.aggregateid = i.id::text
                        AND o.type IN ('APPROVE', 'REJECT'))
               FROM workflow.instances AS i
              WHERE i.tenant_id = $1 AND i.id = $2",
            &[&DEFAULT_TENANT, &page.instance],
        )?;
        let tasks: Option<Vec<String>> = row.get(2);
        result.tasks += usize::from(tasks.is_some_and(|tasks| tasks == ["COMPLETED"]));
        result.events += usize::from(row.get::<_, i64>(3) == 1);
        let told = answers.each_ref().map(|answer| match answer.code() {
            "applied" => Told::Won,
            "WF001" => Told::Lost,
            _ => Told::Other,
        });
        result.tally.add(told, row.get(0), row.get(1));
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
fn naive(clients: &mut [Client; 2]) -> Result<Tally> {
    clients[0].batch_execute(
        "CREATE TABLE demo.request (id int PRIMARY KEY, status text NOT NULL);
         CREATE TABLE demo.decision (request int NOT NULL, actor text NOT NULL, status text NOT NULL);
         CREATE INDEX ON demo.decision (request)",
    )?;
    clients[0].execute(
        "INSERT INTO demo.request SELECT n, 'SUBMITTED' FROM generate_series(1, $1) AS n",
        &[&(ROUNDS as i32)],
    )?;
    let statements = [Naive::new(&mut clients[0])?, Naive::new(&mut clients[1])?];
    let bar = report::progress("SELECT, then UPDATE by id", ROUNDS as u64);
    let answers = collide(clients, ROUNDS, &bar, |side, round, client| {
        statements[side]
            .decide(client, round as i32 + 1, SIDES[side])
            .unwrap_or(Told::Other)
    })?;

    let mut tally = Tally::default();
    for (request, told) in (1..).zip(answers) {
        let row = clients[0].query_one(
            "SELECT r.status, (SELECT count(*) FROM demo.decision AS d WHERE d.request = r.id)
               FROM demo.request AS r WHERE r.id = $1",
            &[&request],
        )?;
        tally.add(told, row.get(0), row.get(1));
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

/// Lets both connections act at the same moment, once per round. `act` must not panic: the other
/// side would wait for ever.
fn collide<T: Send>(
    clients: &mut [Client; 2],
    rounds: usize,
    bar: &ProgressBar,
    act: impl Fn(usize, usize, &mut Client) -> T + Sync,
) -> Result<Vec<[T; 2]>> {
    let barrier = Barrier::new(2);
    let [left, right] = clients;
    let side = |side: usize, client: &mut Client| {
        let mut answers = Vec::with_capacity(rounds);
        for round in 0..rounds {
            barrier.wait();
            answers.push(act(side, round, client));
            if side == 0 {
                bar.inc(1);
            }
        }
        answers
    };
    let (left, right) = thread::scope(|scope| {
        let left = scope.spawn(|| side(0, left));
        let right = scope.spawn(|| side(1, right));
        (left.join(), right.join())
    });
    bar.finish_and_clear();
    let panicked = |_| "a connection's thread panicked";
    let (left, right) = (left.map_err(panicked)?, right.map_err(panicked)?);
    Ok(left
        .into_iter()
        .zip(right)
        .map(|(left, right)| [left, right])
        .collect())
}
