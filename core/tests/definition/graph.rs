//! Reachability, dead ends, circles, order of branches, size.

use serde_json::{Map, Value, json};
use workflow_core::definition::{MAX_EDGES, MAX_STATES, parse};

use super::*;

#[test]
fn unreachable_states() {
    let spec = machine(json!({
        "A": {"on": {"E": "Z"}},
        "B": {"on": {"E": "B2"}},
        "B2": {"on": {"E": "B", "F": "Z"}},
        "Z": {"type": "final"}
    }));
    let found = errors(&spec);
    let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/states/B", "/states/B2"]);
    assert_eq!(found[0].1, "cannot be reached from `A`");
}

#[test]
fn new_material_may_be_the_only_way_in() {
    clean(&machine(json!({
        "A": {"on": {"E": "Z"}, "meta": {"on_supersede": "B"}},
        "B": {"always": "Z"},
        "Z": {"type": "final"}
    })));
}

#[test]
fn dead_ends() {
    for state in [json!({}), json!({"on": {}, "always": []})] {
        let spec = machine(json!({
            "A": {"on": {"E": "B", "F": "Z"}}, "B": state, "Z": {"type": "final"}
        }));
        refused(&spec, "/states/B", "dead end");
    }
    // Edges that could not be read are edges all the same.
    let spec = machine(json!({
        "A": {"on": {"E": "B", "F": "Z"}}, "B": {"on": {"E": "X"}}, "Z": {"type": "final"}
    }));
    refused(&spec, "/states/B/on/E", "no state `X`");
}

#[test]
fn states_without_an_end() {
    let spec = machine(json!({
        "A": {"on": {"E": "B", "F": "Z"}},
        "B": {"on": {"E": "C"}}, "C": {"on": {"E": "B"}},
        "Z": {"type": "final"}
    }));
    let found = warnings(&spec);
    assert_eq!(errors(&spec), []);
    let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/states/B", "/states/C"]);

    let spec = machine(json!({"A": {"on": {"E": "B"}}, "B": {"on": {"E": "A"}}}));
    warned(&spec, "/states", "no state is final");
}

#[test]
fn final_states() {
    for key in ["on", "always"] {
        let spec = review_with(
            &format!("/states/APPROVED/{key}"),
            if key == "on" {
                json!({"E": "DRAFT"})
            } else {
                json!("DRAFT")
            },
        );
        refused(
            &spec,
            &format!("/states/APPROVED/{key}"),
            "a final state has no edges",
        );
    }
    clean(&review_with("/states/APPROVED/on", json!({})));
    let spec = review_with(
        "/states/APPROVED/meta",
        json!({"task": {"seats": [{"name": "s"}]}}),
    );
    refused(
        &spec,
        "/states/APPROVED/meta/task",
        "a final state has no task",
    );
    let spec = review_with("/states/APPROVED/meta", json!({"on_supersede": "stay"}));
    warned(&spec, "/states/APPROVED/meta/on_supersede", "no effect");
    warned(
        &machine(json!({"A": {"type": "final"}})),
        "/initial",
        "instances end where they start",
    );
}

#[test]
fn branches_that_are_never_taken() {
    let spec = |branches: Value| {
        machine(json!({
            "A": {"on": {"E": branches, "F": "B"}},
            "B": {"on": {"E": "Z"}},
            "Z": {"type": "final"}
        }))
    };
    let words = "a branch before it has no guard";
    refused(&spec(json!(["Z", "A"])), "/states/A/on/E/1", words);
    refused(
        &spec(json!([{"target": "Z"}, {"target": "Z", "guard": "$.a"}])),
        "/states/A/on/E/1",
        words,
    );
    assert_eq!(errors(&spec(json!(["Z", "A", "A"]))).len(), 2);
    let twice = json!([{"target": "Z", "guard": "$.a"}, {"target": "A", "guard": "$.a"}, "A"]);
    refused(&spec(twice), "/states/A/on/E/1", "the same guard");
    clean(&spec(
        json!([{"target": "Z", "guard": "$.a"}, {"target": "Z", "guard": "$.b"}, "A"]),
    ));

    let always = machine(json!({
        "A": {"always": ["Z", {"target": "B", "guard": "$.a"}]},
        "B": {"on": {"E": "Z"}},
        "Z": {"type": "final"}
    }));
    refused(&always, "/states/A/always/1", words);
}

#[test]
fn circles_of_always() {
    let own = machine(json!({
        "A": {"always": {"target": "A", "guard": "$.a"}, "on": {"E": "Z"}},
        "Z": {"type": "final"}
    }));
    refused(&own, "/states/A/always", "runs in a circle: `A` → `A`");

    let spec = machine(json!({
        "A": {"on": {"E": "B"}},
        "B": {"always": [{"target": "Z", "guard": "$.a"}, {"target": "C", "guard": "$.b"}]},
        "C": {"always": "D"},
        "D": {"always": [{"target": "B", "guard": "$.a"}, "Z"]},
        "Z": {"type": "final"}
    }));
    refused(
        &spec,
        "/states/D/always/0",
        "runs in a circle: `B` → `C` → `D` → `B`",
    );

    // Two ways to one state are no circle, and neither is a way back by an event.
    clean(&machine(json!({
        "A": {"always": [{"target": "B", "guard": "$.a"}, {"target": "C", "guard": "$.b"}],
              "on": {"E": "Z"}},
        "B": {"always": "C"},
        "C": {"on": {"E": "A"}},
        "Z": {"type": "final"}
    })));
}

