//! After all that, everything that is stored must still agree: instances, history, tasks, events.
//!
//! `wf_verify()` says so by answering nothing. Because nothing is also what a check that looks at
//! nothing answers, a revision is put wrong first, in a transaction that is rolled back.

use postgres::GenericClient;

use crate::report::Report;
use crate::server::{Result, Server};

/// How many violations are shown in full.
const SHOWN: usize = 20;

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut client = server.connect()?;
    let stored = client.query_one(
        "SELECT (SELECT count(*) FROM workflow.instances), (SELECT count(*) FROM workflow.history)",
        &[],
    )?;
    let (instances, history): (i64, i64) = (stored.get(0), stored.get(1));

    let mut transaction = client.transaction()?;
    transaction.execute(
        "UPDATE workflow.instances SET revision = revision + 1
          WHERE (tenant_id, id) = (SELECT i.tenant_id, i.id FROM workflow.instances AS i LIMIT 1)",
        &[],
    )?;
    let on_purpose = violations(&mut transaction)?;
    transaction.rollback()?;
    let found = violations(&mut client)?;

    let mut report = Report::new(
        "wf_verify() goes through the invariants of every tenant in one snapshot.",
        ["", "instances", "history", "violations"],
    );
    report.row([
        &"a revision put wrong, rolled back",
        &instances,
        &history,
        &on_purpose.len(),
    ]);
    report.row([
        &"as the experiments left it",
        &instances,
        &history,
        &found.len(),
    ]);
    for violation in found.iter().take(SHOWN) {
        report.note(violation);
    }
    report.expect_at_least("violations found when there is one", 1, on_purpose.len());
    report.expect("violations", 0, found.len());
    Ok(report)
}

fn violations(client: &mut impl GenericClient) -> Result<Vec<String>> {
    let rows = client.query("SELECT v::text FROM wf_verify() AS v", &[])?;
    Ok(rows
        .iter()
        .map(|row| row.try_get(0))
        .collect::<std::result::Result<_, _>>()?)
}
