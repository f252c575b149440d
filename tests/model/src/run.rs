//! The rounds of a run.

use std::time::{Duration, Instant};

use postgres::Client;

use crate::Options;
use crate::board::Board;
use crate::call::{Connection, connect, explain};
use crate::command::WORK_OF_INSTANCE;
use crate::consumer::{self, Amount};
use crate::generate::Generator;
use crate::jobs;
use crate::library::Library;
use crate::model::Model;
use crate::report::{Summary, trace};
use crate::rng::Rng;
use crate::round::Round;
use crate::session::Session;
use crate::tables::{Tables, verify};
use crate::{check, locks};

/// Commands of one session in one round: enough for histories with many visits to each state, few
/// enough that a violation is shown soon and its trace can be read.
const COMMANDS: usize = 120;

/// The part of the time that consumers get: one in so many.
const CONSUMERS_SHARE: u32 = 8;
/// The part that machine work gets.
const JOBS_SHARE: u32 = 8;

/// The part of the time that holders of leases get.
const LEASES_SHARE: u32 = 8;

/// `workflow.wait_ms` of the sessions, in turn.
const WAITS: [i32; 4] = [5000, 300, 5000, 40];

/// The number of checked outcomes, and what went wrong if something did.
pub fn run(options: &Options) -> Result<usize, (usize, String)> {
    let database = format!("workflow_model_{}_{}", options.seed, std::process::id());
    let mut control = prepare(&database).map_err(|error| (0, error))?;
    let mut summary = Summary::default();
    let mut passed = 0;
    let whole = Duration::from_secs(options.seconds);
    let result = match (options.events, options.leases) {
        (Some(events), _) => consumers(options, &database, &Amount::Events(events), &mut passed),
        (None, Some(seconds)) => {
            let time = Duration::from_secs(seconds);
            leases(options, &database, time, &mut passed)
        }
        (None, None) => {
            let result = rounds(options, &database, &mut control, &mut summary, &mut passed);
            summary.print();
            let time = Amount::Time(whole / CONSUMERS_SHARE);
            result
                .and_then(|()| leases(options, &database, whole / LEASES_SHARE, &mut passed))
                .and_then(|()| consumers(options, &database, &time, &mut passed))
                .and_then(|()| {
                    passed += jobs::run(&database, options.seed, whole / JOBS_SHARE)?;
                    Ok(())
                })
        }
    };
    drop(control);
    match result {
        Ok(()) => {
            // The database of a violation is kept for a look.
            let dropped = connect(None).and_then(|mut client| {
                let sql = format!("DROP DATABASE {database} WITH (FORCE)");
                client.batch_execute(&sql).map_err(|error| explain(&error))
            });
            dropped.map_err(|error| (passed, error))?;
            Ok(passed)
        }
        Err(error) => Err((passed, format!("{error}database {database} is kept"))),
    }
}

fn consumers(
    options: &Options,
    database: &str,
    amount: &Amount,
    passed: &mut usize,
) -> Result<(), String> {
    *passed += consumer::run(database, options.seed, amount)?;
    Ok(())
}

fn leases(
    options: &Options,
    database: &str,
    time: Duration,
    passed: &mut usize,
) -> Result<(), String> {
    *passed += crate::leases::run(database, options.seed, time)?;
    Ok(())
}

fn prepare(database: &str) -> Result<Client, String> {
    let mut client = connect(None)?;
    client
        .batch_execute(&format!("CREATE DATABASE {database}"))
        .map_err(|error| explain(&error))?;
    let mut client = connect(Some(database))?;
    let library = Library::new(Vec::new());
    client
        .batch_execute(&format!("CREATE EXTENSION workflow; {WORK_OF_INSTANCE}"))
        .map_err(|error| explain(&error))?;
    for (index, machine) in library.shared().iter().enumerate() {
        // Of two versions the first stays the active one.
        let active = library.shared()[..index]
            .iter()
            .all(|earlier| earlier.name != machine.name);
        define(&mut client, machine, "*", active)?;
    }
    Ok(client)
}

