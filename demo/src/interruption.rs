//! Something fails in the middle of a transition: here, a trigger of the user's own on history.
//!
//! By then the engine has written the instance and its task, and not yet the event. The error must
//! reach the caller as it was raised, and nothing may stay, also where the caller catches the error
//! and commits the transaction around it.

use postgres::{Client, Row};

use crate::report::Report;
use crate::server::{self, DEFAULT_TENANT, Decision, Page, Result, Server};

const SQLSTATE: &str = "UE001";
const CONSTRAINT: &str = "not_today";

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut report = Report::new(
        "An error of others in the middle passes through unchanged and takes everything back.",
        [
            "step",
            "answer",
            "constraint",
            "state",
            "rev",
            "open",
            "done",
            "history",
            "outbox",
            "keys",
        ],
    );
    let mut client = server.connect()?;
    let page = server::start(&mut client, DEFAULT_TENANT, "interruption")?;
    client.batch_execute(&format!(
        "CREATE FUNCTION demo.not_today() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             RAISE EXCEPTION USING ERRCODE = '{SQLSTATE}', CONSTRAINT = '{CONSTRAINT}',
                                   MESSAGE = 'nobody decides anything today';
         END $$;
         CREATE TRIGGER not_today AFTER INSERT ON workflow.history
             FOR EACH ROW WHEN (NEW.decision IS NOT NULL) EXECUTE FUNCTION demo.not_today()"
    ))?;
    let decision = Decision {
        request_id: Some("interruption"),
        ..Decision::new("anna", &page, "APPROVED")
    };

    let before = Stored::read(&mut client, &page)?;
    before.line(&mut report, "before", "", "");

    // Plain autocommit, then a caller that goes on after the error and commits.
    let plain = decision.send(&mut client);
    let after_plain = Stored::read(&mut client, &page)?;
    let mut transaction = client.transaction()?;
    let mut savepoint = transaction.savepoint("attempt")?;
    let caught = decision.send(&mut savepoint);
    savepoint.rollback()?;
    transaction.commit()?;
    let after_caught = Stored::read(&mut client, &page)?;
    for (step, answer, after) in [
        ("trigger raises", plain, after_plain),
        ("raises, caught", caught, after_caught),
    ] {
        let constraint = answer
            .refusal()
            .map_or("", |refusal| refusal.constraint.as_str());
        after.line(&mut report, step, answer.code(), constraint);
        report.expect(&format!("{step}: SQLSTATE"), SQLSTATE, answer.code());
        report.expect(&format!("{step}: constraint"), CONSTRAINT, constraint);
        report.expect(
            &format!("{step}: what is stored"),
            before.to_string(),
            after.to_string(),
        );
    }

    // The same page and the same request key still count: nothing remembers the attempts.
    client.batch_execute("DROP TRIGGER not_today ON workflow.history")?;
    let answer = decision.send(&mut client);
    let after = Stored::read(&mut client, &page)?;
    after.line(&mut report, "trigger dropped", answer.code(), "");
    report.expect("without the trigger", "applied", answer.code());
    report.expect(
        "state without the trigger",
        "APPROVED",
        after.state.as_str(),
    );
    report.expect(
        "rows that the decision added to history and outbox",
        "1, 1".to_owned(),
        format!(
            "{}, {}",
            after.history - before.history,
            after.outbox - before.outbox
        ),
    );
    report.note(
        "\"raises, caught\": in a savepoint, and the transaction around it is committed. \
         open, done: tasks; keys: request keys.",
    );
    Ok(report)
}

/// Everything the database holds about an instance.
struct Stored {
    state: String,
    revision: i64,
    work: i64,
    open: i64,
    done: i64,
    history: i64,
    outbox: i64,
    keys: i64,
}

impl Stored {
    fn read(client: &mut Client, page: &Page) -> Result<Stored> {
        let row = client.query_one(
            "SELECT i.state, i.revision, i.work,
                    (SELECT count(*) FROM workflow.tasks AS t
                      WHERE t.tenant_id = i.tenant_id AND t.instance_id = i.id
                        AND t.status = 'OPEN') AS open,
                    (SELECT count(*) FROM workflow.tasks AS t
                      WHERE t.tenant_id = i.tenant_id AND t.instance_id = i.id
                        AND t.status <> 'OPEN') AS done,
                    (SELECT count(*) FROM workflow.history AS h
                      WHERE h.tenant_id = i.tenant_id AND h.instance_id = i.id) AS history,
                    (SELECT count(*) FROM workflow.outbox AS o
                      WHERE o.tenant_id = i.tenant_id AND o.aggregateid = i.id::text) AS outbox,
                    (SELECT count(*) FROM workflow.requests AS r
                      WHERE r.tenant_id = i.tenant_id) AS keys
               FROM workflow.instances AS i
              WHERE i.tenant_id = $1 AND i.id = $2",
            &[&DEFAULT_TENANT, &page.instance],
        )?;
        Stored::of(&row)
    }

    fn of(row: &Row) -> Result<Stored> {
        Ok(Stored {
            state: row.try_get("state")?,
            revision: row.try_get("revision")?,
            work: row.try_get("work")?,
            open: row.try_get("open")?,
            done: row.try_get("done")?,
            history: row.try_get("history")?,
            outbox: row.try_get("outbox")?,
            keys: row.try_get("keys")?,
        })
    }

    fn line(&self, report: &mut Report, step: &str, answer: &str, constraint: &str) {
        report.row([
            &step,
            &answer,
            &constraint,
            &self.state,
            &self.revision,
            &self.open,
            &self.done,
            &self.history,
            &self.outbox,
            &self.keys,
        ]);
    }
}

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} revision {} work {}, tasks {} open {} done, history {}, outbox {}, keys {}",
            self.state,
            self.revision,
            self.work,
            self.open,
            self.done,
            self.history,
            self.outbox,
            self.keys
        )
    }
}
