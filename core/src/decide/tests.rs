use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::definition::{self, Definition};

/// A server in a few fields: guards answer as they are told, and are counted.
#[derive(Default)]
struct Desk {
    actor: String,
    roles: Vec<String>,
    author: String,
    verdict: bool,
    guards: HashMap<String, Truth>,
    values: HashMap<String, String>,
    balances: HashMap<String, i64>,
    asked: Vec<(String, String, i64, i32)>,
}

impl World for Desk {
    fn actor(&self) -> &str {
        &self.actor
    }

    fn roles(&mut self) -> &[String] {
        &self.roles
    }

    fn is_author(&mut self, person: &str) -> bool {
        person == self.author
    }

    fn has_verdict(&mut self) -> bool {
        self.verdict
    }

    fn value(&mut self, path: &str, _: &Standing<'_>) -> Option<String> {
        self.values.get(path).cloned()
    }

    fn balance(&mut self, resource: &str) -> Option<i64> {
        self.balances.get(resource).copied()
    }

    fn test(&mut self, guard: &str, at: &Standing<'_>) -> Truth {
        self.asked
            .push((guard.to_owned(), at.state.to_owned(), at.revision, at.round));
        self.guards[guard]
    }
}

fn machine(spec: Value) -> Definition {
    let (machine, findings) = definition::parse(&spec);
    machine.unwrap_or_else(|| panic!("unsound: {findings:?}"))
}

fn review() -> Definition {
    machine(json!({
        "id": "review", "initial": "SUBMITTED",
        "states": {
            "SUBMITTED": {
                "meta": {"task": {"seats": [{"name": "reviewer", "roles": ["fin"]}], "self_approval": false}},
                "on": {
                    "APPROVE": [
                        {"target": "DIRECTOR", "guard": "$.big", "meta": {"decision": "approve"}},
                        {"target": "APPROVED", "meta": {"decision": "approve"}}
                    ],
                    "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
                    "EDIT": "SUBMITTED",
                    "TOUCH": "SUBMITTED",
                    "DROP": {"target": "REJECTED", "meta": {"roles": ["admin"]}}
                }
            },
            "DIRECTOR": {
                "meta": {"on_supersede": "SUBMITTED"},
                "always": [{"target": "APPROVED", "guard": "$.trusted"}],
                "on": {"SIGN": {"target": "APPROVED", "meta": {"decision": "approve", "publish": false}},
                       "FREEZE": "FROZEN"}
            },
            "FROZEN": {"meta": {"on_supersede": "refuse"}, "on": {"THAW": "DIRECTOR"}},
            "APPROVED": {"type": "final"},
            "REJECTED": {"type": "final"}
        }
    }))
}

fn at(state: &str, revision: i64) -> Instance {
    Instance {
        id: Uuid::from_u128(1),
        application_id: Uuid::from_u128(2),
        state: state.to_owned(),
        revision,
        round: 3,
        material_version: 2,
        closed: ["APPROVED", "REJECTED"].contains(&state),
        started_by: "ann".to_owned(),
        tasks: Vec::new(),
    }
}

fn reviewer(guards: &[(&str, Truth)]) -> Desk {
    Desk {
        actor: "bob".into(),
        roles: vec!["fin".into()],
        author: "carol".into(),
        verdict: false,
        guards: guards
            .iter()
            .map(|(guard, truth)| ((*guard).to_owned(), *truth))
            .collect(),
        asked: Vec::new(),
        ..Desk::default()
    }
}

