//! Specs in, machines and findings out.

mod after;
mod graph;
mod properties;
mod shape;
mod supersede;
mod tasks;

use serde_json::{Value, json};
use workflow_core::definition::{Definition, Severity, parse};

/// A review whose verdicts end it.
fn review() -> Value {
    json!({
        "id": "review",
        "initial": "DRAFT",
        "states": {
            "DRAFT": {"on": {"SUBMIT": "SUBMITTED"}},
            "SUBMITTED": {
                "on": {
                    "APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
                    "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
                    "RETURN": {"target": "DRAFT", "meta": {"decision": "return"}}
                },
                "meta": {"task": {"seats": [{"name": "reviewer", "roles": ["reviewer"]}]}}
            },
            "APPROVED": {"type": "final"},
            "REJECTED": {"type": "final"}
        }
    })
}

/// The review with the value at a pointer replaced; the parent has to exist.
fn review_with(pointer: &str, value: Value) -> Value {
    with(review(), pointer, value)
}

fn with(mut spec: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = spec.pointer_mut(parent).expect("the parent exists");
    parent[key] = value;
    spec
}

/// A machine of the given states that starts in `A`.
fn machine(states: Value) -> Value {
    json!({"id": "m", "initial": "A", "states": states})
}

fn sound(spec: &Value) -> Definition {
    let (definition, findings) = parse(spec);
    definition.unwrap_or_else(|| panic!("{findings:#?}"))
}

fn of(severity: Severity, spec: &Value) -> Vec<(String, String)> {
    let (definition, findings) = parse(spec);
    let errors = findings.iter().any(|f| f.severity == Severity::Error);
    assert_eq!(definition.is_none(), errors, "{findings:#?}");
    let findings = findings.into_iter().filter(|f| f.severity == severity);
    findings.map(|f| (f.path, f.message)).collect()
}

fn errors(spec: &Value) -> Vec<(String, String)> {
    of(Severity::Error, spec)
}

fn warnings(spec: &Value) -> Vec<(String, String)> {
    of(Severity::Warning, spec)
}

/// Asserts that there is exactly one error, at this place and with these words in it.
#[track_caller]
fn refused(spec: &Value, path: &str, words: &str) {
    only(errors(spec), path, words);
}

/// Asserts that the spec is accepted with exactly one warning.
#[track_caller]
fn warned(spec: &Value, path: &str, words: &str) {
    assert_eq!(errors(spec), []);
    only(warnings(spec), path, words);
}

#[track_caller]
fn only(found: Vec<(String, String)>, path: &str, words: &str) {
    let fits = found.len() == 1 && found[0].0 == path && found[0].1.contains(words);
    assert!(fits, "wanted {path:?} {words:?}, found {found:#?}");
}

/// Asserts that nothing at all is to be said.
#[track_caller]
fn clean(spec: &Value) {
    let (definition, findings) = parse(spec);
    assert_eq!(findings, []);
    assert!(definition.is_some());
}
