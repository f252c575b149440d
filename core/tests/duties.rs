//! Separation of duties, and the operator's way around it, as decided without a database.

use serde_json::{Value, json};
use uuid::Uuid;
use workflow_core::decide::{
    Instance, Lease, Override, Plan, Rejection, SeatTask, Send, Standing, StepKind, Truth, Vote,
    World, claim, delegate, overrule, send, transfer, vote,
};
use workflow_core::definition::{self, Decision, Definition};
use workflow_core::refusal::Reason;

/// Who acts, and who has decided where.
struct Desk {
    actor: &'static str,
    before: Vec<(&'static str, &'static str)>,
    guard: Truth,
    lease: Lease,
}

impl World for Desk {
    fn actor(&self) -> &str {
        self.actor
    }

    fn roles(&mut self) -> &[String] {
        &[]
    }

    fn is_author(&mut self, _: &str) -> bool {
        false
    }

    fn deciders(&mut self, states: &[String]) -> Vec<String> {
        let before = self.before.iter();
        let named = before.filter(|(state, _)| states.iter().any(|name| name == state));
        named.map(|(_, person)| (*person).to_owned()).collect()
    }

    fn has_verdict(&mut self) -> bool {
        false
    }

    fn lease(&mut self) -> Lease {
        self.lease.clone()
    }

    fn value(&mut self, path: &str, _: &Standing<'_>) -> Option<String> {
        unreachable!("no edge here draws {path}")
    }

    fn balance(&mut self, resource: &str) -> Option<i64> {
        unreachable!("no edge here draws {resource}")
    }

    fn test(&mut self, _: &str, _: &Standing<'_>) -> Truth {
        self.guard
    }
}

/// Ann has decided in REVIEW, bob in CHECK.
fn desk(actor: &'static str) -> Desk {
    Desk {
        actor,
        before: vec![("REVIEW", "ann"), ("CHECK", "bob")],
        guard: Truth::True,
        lease: Lease::Absent,
    }
}

fn spec(not_same_as: &Value) -> Value {
    json!({
        "id": "payment", "initial": "REVIEW",
        "states": {
            "REVIEW": {"on": {"PASS": "CHECK"}},
            "CHECK": {"on": {"PASS": "APPROVAL"}},
            "APPROVAL": {
                "meta": {"task": {"seats": [{"name": "boss"}], "not_same_as": not_same_as}},
                "on": {
                    "APPROVE": {"target": "PAID", "guard": "$.ok", "meta": {"decision": "approve"}},
                    "NOTE": "APPROVAL"
                }
            },
            "PAID": {"type": "final"}
        }
    })
}

fn machine(not_same_as: Value) -> Definition {
    let (machine, findings) = definition::parse(&spec(&not_same_as));
    machine.unwrap_or_else(|| panic!("unsound: {findings:?}"))
}

const TASK: Uuid = Uuid::from_u128(7);

fn approval() -> Instance {
    Instance {
        id: Uuid::from_u128(1),
        application_id: Uuid::from_u128(2),
        state: "APPROVAL".to_owned(),
        revision: 3,
        round: 3,
        material_version: 1,
        closed: false,
        started_by: "sue".to_owned(),
        tasks: vec![SeatTask {
            id: TASK,
            seat: "boss".to_owned(),
            roles: Vec::new(),
            veto: false,
            open: true,
            holder: None,
            delegated_by: None,
            claimed: false,
            vote: None,
        }],
    }
}

fn held(holder: &str, delegated_by: Option<&str>) -> Instance {
    let mut instance = approval();
    instance.tasks[0].holder = Some(holder.to_owned());
    instance.tasks[0].delegated_by = delegated_by.map(str::to_owned);
    instance
}

fn approve(machine: &Definition, instance: &Instance, actor: &'static str) -> bool {
    let command = Send {
        event: "APPROVE",
        expected_revision: Some(3),
        material_version: Some(1),
    };
    let ballot = Vote {
        task: TASK,
        event: "APPROVE",
        expected_revision: 3,
        material_version: 1,
        ended: None,
    };
    let sent = allowed(send(machine, instance, &command, &mut desk(actor)));
    let voted = allowed(vote(machine, instance, &ballot, &mut desk(actor)));
    assert_eq!(sent, voted, "{actor}: the same by either command");
    sent
}