fn command<'a>(from: &'a str, to: &'a str, revision: i64, material: i32) -> Transition<'a> {
    Transition {
        from_state: from,
        to_state: to,
        expected_revision: revision,
        material_version: material,
        event: None,
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, Rejection>) -> Reason {
    match result {
        Err(Rejection::Refused(refusal)) => refusal.reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_transition_is_one_step_along_its_edge() {
    let mut desk = reviewer(&[("$.big", Truth::False)]);
    let plan = transition(
        &review(),
        &at("SUBMITTED", 7),
        &command("SUBMITTED", "APPROVED", 7, 2),
        &mut desk,
    )
    .unwrap();
    assert_eq!(plan.steps.len(), 1);
    assert_eq!(
        (plan.revision, plan.round, plan.entered_revision),
        (8, 4, Some(8))
    );
    assert_eq!(plan.first().event.as_deref(), Some("APPROVE"));
    assert_eq!(plan.first().decision, Some(Decision::Approve));
    assert_eq!(plan.first().round, 3);
}

#[test]
fn checks_come_in_the_order_of_the_contract() {
    let review = review();
    let submitted = at("SUBMITTED", 7);
    let big = [("$.big", Truth::Unknown)];
    // Each row keeps every later fault of the row before, and mends the one that was reported.
    let mut desk = Desk {
        actor: "eve".into(),
        ..reviewer(&big)
    };
    desk.roles.clear();
    let go = |command: Transition<'_>, instance: &Instance, desk: &mut Desk| {
        reason(transition(&review, instance, &command, desk))
    };
    assert_eq!(
        go(command("SUBMITTED", "NOWHERE", 6, 1), &submitted, &mut desk),
        Reason::NoSuchTransition
    );
    assert_eq!(
        go(
            command("SUBMITTED", "APPROVED", 6, 1),
            &submitted,
            &mut desk
        ),
        Reason::NotAuthorized
    );
    desk.roles = vec!["fin".into()];
    assert_eq!(
        go(
            command("SUBMITTED", "APPROVED", 6, 1),
            &submitted,
            &mut desk
        ),
        Reason::StaleMaterial
    );
    assert_eq!(
        go(
            command("SUBMITTED", "APPROVED", 6, 2),
            &submitted,
            &mut desk
        ),
        Reason::StaleRevision
    );
    let ended = at("APPROVED", 7);
    assert_eq!(
        go(command("SUBMITTED", "APPROVED", 7, 2), &ended, &mut desk),
        Reason::Closed
    );
    let elsewhere = at("DIRECTOR", 7);
    assert_eq!(
        go(
            command("SUBMITTED", "APPROVED", 7, 2),
            &elsewhere,
            &mut desk
        ),
        Reason::WrongState
    );
    assert_eq!(
        go(
            command("SUBMITTED", "APPROVED", 7, 2),
            &submitted,
            &mut desk
        ),
        Reason::GuardRefused
    );
}

#[test]
fn a_refusal_shows_both_sides() {
    let reject = Transition {
        event: Some("REJECT"),
        ..command("SUBMITTED", "REJECTED", 7, 2)
    };
    let result = transition(&review(), &at("REJECTED", 9), &reject, &mut reviewer(&[]));
    let Err(Rejection::Refused(refusal)) = result else {
        panic!("not refused")
    };
    assert_eq!(refusal.expected.revision, Some(7));
    assert_eq!(refusal.actual.revision, Some(9));
    assert!(refusal.already_in_target);
}

#[test]
fn the_submitter_and_the_author_may_not_decide_where_the_task_says_so() {
    for actor in ["ann", "carol"] {
        let mut desk = reviewer(&[("$.big", Truth::False)]);
        desk.actor = actor.into();
        let decided = transition(
            &review(),
            &at("SUBMITTED", 7),
            &command("SUBMITTED", "REJECTED", 7, 2),
            &mut desk,
        );
        // REJECT and DROP both lead there.
        assert!(matches!(decided, Err(Rejection::Ambiguous(_))));
        let named = Transition {
            event: Some("REJECT"),
            ..command("SUBMITTED", "REJECTED", 7, 2)
        };
        assert_eq!(
            reason(transition(
                &review(),
                &at("SUBMITTED", 7),
                &named,
                &mut desk
            )),
            Reason::NotAuthorized
        );
    }
}

#[test]
fn a_branch_is_not_reached_past_the_guard_of_an_earlier_one() {
    let mut desk = reviewer(&[("$.big", Truth::True), ("$.trusted", Truth::False)]);
    let review = review();
    let submitted = at("SUBMITTED", 7);
    let to_approved = command("SUBMITTED", "APPROVED", 7, 2);
    assert_eq!(
        reason(transition(&review, &submitted, &to_approved, &mut desk)),
        Reason::GuardRefused
    );
    let to_director = command("SUBMITTED", "DIRECTOR", 7, 2);
    let plan = transition(&review, &submitted, &to_director, &mut desk).unwrap();
    assert_eq!(review.states[plan.rest()].name, "DIRECTOR");
}

#[test]
fn always_edges_follow_in_the_same_plan() {
    let mut desk = reviewer(&[("$.big", Truth::True), ("$.trusted", Truth::True)]);
    let review = review();
    let to_director = command("SUBMITTED", "DIRECTOR", 7, 2);
    let plan = transition(&review, &at("SUBMITTED", 7), &to_director, &mut desk).unwrap();
    let path: Vec<&str> = plan
        .steps
        .iter()
        .map(|step| review.states[step.to].name.as_str())
        .collect();
    assert_eq!(path, ["DIRECTOR", "APPROVED"]);
    assert_eq!(
        (plan.revision, plan.round, plan.entered_revision),
        (9, 5, Some(9))
    );
    assert_eq!(plan.steps[1].event, None);
    assert_eq!(plan.steps[1].decision, None);
    // The guard of the second step was asked where the instance would stand.
    assert_eq!(desk.asked[1], ("$.trusted".into(), "DIRECTOR".into(), 8, 4));

    desk.guards.insert("$.trusted".into(), Truth::Unknown);
    let refused = transition(&review, &at("SUBMITTED", 7), &to_director, &mut desk);
    assert_eq!(reason(refused), Reason::GuardRefused);
}

#[test]
fn an_event_is_known_by_where_it_belongs() {
    let review = review();
    let sent = |event, revision, version, instance: &Instance| {
        let command = Send {
            event,
            expected_revision: revision,
            material_version: version,
        };
        send(
            &review,
            instance,
            &command,
            &mut reviewer(&[("$.big", Truth::False)]),
        )
    };
    let submitted = at("SUBMITTED", 7);
    assert_eq!(
        reason(sent("NOTHING", None, None, &submitted)),
        Reason::NoSuchTransition
    );
    assert_eq!(
        reason(sent("THAW", None, None, &submitted)),
        Reason::WrongState
    );
    assert_eq!(
        reason(sent("EDIT", None, None, &at("APPROVED", 7))),
        Reason::Closed
    );
    assert_eq!(
        sent("APPROVE", None, Some(2), &submitted),
        Err(Rejection::MissingArgument("expected_revision"))
    );
    assert_eq!(
        sent("APPROVE", Some(7), None, &submitted),
        Err(Rejection::MissingArgument("material_version"))
    );
    assert_eq!(
        sent("SIGN", None, None, &submitted),
        Err(Rejection::MissingArgument("expected_revision"))
    );
    assert!(sent("EDIT", None, None, &submitted).is_ok());
    assert_eq!(
        reason(sent("EDIT", Some(6), None, &submitted)),
        Reason::StaleRevision
    );
    assert!(sent("APPROVE", Some(7), Some(2), &submitted).is_ok());
}

#[test]
fn new_material_stays_goes_back_or_is_refused() {
    let review = review();
    let mut desk = reviewer(&[("$.trusted", Truth::False)]);
    let stay = supersede(&review, &at("SUBMITTED", 7), &mut desk).unwrap();
    assert_eq!(
        (stay.revision, stay.round, stay.entered_revision),
        (8, 3, None)
    );
    assert_eq!(stay.first().from, Some(stay.rest()));

    let back = supersede(&review, &at("DIRECTOR", 7), &mut desk).unwrap();
    assert_eq!(review.states[back.rest()].name, "SUBMITTED");
    assert_eq!(
        (back.revision, back.round, back.entered_revision),
        (8, 4, Some(8))
    );

    let frozen = supersede(&review, &at("FROZEN", 7), &mut desk);
    assert_eq!(reason(frozen), Reason::MaterialFrozen);
}

#[test]
fn a_page_is_told_what_it_may_offer() {
    let review = review();
    let mut desk = reviewer(&[("$.big", Truth::True), ("$.trusted", Truth::False)]);
    let offered = actions(&review, &at("SUBMITTED", 7), &mut desk).unwrap();
    let of = |event: &str| offered.iter().find(|action| action.event == event).unwrap();
    assert_eq!(
        (of("APPROVE").to_state.as_str(), of("APPROVE").blocker),
        ("DIRECTOR", None)
    );
    assert_eq!(of("DROP").blocker, Some(Reason::NotAuthorized));
    assert_eq!(of("EDIT").blocker, None);
    assert!(
        actions(&review, &at("APPROVED", 7), &mut desk)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_state_that_the_definition_does_not_have_is_refused() {
    let lost = at("LOST", 7);
    let command = Send {
        event: "EDIT",
        expected_revision: None,
        material_version: None,
    };
    let refused = send(&review(), &lost, &command, &mut reviewer(&[]));
    assert_eq!(reason(refused), Reason::NoSuchTransition);
}

proptest! {
    /// Whatever is sent, a plan is a path through the machine that counts every step, and a refusal
    /// shows the instance as it is.
    #[test]
    fn a_plan_is_a_path(
        state in prop::sample::select(vec!["SUBMITTED", "DIRECTOR", "FROZEN", "APPROVED"]),
        event in prop::sample::select(
            vec!["APPROVE", "REJECT", "EDIT", "TOUCH", "DROP", "SIGN", "FREEZE", "THAW", "X"]),
        expected in prop::option::of(5i64..8),
        material in prop::option::of(1i32..4),
        big in 0..3u8,
        trusted in 0..3u8,
        admin in any::<bool>(),
    ) {
        let truth = |n| [Truth::True, Truth::False, Truth::Unknown][n as usize];
        let review = review();
        let instance = at(state, 6);
        let mut desk = reviewer(&[("$.big", truth(big)), ("$.trusted", truth(trusted))]);
        if admin {
            desk.roles.push("admin".into());
        }
        let command = Send { event, expected_revision: expected, material_version: material };
        match send(&review, &instance, &command, &mut desk) {
            Ok(plan) => {
                prop_assert!(expected.is_none_or(|revision| revision == 6));
                prop_assert!(material.is_none_or(|version| version == 2));
                prop_assert_eq!(plan.revision, 6 + plan.steps.len() as i64);
                prop_assert_eq!(plan.round, 3 + plan.steps.len() as i32);
                let mut here = review.state(state).unwrap();
                for (index, step) in plan.steps.iter().enumerate() {
                    prop_assert_eq!(step.from, Some(here));
                    let edges = if index == 0 {
                        &review.states[here].edges
                    } else {
                        &review.states[here].always
                    };
                    prop_assert!(edges.iter().any(|edge| edge.target == step.to));
                    prop_assert_eq!(step.event.is_some(), index == 0);
                    here = step.to;
                }
                if plan.first().decision.is_some() {
                    prop_assert!(expected.is_some() && material.is_some());
                }
            }
            Err(Rejection::Refused(refusal)) => {
                prop_assert_eq!(refusal.actual.revision, Some(6));
                prop_assert_eq!(refusal.instance_id, Some(instance.id));
            }
            Err(Rejection::MissingArgument(_)) => {
                prop_assert!(expected.is_none() || material.is_none());
            }
            Err(Rejection::Ambiguous(_) | Rejection::Invalid(_)) => prop_assert!(false, "an event is never ambiguous"),
        }
    }
}

mod operate {
    use std::collections::BTreeMap;

    use super::*;

    fn version(task: Value, extra: Value) -> Definition {
        let mut states = json!({
            "OPEN": {"on": {"GO": "REVIEW"}},
            "REVIEW": {
                "meta": {"task": task},
                "on": {"YES": {"target": "DONE", "meta": {"decision": "approve"}}}
            },
            "DONE": {"type": "final"}
        });
        let more = extra.as_object().expect("an object of states");
        states.as_object_mut().expect("states").extend(more.clone());
        machine(json!({"id": "m", "initial": "OPEN", "states": states}))
    }

    fn seats(name: &str) -> Value {
        json!({"seats": [{"name": name}]})
    }

    fn kinds(plan: &Plan) -> Vec<&'static str> {
        plan.steps.iter().map(|step| step.kind.as_str()).collect()
    }

    #[test]
    fn a_visit_goes_on_where_the_state_asks_the_same() {
        let old = version(seats("a"), json!({}));
        let more = json!({"OPEN": {"on": {"GO": "REVIEW", "END": "DONE"}}});
        for (state, same) in [("OPEN", "a"), ("REVIEW", "a")] {
            let new = version(seats(same), more.clone());
            let plan = migrate(
                &old,
                &new,
                &at(state, 4),
                &BTreeMap::new(),
                &mut reviewer(&[]),
            );
            let plan = plan.expect("it maps");
            assert_eq!(kinds(&plan), ["migrate"]);
            assert_eq!(
                (plan.revision, plan.round, plan.entered_revision),
                (5, 3, None)
            );
            assert_eq!(new.states[plan.rest()].name, state);
        }
    }

    #[test]
    fn another_question_or_another_state_is_an_entry() {
        let old = version(seats("a"), json!({}));
        let other_seat = version(seats("b"), json!({}));
        let other_event = version(
            seats("a"),
            json!({"REVIEW": {
                "meta": {"task": seats("a")},
                "on": {"OK": {"target": "DONE", "meta": {"decision": "approve"}}}
            }}),
        );
        let back = BTreeMap::from([("REVIEW".to_owned(), "OPEN".to_owned())]);
        let ended = BTreeMap::from([("REVIEW".to_owned(), "DONE".to_owned())]);
        for (new, map, rest) in [
            (&other_seat, BTreeMap::new(), "REVIEW"),
            (&other_event, BTreeMap::new(), "REVIEW"),
            (&old, back, "OPEN"),
            (&old, ended, "DONE"),
        ] {
            let plan = migrate(&old, new, &at("REVIEW", 4), &map, &mut reviewer(&[]));
            let plan = plan.expect("it maps");
            assert_eq!(
                (plan.revision, plan.round, plan.entered_revision),
                (5, 4, Some(5))
            );
            assert_eq!(new.states[plan.rest()].name, rest);
            assert_eq!(
                plan.first().from,
                None,
                "the state left is one of the old machine"
            );
        }
    }

    #[test]
    fn always_edges_follow_an_entry_and_not_a_visit_that_goes_on() {
        let route = json!({"ROUTE": {
            "always": [{"target": "DONE", "guard": "$.yes"}],
            "on": {"GO": "DONE", "BACK": "OPEN"}
        }, "OPEN": {"on": {"GO": "REVIEW", "ASK": "ROUTE"}}});
        let both = version(seats("a"), route);
        let map = BTreeMap::from([("OPEN".to_owned(), "ROUTE".to_owned())]);
        let guards = |truth| reviewer(&[("$.yes", truth)]);
        let moved = |state, map: &BTreeMap<_, _>, truth| {
            migrate(&both, &both, &at(state, 1), map, &mut guards(truth))
        };
        let plan = moved("OPEN", &map, Truth::True).expect("it maps");
        assert_eq!(kinds(&plan), ["migrate", "edge"]);
        assert_eq!(plan.revision, 3);
        let stays = moved("ROUTE", &BTreeMap::new(), Truth::True).expect("it maps");
        assert_eq!(kinds(&stays), ["migrate"]);
        assert_eq!(
            reason(moved("OPEN", &map, Truth::Unknown)),
            Reason::GuardRefused
        );
    }

    #[test]
    fn a_state_that_the_new_version_does_not_have_is_in_the_way() {
        let old = version(
            seats("a"),
            json!({"OPEN": {"on": {"GO": "REVIEW", "PARK": "PARKED"}},
            "PARKED": {"on": {"GO": "REVIEW"}}}),
        );
        let new = version(seats("a"), json!({}));
        let lost = migrate(
            &old,
            &new,
            &at("PARKED", 1),
            &BTreeMap::new(),
            &mut reviewer(&[]),
        );
        assert_eq!(reason(lost), Reason::NotMigratable);
    }

    #[test]
    fn an_adopted_instance_stands_where_it_is_said_to() {
        let machine = version(seats("a"), json!({}));
        let new = Instance {
            round: 0,
            ..at("REVIEW", 0)
        };
        let plan = adopt(&machine, &new).expect("there is such a state");
        assert_eq!(kinds(&plan), ["start"]);
        assert_eq!(
            (plan.revision, plan.round, plan.entered_revision),
            (1, 1, Some(1))
        );
        assert_eq!(machine.states[plan.rest()].name, "REVIEW");
        let nowhere = Instance {
            round: 0,
            ..at("NOWHERE", 0)
        };
        assert_eq!(reason(adopt(&machine, &nowhere)), Reason::NoSuchTransition);
    }

    #[test]
    fn a_cancelled_instance_ends_where_it_stands() {
        let machine = review();
        let plan = cancel(&machine, &at("DIRECTOR", 4), 4).expect("it is open");
        assert_eq!(kinds(&plan), ["cancel"]);
        assert_eq!((plan.revision, plan.entered_revision), (5, None));
        assert_eq!(machine.states[plan.rest()].name, "DIRECTOR");
        assert_eq!(
            reason(cancel(&machine, &at("DIRECTOR", 4), 3)),
            Reason::StaleRevision
        );
        assert_eq!(
            reason(cancel(&machine, &at("APPROVED", 4), 4)),
            Reason::Closed
        );
    }
}
