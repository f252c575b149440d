//! Two tenants use the same business key.
//!
//! They must neither collide nor see each other: another tenant's instance is answered exactly like
//! one that does not exist, so that an id alone reveals nothing.

use postgres::Client;
use uuid::Uuid;

use crate::report::Report;
use crate::server::{self, Answer, Decision, Page, Refusal, Result, Server};

const BUSINESS_KEY: &str = "invoice 2024-001";

/// A tenant, its reviewer, and what that reviewer decides.
const TENANTS: [(&str, &str, &str); 2] = [
    ("acme", "anna", "APPROVED"),
    ("globex", "boris", "REJECTED"),
];

/// Runs the experiment.
pub fn run(server: &Server) -> Result<Report> {
    let mut report = Report::new(
        "Tenants share nothing: one business key, two reviews, and each is absent for the other.",
        [
            "tenant",
            "decides own",
            "state",
            "instances",
            "history",
            "opens other's",
            "decides other's",
        ],
    );
    let mut client = server.connect()?;
    let mut pages = Vec::new();
    for (tenant, _, _) in TENANTS {
        server::define(&mut client, tenant)?;
        pages.push(server::start(&mut client, tenant, BUSINESS_KEY)?);
    }
    let nowhere: Uuid = client.query_one("SELECT gen_random_uuid()", &[])?.get(0);

    // First each tries the other's while that is open, then both decide their own.
    let mut trespasses = Vec::new();
    for (number, (tenant, actor, target)) in TENANTS.into_iter().enumerate() {
        let other = &pages[1 - number];
        let absent = Page {
            instance: nowhere,
            ..other.clone()
        };
        let page = reading(&mut client, tenant, other.instance);
        let page_absent = reading(&mut client, tenant, nowhere);
        let decision = deciding(&mut client, tenant, actor, other, target);
        let decision_absent = deciding(&mut client, tenant, actor, &absent, target);
        report.expect(
            &format!("{tenant} reads the other's, and what is nowhere"),
            in_full(page_absent.as_ref(), nowhere),
            in_full(page.as_ref(), other.instance),
        );
        report.expect(
            &format!("{tenant} decides the other's, and what is nowhere"),
            in_full(decision_absent.refusal(), nowhere),
            in_full(decision.refusal(), other.instance),
        );
        let page = page.map_or("shown".to_owned(), |refusal| refusal.sqlstate);
        trespasses.push((page, decision.code().to_owned()));
    }
    let mut decisions = Vec::new();
    for ((tenant, actor, target), page) in TENANTS.into_iter().zip(&pages) {
        decisions.push(deciding(&mut client, tenant, actor, page, target));
    }

    for (number, (tenant, _, target)) in TENANTS.into_iter().enumerate() {
        let found = client.query_one(
            "SELECT instance_id, state, revision
               FROM wf_get(definition => 'review', business_key => $1, tenant => $2)",
            &[&BUSINESS_KEY, &tenant],
        )?;
        let counts = client.query_one(
            "SELECT (SELECT count(*) FROM workflow.instances AS i WHERE i.tenant_id = $1),
                    (SELECT count(*) FROM workflow.history AS h WHERE h.tenant_id = $1)",
            &[&tenant],
        )?;
        let (instance, state): (Uuid, String) = (found.get("instance_id"), found.get("state"));
        let (instances, history): (i64, i64) = (counts.get(0), counts.get(1));
        let (page, decision) = &trespasses[number];
        let own = decisions[number].code();
        report.row([&tenant, &own, &state, &instances, &history, page, decision]);
        report.expect(&format!("{tenant}: own decision"), "applied", own);
        report.expect(
            &format!("{tenant}: found by its key"),
            pages[number].instance,
            instance,
        );
        report.expect(
            &format!("{tenant}: state in the end"),
            target,
            state.as_str(),
        );
        report.expect(&format!("{tenant}: instances"), 1, instances);
        report.expect(&format!("{tenant}: history rows"), 2, history);
        report.expect(
            &format!("{tenant}: page of the other"),
            "WF005",
            page.as_str(),
        );
        report.expect(
            &format!("{tenant}: decision on the other's"),
            "WF005",
            decision.as_str(),
        );
    }
    report.note(format!(
        "Both reviews are called \"{BUSINESS_KEY}\". The other's instance and a random id get the same error."
    ));
    Ok(report)
}

/// The error that opening the page gives, if any.
fn reading(client: &mut Client, tenant: &str, instance: Uuid) -> Option<Refusal> {
    server::open_page(client, tenant, instance)
        .err()
        .map(|error| Refusal::of(&error))
}

fn deciding(client: &mut Client, tenant: &str, actor: &str, page: &Page, to: &str) -> Answer {
    Decision {
        tenant,
        ..Decision::new(actor, page, to)
    }
    .send(client)
}

/// Everything an error says, without the id that its caller gave.
fn in_full(refusal: Option<&Refusal>, id: Uuid) -> String {
    match refusal {
        Some(refusal) => format!("{refusal:?}").replace(&id.to_string(), "…"),
        None => "no error".to_owned(),
    }
}
