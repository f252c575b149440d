//! New documents arrive while a reviewer still looks at the old ones.
//!
//! The decision of the old page is about material that is no longer in force. It must be refused,
//! and the task it belonged to must give way to a new one, whoever holds the page.

use serde_json::{Value, json};

use crate::report::Report;
use crate::server::{self, Answer, DEFAULT_TENANT, Decision, Page, Result, Server};

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut report = Report::new(
        "A decision is about the material its author saw; a page that shows older material loses.",
        ["step", "answer", "state", "(rev, mat)", "tasks"],
    );
    let mut client = server.connect()?;
    let started = server::start(&mut client, DEFAULT_TENANT, "stale page")?;
    let old = open(&mut client, &started)?;
    line(&mut report, &mut client, "page opened", "", &old)?;
    report.expect(
        "the page that anna opened",
        "1, 1".to_owned(),
        versions(&old),
    );

    let superseded = client.query_one(
        "SELECT applied, material_version, instances, tasks
           FROM wf_supersede_material(application => $1, expected_material_version => $2,
                                      material => $3, actor => 'submitter')",
        &[&old.application, &old.material, &json!({"text": "second"})],
    )?;
    let material: i32 = superseded.get("material_version");
    report.expect("new material in force", 2, material);
    report.expect("instances that took it", 1, superseded.get("instances"));
    report.expect("tasks that it outdated", 1, superseded.get("tasks"));
    let answer = format!("material {material}");
    line(&mut report, &mut client, "new material", &answer, &old)?;
    report.expect(
        "tasks after the upload",
        "v1 SUPERSEDED, v2 OPEN".to_owned(),
        tasks(&mut client, &old)?,
    );

    let refused = Decision::new("anna", &old, "APPROVED").send(&mut client);
    let told = told(&refused);
    line(&mut report, &mut client, "old page (1, 1)", &told, &old)?;
    report.expect("answer to the old page", "WF002", refused.code());
    report.expect(
        "actual material named to the old page",
        "2".to_owned(),
        actual_material(&refused),
    );

    let fresh = open(&mut client, &started)?;
    report.expect("the fresh page", "2, 2".to_owned(), versions(&fresh));
    let applied = Decision::new("anna", &fresh, "APPROVED").send(&mut client);
    line(
        &mut report,
        &mut client,
        "fresh page (2, 2)",
        applied.code(),
        &fresh,
    )?;
    report.expect("answer to the fresh page", "applied", applied.code());
    report.expect(
        "tasks in the end",
        "v1 SUPERSEDED, v2 COMPLETED".to_owned(),
        tasks(&mut client, &fresh)?,
    );
    let decided = client.query_one(
        "SELECT string_agg(format('%s on v%s', h.decision, h.material_version), ', ')
           FROM workflow.history AS h
          WHERE h.tenant_id = $1 AND h.instance_id = $2 AND h.decision IS NOT NULL",
        &[&DEFAULT_TENANT, &fresh.instance],
    )?;
    let decided: Option<String> = decided.get(0);
    let decided = decided.unwrap_or_else(|| "none".to_owned());
    report.note(format!("Decisions in history: {decided}."));
    report.expect("decisions in history", "approve on v2".to_owned(), decided);
    Ok(report)
}

fn open(client: &mut postgres::Client, page: &Page) -> Result<Page> {
    Page::of(&server::open_page(client, DEFAULT_TENANT, page.instance)?)
}

fn versions(page: &Page) -> String {
    format!("{}, {}", page.revision, page.material)
}

/// Code, and what the refusal says about the material.
fn told(answer: &Answer) -> String {
    format!("{}, actual is {}", answer.code(), actual_material(answer))
}

fn actual_material(answer: &Answer) -> String {
    let detail = answer
        .refusal()
        .and_then(|refusal| serde_json::from_str::<Value>(&refusal.detail).ok());
    match detail
        .as_ref()
        .and_then(|detail| detail.pointer("/actual/material_version"))
    {
        Some(version) => version.to_string(),
        None => "not named".to_owned(),
    }
}

/// A line with what the database holds after the step.
fn line(
    report: &mut Report,
    client: &mut postgres::Client,
    step: &str,
    answer: &str,
    page: &Page,
) -> Result<()> {
    let now = open(client, page)?;
    let tasks = tasks(client, page)?;
    report.row([
        &step,
        &answer,
        &now.state,
        &format!("({})", versions(&now)),
        &tasks,
    ]);
    Ok(())
}

fn tasks(client: &mut postgres::Client, page: &Page) -> Result<String> {
    let row = client.query_one(
        "SELECT string_agg(format('v%s %s', t.material_version, t.status), ', '
                           ORDER BY t.material_version, t.opened_revision)
           FROM workflow.tasks AS t
          WHERE t.tenant_id = $1 AND t.instance_id = $2",
        &[&DEFAULT_TENANT, &page.instance],
    )?;
    let tasks: Option<String> = row.get(0);
    Ok(tasks.unwrap_or_else(|| "none".to_owned()))
}