fn define(
    client: &mut Client,
    machine: &crate::machine::Machine,
    tenant: &str,
    active: bool,
) -> Result<(), String> {
    let row = client
        .query_one(
            "SELECT definition, version FROM wf_define($1, activate => $2, tenant => $3)",
            &[&machine.spec(), &active, &tenant],
        )
        .map_err(|error| format!("wf_define of {}: {}", machine.name, explain(&error)))?;
    let (name, version): (String, i32) = (row.get(0), row.get(1));
    if (name.as_str(), version) != (machine.name, machine.version) {
        return Err(format!("wf_define made {name} {version} of {machine:?}"));
    }
    Ok(())
}

fn rounds(
    options: &Options,
    database: &str,
    control: &mut Client,
    summary: &mut Summary,
    passed: &mut usize,
) -> Result<(), String> {
    let epoch = Instant::now();
    let mut connections = Vec::new();
    for number in 0..options.sessions {
        let wait_ms = WAITS[number % WAITS.len()];
        // Deadlocks between long transactions are wanted, waiting a second for each is not.
        let settings = format!("SET workflow.wait_ms = {wait_ms}; SET deadlock_timeout = '25ms'");
        connections.push(Connection::open(database, &settings)?);
    }
    let mut verifying = Duration::ZERO;
    let until = Duration::from_secs(options.seconds);
    let until = until - until / CONSUMERS_SHARE - until / JOBS_SHARE - until / LEASES_SHARE;
    let mut number = 0;
    while number == 0 || epoch.elapsed() < until {
        number += 1;
        let tenants = vec![format!("t{number}a"), format!("t{number}b")];
        let library = Library::new(tenants);
        define(control, library.own(), &library.tenants()[1], true)?;
        let played = play(options, &library, &mut connections, epoch, number)?;
        summary.count(&played);
        *passed += examine(&played, control)?;
        // It reads whole tables, which grow: no more than a part of the time goes there.
        if verifying < epoch.elapsed() / 8 {
            let began = Instant::now();
            for tenant in library.tenants() {
                verify(control, Some(tenant))
                    .map_err(|violation| trace(&played, None, &violation))?;
            }
            verifying += began.elapsed();
        }
    }
    verify(control, None).map_err(|violation| violation.what)?;
    println!("{number} rounds in {} s", epoch.elapsed().as_secs());
    Ok(())
}

/// Lets the sessions loose.
fn play<'l>(
    options: &Options,
    library: &'l Library,
    connections: &mut [Connection],
    epoch: Instant,
    number: u64,
) -> Result<Round<'l>, String> {
    let board = Board::new(library.tenants().len());
    let outcomes = std::thread::scope(|scope| {
        let sessions = connections.iter_mut().enumerate();
        let threads: Vec<_> = sessions
            .map(|(session, connection)| {
                let stream = number.wrapping_mul(1000) + session as u64;
                let session = Session {
                    number: session,
                    connection,
                    epoch,
                    wait_ms: WAITS[session % WAITS.len()],
                    library,
                    board: &board,
                    generator: Generator {
                        rng: Rng::new(options.seed, stream),
                        tenants: library.tenants(),
                        board: &board,
                        keys: format!("s{session}"),
                        drawn: 0,
                    },
                };
                scope.spawn(move || session.run(COMMANDS))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a session panicked"))
            .collect::<Result<Vec<_>, String>>()
    });
    let transactions = outcomes?.into_iter().flatten().collect();
    Ok(Round::new(number, library, transactions))
}

/// Holds a round against the model; gives the number of checked answers.
fn examine(round: &Round<'_>, control: &mut Client) -> Result<usize, String> {
    let model = Model::build(round).map_err(|violation| trace(round, None, &violation))?;
    let found = check::answers(round, &model).and_then(|checked| {
        locks::check(round, &model)?;
        let mut tables = Tables {
            round,
            model: &model,
            client: control,
        };
        tables.check()?;
        Ok(checked)
    });
    found.map_err(|violation| trace(round, Some(&model), &violation))
}