/// Whether it may be done; anything but a matter of authority fails the test.
fn allowed<T: std::fmt::Debug>(decision: Result<T, Rejection>) -> bool {
    match decision {
        Ok(_) => true,
        Err(Rejection::Refused(refusal)) => {
            assert_eq!(refusal.reason, Reason::NotAuthorized, "{refusal:?}");
            false
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn who_decided_before_is_kept_out() {
    let one = machine(json!("REVIEW"));
    assert!(!approve(&one, &approval(), "ann"));
    assert!(approve(&one, &approval(), "bob"));
    let both = machine(json!(["REVIEW", "CHECK"]));
    assert!(!approve(&both, &approval(), "ann"));
    assert!(!approve(&both, &approval(), "bob"));
    assert!(approve(&both, &approval(), "cyd"));
    assert!(approve(&machine(json!([])), &approval(), "ann"));
}

#[test]
fn nor_by_another_spelling() {
    let machine = machine(json!("REVIEW"));
    for actor in ["Ann", "ANN", " ann", "aNN "] {
        assert!(!approve(&machine, &approval(), actor), "{actor:?}");
    }
    assert!(approve(&machine, &approval(), "anna"));
}

#[test]
fn nor_through_other_hands() {
    let machine = machine(json!("REVIEW"));
    // Handed on to her, by whatever way, she still may not.
    assert!(!approve(&machine, &held("ann", None), "ann"));
    assert!(!approve(&machine, &held("ann", Some("bob")), "ann"));
    // Nor does somebody decide for her.
    assert!(!approve(&machine, &held("bob", Some("ann")), "bob"));
    assert!(approve(&machine, &held("bob", Some("cyd")), "bob"));
    // And she neither takes the task nor gives it to somebody of her choice.
    let (free, hers) = (approval(), held("ann", None));
    let mut ann = desk("ann");
    assert!(!allowed(claim(
        &machine, &free, TASK, None, false, &mut ann
    )));
    for instance in [&free, &hers] {
        let given = delegate(&machine, instance, TASK, None, "bob", &mut ann);
        assert!(!allowed(given));
        let given = transfer(&machine, instance, TASK, None, "bob", &mut ann);
        assert!(!allowed(given));
    }
    let mut bob = desk("bob");
    assert!(allowed(claim(&machine, &free, TASK, None, false, &mut bob)));
}

#[test]
fn what_is_no_verdict_is_open_to_all() {
    let note = Send {
        event: "NOTE",
        expected_revision: None,
        material_version: None,
    };
    let machine = machine(json!("REVIEW"));
    assert!(allowed(send(
        &machine,
        &approval(),
        &note,
        &mut desk("ann")
    )));
}

#[test]
fn states_that_make_no_sense() {
    let found = |not_same_as: Value| {
        let (machine, findings) = definition::parse(&spec(&not_same_as));
        assert!(machine.is_none(), "{not_same_as}");
        let finding = findings.first().expect("a finding");
        (finding.path.clone(), finding.message.clone())
    };
    let at = "/states/APPROVAL/meta/task/not_same_as";
    assert_eq!(found(json!("NOWHERE")).0, at);
    assert_eq!(found(json!(["REVIEW", "NOWHERE"])).0, format!("{at}/1"));
    assert_eq!(found(json!(3)).0, at);
    assert_eq!(found(json!([3])).0, format!("{at}/0"));
    let (path, message) = found(json!("PAID"));
    assert_eq!(path, at);
    assert!(message.contains("nobody decides in `PAID`"), "{message}");
}

fn ordered(event: &str, revision: i64, material: i32, world: &mut Desk) -> Result<Plan, Reason> {
    let command = Override {
        event,
        expected_revision: revision,
        material_version: material,
    };
    let machine = machine(json!("REVIEW"));
    let decision = overrule(&machine, &held("bob", None), &command, world);
    decision.map_err(|rejection| match rejection {
        Rejection::Refused(refusal) => refusal.reason,
        other => panic!("{other:?}"),
    })
}

#[test]
fn an_override_sets_aside_who_may() {
    let plan = ordered("APPROVE", 3, 1, &mut desk("ann")).expect("a plan");
    let step = plan.first();
    assert_eq!(step.kind, StepKind::Override);
    assert_eq!(step.event.as_deref(), Some("APPROVE"));
    assert_eq!(step.decision, Some(Decision::Approve));
    assert_eq!((plan.revision, plan.steps.len()), (4, 1));
}

#[test]
fn and_not_what_must_be_true() {
    let mut ann = desk("ann");
    assert_eq!(
        ordered("APPROVE", 2, 1, &mut ann),
        Err(Reason::StaleRevision)
    );
    assert_eq!(
        ordered("APPROVE", 3, 2, &mut ann),
        Err(Reason::StaleMaterial)
    );
    assert_eq!(ordered("PASS", 3, 1, &mut ann), Err(Reason::WrongState));
    assert_eq!(
        ordered("FLY", 3, 1, &mut ann),
        Err(Reason::NoSuchTransition)
    );
    ann.guard = Truth::False;
    assert_eq!(
        ordered("APPROVE", 3, 1, &mut ann),
        Err(Reason::GuardRefused)
    );
    ann.guard = Truth::Unknown;
    assert_eq!(
        ordered("APPROVE", 3, 1, &mut ann),
        Err(Reason::GuardRefused)
    );
    ann.lease = Lease::Lost("it is over".to_owned());
    assert_eq!(ordered("APPROVE", 3, 1, &mut ann), Err(Reason::LeaseLost));
}
