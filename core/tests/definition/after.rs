//! `after`: edges that time takes.

use serde_json::{Value, json};
use workflow_core::definition::Delay;

use super::{clean, errors, machine, refused, sound, warned, with};

/// Waits in `A`, and goes to `B` if nobody stops it.
fn waiting(after: Value) -> Value {
    machine(json!({
        "A": {"on": {"STOP": "B"}, "after": after},
        "B": {"type": "final"}
    }))
}

#[test]
fn delays_are_milliseconds_durations_and_due() {
    let spec = with(
        waiting(
            json!({"1500": "B", "PT48H": [{"target": "B", "guard": "$.material.a > 1"}, "B"], "due": "B"}),
        ),
        "/states/A/meta",
        json!({"task": {"seats": [{"name": "s", "roles": []}], "due": "P1D"}}),
    );
    let machine = sound(&spec);
    let timers = &machine.states[machine.state("A").unwrap()].after;
    let read: Vec<(&str, &Delay, usize)> = timers
        .iter()
        .map(|timer| (timer.event.as_str(), &timer.delay, timer.branches.len()))
        .collect();
    assert_eq!(
        read,
        [
            ("after.due", &Delay::Due, 1),
            ("after.1500", &Delay::Span("1500 milliseconds".into()), 1),
            ("after.PT48H", &Delay::Span("PT48H".into()), 2),
        ]
    );
    assert_eq!(timers[2].branches[1].event, "after.PT48H");
    assert_eq!(timers[2].branches[1].path, "/states/A/after/PT48H/1");
    // Nobody can send it.
    assert!(!machine.has_event("after.PT48H"));
}

#[test]
fn what_is_no_delay_is_refused() {
    for (key, words) in [
        ("soon", "must be a number of milliseconds"),
        ("", "must be a number of milliseconds"),
        ("-5", "must be a number of milliseconds"),
        ("1.5", "must be a number of milliseconds"),
        ("P", "ISO 8601"),
        ("PT0S", "longer than nothing"),
        ("0", "use `always`"),
        ("010", "leading zeros"),
        ("P101Y", "100 years"),
        ("3155760000001", "100 years"),
        ("99999999999999999999", "100 years"),
    ] {
        refused(
            &waiting(json!({key: "B"})),
            &format!("/states/A/after/{key}"),
            words,
        );
    }
    clean(&waiting(json!({"3155760000000": "B"})));
    refused(
        &waiting(json!([{"delay": 5, "target": "B"}])),
        "/states/A/after",
        "object",
    );
    refused(
        &waiting(json!({"PT1S": []})),
        "/states/A/after/PT1S",
        "leads nowhere",
    );
    refused(
        &waiting(json!({"PT1S": "C"})),
        "/states/A/after/PT1S",
        "no state",
    );
}

#[test]
fn time_is_nobody() {
    for (key, value, words) in [
        ("roles", json!(["x"]), "no roles"),
        ("decision", json!("approve"), "no verdict"),
    ] {
        refused(
            &waiting(json!({"PT1S": {"target": "B", "meta": {key: value}}})),
            &format!("/states/A/after/PT1S/meta/{key}"),
            words,
        );
    }
    clean(&waiting(
        json!({"PT1S": {"target": "B", "meta": {"publish": false}}}),
    ));
    // An event of that name could be sent by somebody.
    let spec = with(
        waiting(json!({"PT1S": "B"})),
        "/states/A/on",
        json!({"after.PT1S": "B"}),
    );
    refused(&spec, "/states/A/on/after.PT1S", "timers are named so");
}

#[test]
fn due_needs_a_task_with_a_due_date() {
    refused(
        &waiting(json!({"due": "B"})),
        "/states/A/after/due",
        "no task with a `due`",
    );
    let meta = json!({"task": {"seats": [{"name": "s", "roles": []}]}});
    let spec = with(waiting(json!({"due": "B"})), "/states/A/meta", meta);
    refused(&spec, "/states/A/after/due", "no task with a `due`");
}

#[test]
fn restart_belongs_beside_delays() {
    let of = |spec: &Value| {
        let machine = sound(spec);
        machine.states[machine.state("A").unwrap()].restart
    };
    assert!(!of(&waiting(json!({"PT1S": "B"}))));
    assert!(of(&waiting(json!({"PT1S": "B", "restart": true}))));
    assert!(!of(&waiting(json!({"PT1S": "B", "restart": false}))));
    refused(
        &waiting(json!({"PT1S": "B", "restart": "yes"})),
        "/states/A/after/restart",
        "true or false",
    );
    refused(
        &waiting(json!({"restart": true})),
        "/states/A/after/restart",
        "no delay",
    );
}

#[test]
fn equal_delays_are_pointed_out() {
    warned(
        &waiting(json!({"1000": "B", "PT1S": "B"})),
        "/states/A/after/PT1S",
        "as long",
    );
}

#[test]
fn timers_are_edges_of_the_graph() {
    // A state with nothing but a timer is no dead end, and what it leads to can be reached.
    clean(&machine(
        json!({"A": {"after": {"PT1S": "B"}}, "B": {"type": "final"}}),
    ));
    // A final state has none.
    refused(
        &machine(json!({"A": {"on": {"GO": "B"}}, "B": {"type": "final", "after": {"PT1S": "A"}}})),
        "/states/B/after",
        "a final state has no edges",
    );
    // A verdict is carried on by time.
    let spec = machine(json!({
        "A": {"on": {"APPROVE": {"target": "B", "meta": {"decision": "approve"}}}},
        "B": {"after": {"PT1S": "C"}, "meta": {"on_supersede": "A"}},
        "C": {"on": {"GO": "D"}},
        "D": {"type": "final"}
    }));
    refused(&spec, "/states/C/meta/on_supersede", "behind the verdict");
    // Two branches without a guard.
    let spec = waiting(json!({"PT1S": ["B", "B"]}));
    assert_eq!(errors(&spec).len(), 1);
}
