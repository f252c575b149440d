//! Machine work as decided without a database: who may take it, what finishing it does, when it is
//! tried again and when no more.

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;
use workflow_core::decide::{
    Finish, Instance, Lease, Offer, Rejection, Standing, StepKind, Taken, Truth, World, exhaust,
    finish, offer,
};
use workflow_core::definition::{self, Definition, Retry};
use workflow_core::refusal::{Reason, Refusal};

struct Hand {
    roles: Vec<String>,
    lease: Lease,
    guard: Truth,
}

impl Default for Hand {
    fn default() -> Hand {
        Hand {
            roles: Vec::new(),
            lease: Lease::Holds,
            guard: Truth::True,
        }
    }
}

impl World for Hand {
    fn actor(&self) -> &str {
        "w"
    }

    fn roles(&mut self) -> &[String] {
        &self.roles
    }

    fn is_author(&mut self, _: &str) -> bool {
        false
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

fn machine() -> Definition {
    let spec = json!({
        "id": "m", "initial": "READY",
        "states": {
            "READY": {
                "meta": {"retry": {"max_attempts": 3, "exhausted": "BROKEN"}, "lease": "required"},
                "on": {
                    "DONE": [{"target": "PASSING", "guard": "$.a"}],
                    "SKIP": {"target": "DONE", "meta": {"roles": ["boss"]}},
                    "SIGN": {"target": "DONE", "meta": {"decision": "approve"}}}},
            "PASSING": {"always": "DONE"},
            "BROKEN": {"on": {"DONE": "DONE", "MENDED": "READY"}},
            "DONE": {"type": "final"}
        }
    });
    let (machine, findings) = definition::parse(&spec);
    machine.unwrap_or_else(|| panic!("unsound: {findings:?}"))
}

fn at(state: &str, revision: i64) -> Instance {
    Instance {
        id: Uuid::from_u128(1),
        application_id: Uuid::from_u128(2),
        state: state.into(),
        revision,
        round: 1,
        material_version: 1,
        closed: false,
        started_by: "sue".into(),
        tasks: Vec::new(),
    }
}

fn taken() -> Taken {
    Taken {
        state: "READY".into(),
        entered_revision: 1,
        revision: 1,
        material_version: 1,
    }
}

fn done<'a>(event: &'a str, taken: Option<&'a Taken>) -> Finish<'a> {
    Finish {
        event,
        material_version: None,
        taken,
    }
}

fn refused<T: std::fmt::Debug>(result: Result<T, Rejection>) -> Refusal {
    match result {
        Err(Rejection::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn work_is_offered_to_whoever_may_finish_it() {
    let machine = machine();
    let mut hand = Hand::default();
    let mut offered = |state: &str, event: &str| offer(&machine, state, event, &mut hand);
    assert_eq!(offered("READY", "DONE"), Offer::Open);
    assert_eq!(offered("READY", "SKIP"), Offer::NotForActor);
    assert_eq!(offered("READY", "MENDED"), Offer::Nothing);
    assert_eq!(offered("NONE", "DONE"), Offer::Nothing);
    hand.roles.push("boss".into());
    assert_eq!(offer(&machine, "READY", "SKIP", &mut hand), Offer::Open);
}

#[test]
fn finishing_takes_the_edge_and_what_follows() {
    let taken = taken();
    let plan = finish(
        &machine(),
        &at("READY", 1),
        1,
        &done("DONE", Some(&taken)),
        &mut Hand::default(),
    )
    .unwrap();
    assert_eq!(plan.steps.len(), 2);
    assert_eq!(plan.revision, 3);
}

#[test]
fn a_verdict_of_a_machine_is_about_what_it_took() {
    let taken = taken();
    let sign = done("SIGN", Some(&taken));
    let plan = finish(&machine(), &at("READY", 1), 1, &sign, &mut Hand::default());
    assert!(plan.unwrap().first().decision.is_some());
}

/// Each of them is wrong in one more way than the next: the first that is asked about is told.
#[test]
fn refusals_come_in_the_order_of_the_contract() {
    let machine = machine();
    let old = taken();
    let newer = Instance {
        material_version: 2,
        ..at("BROKEN", 3)
    };
    let left = at("BROKEN", 3);
    let cases = [
        ("NONE", &newer, None, false, Reason::NoSuchTransition),
        ("SKIP", &newer, Some(&old), false, Reason::NotAuthorized),
        ("DONE", &newer, Some(&old), false, Reason::LeaseLost),
        ("DONE", &newer, None, true, Reason::LeaseLost),
        ("DONE", &newer, Some(&old), true, Reason::StaleMaterial),
        ("DONE", &left, Some(&old), true, Reason::StaleRevision),
    ];
    for (event, instance, taken, stands, reason) in cases {
        let mut hand = Hand::default();
        if !stands {
            hand.lease = Lease::Lost("over".into());
        }
        let result = finish(&machine, instance, 3, &done(event, taken), &mut hand);
        assert_eq!(refused(result).reason, reason, "{event} {}", instance.state);
    }
    let ready = at("READY", 1);
    let mut hand = Hand::default();
    let wrong = finish(&machine, &ready, 1, &done("MENDED", Some(&old)), &mut hand);
    assert_eq!(refused(wrong).reason, Reason::WrongState);
    hand.guard = Truth::Unknown;
    let unknown = finish(&machine, &ready, 1, &done("DONE", Some(&old)), &mut hand);
    assert_eq!(refused(unknown).reason, Reason::GuardRefused);
}

#[test]
fn what_the_worker_says_it_worked_on_counts_as_well() {
    let taken = taken();
    let says = Finish {
        material_version: Some(2),
        ..done("DONE", Some(&taken))
    };
    let result = finish(&machine(), &at("READY", 1), 1, &says, &mut Hand::default());
    let refusal = refused(result);
    assert_eq!(refusal.reason, Reason::StaleMaterial);
    assert_eq!(refusal.expected.material_version, Some(2));
}

#[test]
fn one_that_was_ended_has_moved_on() {
    let taken = taken();
    let ended = Instance {
        closed: true,
        ..at("READY", 2)
    };
    let command = done("DONE", Some(&taken));
    let refusal = refused(finish(
        &machine(),
        &ended,
        1,
        &command,
        &mut Hand::default(),
    ));
    assert_eq!(refusal.reason, Reason::StaleRevision);
    assert_eq!(refusal.expected.revision, Some(1));
}

#[test]
fn exhausted_work_goes_where_the_definition_says() {
    let machine = machine();
    let (from, to) = (machine.by_name["READY"], machine.by_name["BROKEN"]);
    let plan = exhaust(&machine, &at("READY", 1), from, to, &mut Hand::default()).unwrap();
    assert_eq!(plan.first().kind, StepKind::Exhaust);
    assert_eq!((plan.first().from, plan.rest()), (Some(from), to));
    assert_eq!(plan.entered_revision, Some(2));
}

#[test]
fn without_settings_it_is_tried_for_ever() {
    let retry = Retry::default();
    assert!(!retry.is_exhausted(i32::MAX));
    assert_eq!(retry.delay_ms(1, 0.0), 1_000);
    assert_eq!(retry.delay_ms(2, 0.0), 2_000);
    assert_eq!(retry.delay_ms(i32::MAX, 0.0), 300_000);
}

#[test]
fn it_is_exhausted_with_the_last_attempt() {
    let retry = Retry {
        max_attempts: Some(3),
        ..Retry::default()
    };
    assert!(!retry.is_exhausted(2));
    assert!(retry.is_exhausted(3));
    assert!(retry.is_exhausted(4));
}

proptest! {
    /// The delay doubles up to the ceiling, and jitter takes away at most one half of it.
    #[test]
    fn delays_double_up_to_the_ceiling(
        base_ms in 1u64..=2_592_000_000,
        more in 0u64..=2_592_000_000,
        attempts in 1i32..=i32::MAX,
        jitter in 0.0f64..=1.0,
    ) {
        let retry = Retry { base_ms, max_ms: base_ms + more, ..Retry::default() };
        let full = retry.delay_ms(attempts, 0.0);
        let doubled = base_ms.checked_shl((attempts - 1).min(63) as u32).filter(|delay| delay >> (attempts - 1).min(63) == base_ms);
        prop_assert_eq!(full, doubled.unwrap_or(u64::MAX).min(retry.max_ms));
        let delay = retry.delay_ms(attempts, jitter);
        prop_assert!(delay <= full && delay >= full - full / 2);
        prop_assert!(retry.delay_ms(attempts, 1.0) <= delay);
        prop_assert!(attempts == i32::MAX || retry.delay_ms(attempts + 1, 0.0) >= full);
    }
}
