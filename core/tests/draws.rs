//! `meta.consume` and `meta.restock`: what a spec may say, and what a plan then moves.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;
use workflow_core::decide::{
    Instance, Movement, Plan, Rejection, Send, Standing, Truth, World, actions, send,
};
use workflow_core::definition::{self, Definition};
use workflow_core::refusal::{Reason, Refusal};

/// What paths lead to, what is left of resources, and where each path was looked up.
#[derive(Default)]
struct Desk {
    values: HashMap<&'static str, &'static str>,
    balances: HashMap<&'static str, i64>,
    asked: Vec<(String, String, i64)>,
}

impl World for Desk {
    fn actor(&self) -> &str {
        "bob"
    }

    fn roles(&mut self) -> &[String] {
        &[]
    }

    fn is_author(&mut self, _: &str) -> bool {
        false
    }

    fn has_verdict(&mut self) -> bool {
        false
    }

    fn test(&mut self, _: &str, _: &Standing<'_>) -> Truth {
        Truth::True
    }

    fn value(&mut self, path: &str, at: &Standing<'_>) -> Option<String> {
        self.asked
            .push((path.to_owned(), at.state.to_owned(), at.revision));
        self.values.get(path).map(|json| (*json).to_owned())
    }

    fn balance(&mut self, resource: &str) -> Option<i64> {
        self.balances.get(resource).copied()
    }
}

fn spec(meta: Value) -> Value {
    json!({
        "id": "order", "initial": "NEW",
        "states": {
            "NEW": {"on": {"BUY": {"target": "HELD", "meta": meta}, "DROP": "GONE"}},
            "HELD": {"always": {"target": "SOLD", "meta": {"consume": {"resource": "paper", "quantity": 1}}}},
            "SOLD": {"on": {"RETURN": {"target": "GONE", "meta": {"restock": {"resource": "$.material.sku", "quantity": "$.material.n"}}}}},
            "GONE": {"type": "final"}
        }
    })
}

fn machine(meta: Value) -> Definition {
    let (machine, findings) = definition::parse(&spec(meta));
    machine.unwrap_or_else(|| panic!("unsound: {findings:?}"))
}

fn errors(meta: Value) -> Vec<String> {
    let (machine, findings) = definition::parse(&spec(meta));
    assert!(machine.is_none(), "accepted");
    let errors = findings
        .iter()
        .filter(|f| f.severity == definition::Severity::Error);
    errors
        .map(|f| format!("{}: {}", f.path, f.message))
        .collect()
}

fn new() -> Instance {
    Instance {
        id: Uuid::from_u128(1),
        application_id: Uuid::from_u128(2),
        state: "NEW".into(),
        revision: 1,
        round: 1,
        material_version: 1,
        closed: false,
        started_by: "ann".into(),
        tasks: Vec::new(),
    }
}

fn buy(meta: Value, desk: &mut Desk) -> Result<Plan, Rejection> {
    let command = Send {
        event: "BUY",
        expected_revision: None,
        material_version: None,
    };
    send(&machine(meta), &new(), &command, desk)
}

