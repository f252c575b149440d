//! Where `on_supersede` is demanded, so that no verdict is carried to new material in silence.

use serde_json::{Value, json};
use workflow_core::definition::OnSupersede;

use super::*;

fn decided(target: &str, decision: &str) -> Value {
    json!({"target": target, "meta": {"decision": decision}})
}

const MISSING: &str = "missing `on_supersede`: the state is behind the verdict";

/// A review with a step after the approval.
fn publication(approved_meta: Value) -> Value {
    machine(json!({
        "A": {"on": {"SUBMIT": "S"}},
        "S": {"on": {"APPROVE": decided("OK", "approve"), "RETURN": decided("A", "return")}},
        "OK": {"on": {"PUBLISH": "Z"}, "meta": approved_meta},
        "Z": {"type": "final"}
    }))
}

#[test]
fn an_open_approval_has_to_say() {
    refused(
        &publication(json!({})),
        "/states/OK/meta/on_supersede",
        MISSING,
    );
    for answer in ["stay", "refuse", "S", "A"] {
        clean(&publication(json!({"on_supersede": answer})));
    }
}

#[test]
fn a_review_with_final_verdicts_says_nothing() {
    clean(&review());
    let machine = sound(&review());
    let stay = |state: &workflow_core::definition::State| state.on_supersede == OnSupersede::Stay;
    assert!(machine.states.iter().all(stay));
}

#[test]
fn a_verdict_is_carried_by_other_edges() {
    for decision in ["approve", "reject"] {
        let spec = machine(json!({
            "A": {"on": {"DECIDE": decided("B", decision), "SKIP": "C"}},
            "B": {"always": {"target": "C", "guard": "$.a"}, "on": {"E": "C"}},
            "C": {"on": {"E": "Z"}},
            "Z": {"type": "final"}
        }));
        let found = errors(&spec);
        let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            ["/states/B/meta/on_supersede", "/states/C/meta/on_supersede"]
        );
    }
}

#[test]
fn a_return_takes_it_away() {
    // B asks for more; neither REWORK nor the review after it rests on a verdict.
    clean(&machine(json!({
        "A": {"on": {"SUBMIT": "B"}},
        "B": {"on": {"RETURN": decided("REWORK", "return"), "APPROVE": decided("Z", "approve")}},
        "REWORK": {"on": {"SUBMIT": "B"}},
        "Z": {"type": "final"}
    })));
}

#[test]
fn so_does_the_initial_state() {
    let spec = machine(json!({
        "A": {"on": {"SUBMIT": "B"}},
        "B": {"on": {"REJECT": decided("A", "reject"), "APPROVE": decided("OK", "approve")}},
        "OK": {"on": {"REOPEN": "A", "DONE": "Z"}, "meta": {"on_supersede": "A"}},
        "Z": {"type": "final"}
    }));
    clean(&spec);
    // Going back past the initial state keeps the verdict.
    let spec = with(spec, "/states/OK/on/REOPEN", json!("B"));
    refused(&spec, "/states/B/meta/on_supersede", MISSING);
}

#[test]
fn going_back_by_new_material_takes_it_away() {
    clean(&publication(json!({"on_supersede": "S"})));
    // REWORK is entered by new material only.
    clean(&machine(json!({
        "A": {"on": {"APPROVE": decided("B", "approve")}},
        "B": {"on": {"DONE": "Z"}, "meta": {"on_supersede": "REWORK"}},
        "REWORK": {"on": {"SUBMIT": "A"}},
        "Z": {"type": "final"}
    })));
}

#[test]
fn targets_of_on_supersede() {
    let path = "/states/OK/meta/on_supersede";
    refused(
        &publication(json!({"on_supersede": "X"})),
        path,
        "no state `X`",
    );
    refused(&publication(json!({"on_supersede": "Z"})), path, "is final");
    refused(
        &publication(json!({"on_supersede": ""})),
        path,
        "not be empty",
    );
}

#[test]
fn keywords_win_over_states() {
    let spec = machine(json!({
        "A": {"on": {"E": "stay"}, "meta": {"on_supersede": "stay"}},
        "stay": {"on": {"E": "Z"}},
        "Z": {"type": "final"}
    }));
    warned(
        &spec,
        "/states/A/meta/on_supersede",
        "`stay` is the keyword here",
    );
    let machine = sound(&spec);
    assert_eq!(
        machine.states[machine.initial].on_supersede,
        OnSupersede::Stay
    );
}