#[test]
fn always_edges_have_no_actor() {
    let spec = |meta: Value| {
        machine(json!({
            "A": {"always": {"target": "Z", "guard": "$.a", "meta": meta}, "on": {"E": "Z"}},
            "Z": {"type": "final"}
        }))
    };
    let path = "/states/A/always/meta";
    refused(
        &spec(json!({"roles": ["r"]})),
        &format!("{path}/roles"),
        "not a person",
    );
    refused(
        &spec(json!({"decision": "approve"})),
        &format!("{path}/decision"),
        "is no decision",
    );
    clean(&spec(json!({"publish": false})));
}

#[test]
fn states_where_no_instance_rests() {
    let spec = machine(json!({
        "A": {"always": "Z", "on": {"E": "Z"}},
        "Z": {"type": "final"}
    }));
    warned(&spec, "/states/A", "nothing can happen here");
    clean(&machine(
        json!({"A": {"always": "Z"}, "Z": {"type": "final"}}),
    ));
    let guarded = json!({"target": "APPROVED", "guard": "$.material.amount < 10"});
    clean(&review_with("/states/SUBMITTED/always", guarded));
}

#[test]
fn ambiguous_pairs() {
    let spec = machine(json!({
        "A": {"on": {
            "E": [{"target": "Z", "guard": "$.a"}, {"target": "Z", "guard": "$.b"}],
            "F": {"target": "A", "guard": "$.a"},
            "G": "Z"
        }},
        "Z": {"type": "final"}
    }));
    warned(
        &spec,
        "/states/A/on",
        "several events lead to `Z`: `E`, `G`",
    );
}

/// A ring of states, each with three edges.
fn ring(count: usize) -> Value {
    let name = |i: usize| format!("S{}", i % count);
    let states: Map<String, Value> = (0..count)
        .map(|i| {
            let edges = json!({
                "NEXT": name(i + 1),
                "JUMP": {"target": name(i * 7 + 3), "guard": "$.payload.jump == true"},
                "END": {"target": "END", "meta": {"decision": "approve"}}
            });
            (name(i), json!({"on": edges}))
        })
        .chain([("END".to_owned(), json!({"type": "final"}))])
        .collect();
    json!({"id": "ring", "initial": "S0", "states": states})
}

#[test]
fn ten_thousand_states() {
    let machine = sound(&ring(10_000));
    assert_eq!(machine.states.len(), 10_001);
    assert!(machine.has_event("JUMP"));
}

/// Deep enough to break any walk that calls itself, in each of the ways that are walked.
#[test]
fn chains_of_the_greatest_length() {
    let chain = |link: &dyn Fn(String) -> Value| {
        let last = MAX_STATES - 1;
        let states: Map<String, Value> = (0..last)
            .map(|i| (format!("S{i}"), link(format!("S{}", i + 1))))
            .chain([(format!("S{last}"), json!({"type": "final"}))])
            .collect();
        json!({"id": "chain", "initial": "S0", "states": states})
    };
    clean(&chain(&|next| json!({"on": {"E": next}})));
    clean(&chain(&|next| json!({"always": next})));
    let approve = |next| json!({"on": {"E": {"target": next, "meta": {"decision": "approve"}}}});
    assert_eq!(errors(&chain(&approve)).len(), MAX_STATES - 2);

    let mut circle = chain(&|next| json!({"always": {"target": next, "guard": "$.a"}}));
    let last = format!("S{}", MAX_STATES - 1);
    circle["states"][&last] = json!({"always": {"target": "S0", "guard": "$.a"}});
    refused(&circle, &format!("/states/{last}/always"), "`S0` → `S1`");
}

#[test]
fn limits() {
    let states: Map<String, Value> = (0..=MAX_STATES)
        .map(|i| (format!("S{i}"), json!({"invoke": 1})))
        .collect();
    let spec = json!({"id": "m", "initial": "S0", "states": states});
    refused(&spec, "/states", "more than 20000 states");

    let branches = |count: usize| {
        let list: Vec<Value> = (0..count)
            .map(|i| json!({"target": "Z", "guard": format!("$.n == {i}")}))
            .collect();
        machine(json!({"A": {"on": {"E": list}}, "Z": {"type": "final"}}))
    };
    assert!(parse(&branches(MAX_EDGES)).0.is_some());
    refused(
        &branches(MAX_EDGES + 1),
        "/states",
        "more than 100000 edges",
    );
}