fn refusal(result: Result<Plan, Rejection>) -> Box<Refusal> {
    match result {
        Err(Rejection::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn moved(plan: &Plan) -> Vec<(&str, i64)> {
    plan.movements()
        .map(|Movement { resource, quantity }| (resource.as_str(), *quantity))
        .collect()
}

#[test]
fn a_step_moves_what_its_edge_says_and_so_does_an_always_edge() {
    let meta = json!({"consume": {"resource": "seats", "quantity": 2}});
    let plan = buy(meta, &mut Desk::default()).unwrap();
    assert_eq!(moved(&plan), [("seats", -2), ("paper", -1)]);
    assert_eq!(plan.steps.len(), 2);
    assert_eq!(plan.steps[1].movements.len(), 1);
}

#[test]
fn what_is_given_back_comes_before_what_is_taken() {
    let meta = json!({
        "consume": [{"resource": "a", "quantity": 1}, {"resource": "b", "quantity": 2}],
        "restock": {"resource": "a", "quantity": 3}
    });
    let plan = buy(meta, &mut Desk::default()).unwrap();
    assert_eq!(
        moved(&plan),
        [("a", 3), ("a", -1), ("b", -2), ("paper", -1)]
    );
}

#[test]
fn paths_are_looked_up_where_the_step_begins() {
    let meta = json!({"consume": {"resource": "$.material.sku", "quantity": "$.payload.n"}});
    let mut desk = Desk {
        values: HashMap::from([("$.material.sku", "\"pens\""), ("$.payload.n", "3.0")]),
        ..Desk::default()
    };
    let plan = buy(meta, &mut desk).unwrap();
    assert_eq!(moved(&plan)[0], ("pens", -3));
    let place = |path: &str| (path.to_owned(), "NEW".to_owned(), 1);
    assert_eq!(desk.asked, [place("$.material.sku"), place("$.payload.n")]);
}

#[test]
fn a_quantity_that_is_none_refuses_and_says_where() {
    let meta = json!({"consume": {"resource": "seats", "quantity": "$.payload.n"}});
    for (value, verdict) in [
        (None, "unknown"),
        (Some("\"3\""), "unknown"),
        (Some("null"), "unknown"),
        (Some("[3]"), "unknown"),
        (Some("0"), "invalid"),
        (Some("-1"), "invalid"),
        (Some("1.5"), "invalid"),
        (Some("9223372036854775808"), "invalid"),
    ] {
        let mut desk = Desk {
            values: value
                .map(|value| ("$.payload.n", value))
                .into_iter()
                .collect(),
            ..Desk::default()
        };
        let refusal = refusal(buy(meta.clone(), &mut desk));
        assert_eq!(refusal.reason, Reason::GuardRefused, "{value:?}");
        assert_eq!(refusal.extra["verdict"], verdict, "{value:?}");
        assert_eq!(
            refusal.extra["path"],
            "/states/NEW/on/BUY/meta/consume/quantity"
        );
    }
}

#[test]
fn a_key_that_is_none_refuses() {
    let meta = json!({"consume": {"resource": "$.material.sku", "quantity": 1}});
    for value in ["7", "\"\"", "\"a\\nb\""] {
        let mut desk = Desk {
            values: HashMap::from([("$.material.sku", value)]),
            ..Desk::default()
        };
        let refusal = refusal(buy(meta.clone(), &mut desk));
        assert_eq!(refusal.reason, Reason::GuardRefused, "{value}");
    }
}

#[test]
fn actions_say_what_is_short() {
    let meta = json!({"consume": {"resource": "seats", "quantity": 2}});
    let blocker = |seats, paper| {
        let mut desk = Desk {
            balances: HashMap::from([("seats", seats), ("paper", paper)]),
            ..Desk::default()
        };
        let list = actions(&machine(meta.clone()), &new(), &mut desk).unwrap();
        list.into_iter().find(|a| a.event == "BUY").unwrap().blocker
    };
    assert_eq!(blocker(2, 1), None);
    assert_eq!(blocker(1, 1), Some(Reason::Insufficient));
    // The always edge behind it needs paper.
    assert_eq!(blocker(2, 0), Some(Reason::Insufficient));
}

#[test]
fn actions_leave_open_what_the_payload_will_say() {
    let meta = json!({"consume": {"resource": "seats", "quantity": "$.payload.n"}});
    let list = actions(&machine(meta), &new(), &mut Desk::default()).unwrap();
    assert!(list.iter().all(|action| action.blocker.is_none()));
}

#[test]
fn specs_are_refused_with_the_place() {
    for (draw, error) in [
        (
            json!(3),
            "/states/NEW/on/BUY/meta/consume: must be an object, not a number",
        ),
        (
            json!([]),
            "/states/NEW/on/BUY/meta/consume: must hold 1 to 64 elements",
        ),
        (
            json!({"quantity": 1}),
            "/states/NEW/on/BUY/meta/consume/resource: missing `resource`",
        ),
        (
            json!({"resource": "a"}),
            "/states/NEW/on/BUY/meta/consume/quantity: missing `quantity`",
        ),
        (
            json!({"resource": "", "quantity": 1}),
            "/states/NEW/on/BUY/meta/consume/resource: the key of a resource must not be empty",
        ),
        (
            json!({"resource": "a", "quantity": 0}),
            "/states/NEW/on/BUY/meta/consume/quantity: must be an integer from 1",
        ),
        (
            json!({"resource": "a", "quantity": -1}),
            "/states/NEW/on/BUY/meta/consume/quantity: must be an integer from 1",
        ),
        (
            json!({"resource": "a", "quantity": 1.5}),
            "/states/NEW/on/BUY/meta/consume/quantity: must be an integer from 1",
        ),
        (
            json!({"resource": "a", "quantity": true}),
            "/states/NEW/on/BUY/meta/consume/quantity: must be an integer or a path",
        ),
        (
            json!({"resource": "a", "quantity": "lax $.n"}),
            "/states/NEW/on/BUY/meta/consume/quantity: a path must not be `lax`",
        ),
        (
            json!({"resource": "a", "quantity": 1, "unit": "kg"}),
            "/states/NEW/on/BUY/meta/consume/unit: unknown key",
        ),
    ] {
        let errors = errors(json!({"consume": draw}));
        assert!(
            errors.iter().any(|e| e.starts_with(error)),
            "{error}: {errors:?}"
        );
    }
}
