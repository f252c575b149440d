//! What time does to an instance, as decided without a database.

use serde_json::json;
use uuid::Uuid;
use workflow_core::decide::{
    Due, Instance, Rejection, Standing, StepKind, TIMER_ACTOR, Timer, Truth, World, fire,
};
use workflow_core::definition::{self, Definition};
use workflow_core::refusal::Reason;

struct Clock(Truth);

impl World for Clock {
    fn actor(&self) -> &str {
        TIMER_ACTOR
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

    fn value(&mut self, path: &str, _: &Standing<'_>) -> Option<String> {
        unreachable!("no edge here draws {path}")
    }

    fn balance(&mut self, resource: &str) -> Option<i64> {
        unreachable!("no edge here draws {resource}")
    }

    fn test(&mut self, _: &str, _: &Standing<'_>) -> Truth {
        self.0
    }
}

fn machine() -> Definition {
    let spec = json!({
        "id": "m", "initial": "WAIT",
        "states": {
            "WAIT": {
                "on": {"GO": "DONE"},
                "after": {
                    "PT1H": [{"target": "LATE", "guard": "$.a"}],
                    "PT2H": "PASSING"}},
            "PASSING": {"always": {"target": "DONE", "guard": "$.a"}, "on": {"GO": "DONE"}},
            "LATE": {"on": {"GO": "DONE"}},
            "DONE": {"type": "final"}
        }
    });
    let (machine, findings) = definition::parse(&spec);
    machine.unwrap_or_else(|| panic!("unsound: {findings:?}"))
}

fn waiting() -> Instance {
    Instance {
        id: Uuid::from_u128(1),
        application_id: Uuid::from_u128(2),
        state: "WAIT".to_owned(),
        revision: 7,
        round: 3,
        material_version: 2,
        closed: false,
        started_by: "ann".to_owned(),
        tasks: Vec::new(),
    }
}

fn run(instance: &Instance, event: &str, entered: i64, truth: Truth) -> Result<Due, Rejection> {
    let timer = Timer {
        event,
        entered_revision: entered,
    };
    fire(&machine(), instance, 5, &timer, &mut Clock(truth))
}

#[test]
fn it_takes_its_edge_and_what_follows() {
    let Ok(Due::Fires(plan)) = run(&waiting(), "after.PT2H", 5, Truth::True) else {
        panic!("does not fire");
    };
    assert_eq!(plan.revision, 9);
    assert_eq!(plan.steps.len(), 2);
    assert_eq!(plan.first().event.as_deref(), Some("after.PT2H"));
    assert_eq!(plan.first().kind, StepKind::Edge);
    assert_eq!(plan.first().decision, None);
    assert_eq!(plan.rest(), machine().state("DONE").unwrap());
}

#[test]
fn it_belongs_to_one_visit() {
    assert_eq!(run(&waiting(), "after.PT2H", 4, Truth::True), Ok(Due::Over));
    assert_eq!(run(&waiting(), "after.PT2H", 6, Truth::True), Ok(Due::Over));
    let closed = Instance {
        closed: true,
        ..waiting()
    };
    assert_eq!(run(&closed, "after.PT2H", 5, Truth::True), Ok(Due::Over));
    let elsewhere = Instance {
        state: "LATE".to_owned(),
        ..waiting()
    };
    assert_eq!(run(&elsewhere, "after.PT2H", 5, Truth::True), Ok(Due::Over));
    assert_eq!(run(&waiting(), "after.PT3H", 5, Truth::True), Ok(Due::Over));
    assert_eq!(run(&waiting(), "GO", 5, Truth::True), Ok(Due::Over));
}

#[test]
fn a_guard_that_is_not_true_refuses_it() {
    for (event, truth, verdict) in [
        ("after.PT1H", Truth::False, "false"),
        ("after.PT1H", Truth::Unknown, "unknown"),
        ("after.PT2H", Truth::Unknown, "unknown"),
    ] {
        let Err(Rejection::Refused(refusal)) = run(&waiting(), event, 5, truth) else {
            panic!("not refused");
        };
        assert_eq!(refusal.reason, Reason::GuardRefused);
        assert_eq!(refusal.extra["verdict"], verdict);
        assert_eq!(refusal.actual.revision, Some(7));
    }
}
