//! Keys, JSON types, names, guards.

use serde_json::{Value, json};
use workflow_core::definition::{Decision, LockMode, OnSupersede, RejectRule, Rule};

use super::*;

#[test]
fn compiles_a_review() {
    let machine = sound(&review());
    assert_eq!(machine.name, "review");
    assert_eq!(machine.states[machine.initial].name, "DRAFT");
    assert!(!machine.concurrent);
    assert_eq!(machine.lock_mode, None);
    let submitted = &machine.states[machine.state("SUBMITTED").unwrap()];
    let events: Vec<_> = submitted
        .events()
        .map(|(event, b)| (event, b.len()))
        .collect();
    assert_eq!(events, [("APPROVE", 1), ("REJECT", 1), ("RETURN", 1)]);
    let edge = submitted.branches("APPROVE").next().unwrap();
    assert_eq!(edge.decision, Some(Decision::Approve));
    assert_eq!(edge.path, "/states/SUBMITTED/on/APPROVE");
    assert!(edge.publish && edge.roles.is_empty());
    let task = submitted.task.as_ref().unwrap();
    assert_eq!(task.seats[0].roles, ["reviewer"]);
    assert!(task.self_approval);
    assert!(machine.has_event("SUBMIT") && !machine.has_event("SUBMITTED"));
    assert_eq!(submitted.branches("SUBMIT").count(), 0);
    clean(&review());
}

#[test]
fn compiles_every_setting() {
    let spec = json!({
        "$schema": "https://example.org/machine.json",
        "id": "all", "description": "words", "version": 3, "tags": ["a"], "strict": true,
        "predictableActionArguments": true, "type": "compound", "initial": "A",
        "meta": {"concurrent": true, "lock_mode": "pessimistic"},
        "states": {
            "A": {
                "type": "atomic", "description": "words", "tags": "x",
                "on": {"GO": [
                    {"target": "B", "guard": "$.payload.n > 1", "description": "words"},
                    {"target": ["C"], "guard": "strict $.payload.n < 0",
                     "meta": {"roles": ["r"], "publish": false, "decision": "reject"}},
                    {"target": "Z", "meta": {"decision": "approve"}}
                ]},
                "meta": {
                    "on_supersede": "refuse",
                    "task": {
                        "seats": [{"name": "s"}, {"name": "t", "roles": ["r"], "veto": true}],
                        "rule": "any", "reject": "first", "self_approval": false,
                        "one_vote_each": false, "due": "PT48H"
                    }
                }
            },
            "B": {"always": {"target": "Z", "guard": "$.material.ok == true"}, "on": {"E": "Z"}},
            "C": {"on": {"E": "Z"}, "meta": {"on_supersede": "A"}},
            "Z": {"type": "final"}
        }
    });
    clean(&spec);
    let machine = sound(&spec);
    assert!(machine.concurrent);
    assert_eq!(machine.lock_mode, Some(LockMode::Pessimistic));
    let [a, b, c] = ["A", "B", "C"].map(|name| machine.state(name).unwrap());
    let go: Vec<_> = machine.states[a].branches("GO").collect();
    assert_eq!(go.len(), 3);
    assert_eq!(go[0].guard.as_deref(), Some("$.payload.n > 1"));
    assert_eq!(go[1].guard.as_deref(), Some("strict $.payload.n < 0"));
    assert_eq!((go[1].target, go[1].publish), (c, false));
    assert_eq!(go[1].roles, ["r"]);
    assert_eq!(go[2].path, "/states/A/on/GO/2");
    assert_eq!(machine.states[a].on_supersede, OnSupersede::Refuse);
    let task = machine.states[a].task.as_ref().unwrap();
    assert_eq!(task.rule, Rule::Any);
    assert_eq!(task.reject, RejectRule::After(1));
    assert_eq!(task.due.as_deref(), Some("PT48H"));
    assert!(!task.self_approval && !task.one_vote_each);
    let seats: Vec<_> = task
        .seats
        .iter()
        .map(|s| (s.name.as_str(), s.veto))
        .collect();
    assert_eq!(seats, [("s", false), ("t", true)]);
    assert_eq!(machine.states[b].always[0].path, "/states/B/always");
    assert_eq!(machine.states[c].on_supersede, OnSupersede::GoTo(a));
}

#[test]
fn lock_modes() {
    for (word, mode) in [
        ("optimistic", LockMode::Optimistic),
        ("adaptive", LockMode::Adaptive),
    ] {
        let spec = review_with("/meta", json!({"lock_mode": word}));
        assert_eq!(sound(&spec).lock_mode, Some(mode));
    }
    let spec = review_with("/meta", json!({"lock_mode": "none"}));
    refused(
        &spec,
        "/meta/lock_mode",
        "`optimistic`, `pessimistic`, `adaptive`",
    );
}

#[test]
fn what_every_machine_has() {
    refused(&json!([]), "", "must be an object, not an array");
    let all = errors(&json!({}));
    let all: Vec<_> = all.iter().map(|(p, m)| (p.as_str(), m.as_str())).collect();
    let missing = [
        ("/id", "missing `id`"),
        ("/initial", "missing `initial`"),
        ("/states", "missing `states`"),
    ];
    assert_eq!(all, missing);
    refused(&review_with("/id", json!("")), "/id", "must not be empty");
    refused(
        &review_with("/id", json!(1)),
        "/id",
        "a string, not a number",
    );
    refused(
        &review_with("/initial", json!("X")),
        "/initial",
        "no state `X`",
    );
    refused(
        &review_with("/initial", json!("")),
        "/initial",
        "not be empty",
    );
    refused(
        &review_with("/states", json!({})),
        "/states",
        "at least one",
    );
    refused(&review_with("/states", json!(null)), "/states", "not null");
}

#[test]
fn keys_that_wait_are_named() {
    let waiting = [
        ("", "context", "context"),
        ("/meta", "facts", "meta.facts"),
        ("/states/SUBMITTED/on/APPROVE/meta", "assign", "meta.assign"),
    ];
    let base = review_with("/meta", json!({}));
    let base = with(base, "/states/DRAFT/meta", json!({}));
    for (place, key, name) in waiting {
        let mut spec = base.clone();
        let object = spec.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.insert(key.into(), json!({}));
        let path = format!("{place}/{key}");
        refused(&spec, &path, &format!("not built yet: `{name}`"));
    }
}

#[test]
fn keys_of_xstate_are_named() {
    for (place, key) in [
        ("", "on"),
        ("", "entry"),
        ("", "schema"),
        ("/states/DRAFT", "invoke"),
        ("/states/DRAFT", "entry"),
        ("/states/DRAFT", "exit"),
        ("/states/DRAFT", "onDone"),
        ("/states/DRAFT", "id"),
        ("/states/SUBMITTED/on/APPROVE", "actions"),
        ("/states/SUBMITTED/on/APPROVE", "cond"),
        ("/states/SUBMITTED/on/APPROVE", "reenter"),
    ] {
        let mut spec = review();
        let object = spec.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.insert(key.into(), json!([]));
        refused(
            &spec,
            &format!("{place}/{key}"),
            &format!("not supported: `{key}`"),
        );
    }
    for key in ["states", "initial"] {
        let path = format!("/states/DRAFT/{key}");
        refused(
            &review_with(&path, json!({})),
            &path,
            "nested states are not supported",
        );
    }
    for (kind, words) in [
        ("parallel", "parallel states are not supported"),
        ("compound", "nested states are not supported"),
        ("history", "history states are not supported"),
        ("finale", "unknown state type `finale`"),
    ] {
        let spec = review_with("/states/DRAFT/type", json!(kind));
        refused(&spec, "/states/DRAFT/type", words);
    }
    let spec = review_with("/type", json!("parallel"));
    refused(&spec, "/type", "parallel states are not supported");
}

#[test]
fn unknown_keys() {
    refused(
        &review_with("/sates", json!(1)),
        "/sates",
        "unknown key `sates`",
    );
    let spec = review_with("/states/DRAFT/task", json!({}));
    refused(&spec, "/states/DRAFT/task", "it belongs under `meta`");
    let spec = review_with("/states/DRAFT/a~1b~0c", json!(1));
    refused(&spec, "/states/DRAFT/a~01b~00c", "unknown key `a~1b~0c`");
    let spec = review_with("/states/SUBMITTED/on/APPROVE/meta/invoke", json!(1));
    refused(
        &spec,
        "/states/SUBMITTED/on/APPROVE/meta/invoke",
        "unknown key",
    );
}

#[test]
fn wrong_types() {
    for (path, value) in [
        ("/description", json!(1)),
        ("/version", json!([])),
        ("/tags", json!([1])),
        ("/strict", json!("yes")),
        ("/$schema", json!(null)),
        ("/type", json!(1)),
        ("/meta", json!([])),
        ("/states/DRAFT", json!("x")),
        ("/states/DRAFT/on", json!([])),
        ("/states/DRAFT/type", json!(true)),
        ("/states/DRAFT/meta", json!(1)),
        ("/states/SUBMITTED/meta/task", json!("reviewer")),
        ("/states/SUBMITTED/meta/task/seats", json!({})),
        ("/states/SUBMITTED/meta/task/seats/0", json!("reviewer")),
        ("/states/SUBMITTED/meta/task/rule", json!(1)),
        ("/states/SUBMITTED/meta/task/reject", json!(true)),
        ("/states/SUBMITTED/meta/task/due", json!(48)),
        ("/states/SUBMITTED/meta/task/self_approval", json!("no")),
        ("/states/SUBMITTED/meta/task/one_vote_each", json!(1)),
        ("/states/SUBMITTED/meta/on_supersede", json!(true)),
        ("/states/SUBMITTED/on/APPROVE/meta", json!("approve")),
        ("/states/SUBMITTED/on/APPROVE/guard", json!(true)),
        ("/states/SUBMITTED/on/APPROVE/meta/roles", json!("r")),
        ("/states/SUBMITTED/on/APPROVE/meta/decision", json!(1)),
        ("/states/SUBMITTED/on/APPROVE/meta/publish", json!(0)),
    ] {
        let mut spec = review();
        let (parent, key) = path.rsplit_once('/').unwrap();
        match spec.pointer_mut(parent).unwrap() {
            Value::Array(list) => list[0] = value,
            parent => parent[key] = value,
        }
        let found = errors(&spec);
        let wrong = found
            .iter()
            .filter(|(_, message)| message.contains("must be "));
        let paths: Vec<_> = wrong.map(|(found, _)| found.as_str()).collect();
        assert_eq!(paths, [path], "{found:#?}");
    }
    let spec = review_with("/meta", json!({"concurrent": 1}));
    refused(&spec, "/meta/concurrent", "true or false, not a number");
}

#[test]
fn targets() {
    let on = "/states/DRAFT/on/SUBMIT";
    let spec = |edge: Value| {
        // A second edge keeps the rest reachable.
        with(
            review_with("/states/DRAFT/on/OTHER", json!("SUBMITTED")),
            on,
            edge,
        )
    };
    let object = format!("{on}/target");
    for (edge, path, words) in [
        (json!("X"), on, "no state `X`"),
        (json!({"target": "X"}), object.as_str(), "no state `X`"),
        (json!({"target": ".X"}), &object, "not supported: `.X`"),
        (json!({"target": "#m.X"}), &object, "not supported: `#m.X`"),
        (
            json!({"target": ["DRAFT", "SUBMITTED"]}),
            &object,
            "exactly one state",
        ),
        (json!({"target": []}), &object, "exactly one state"),
        (json!({"target": 1}), &object, "a string, not a number"),
        (json!({}), &object, "missing `target`"),
        (json!(null), on, "not null"),
        (json!(7), on, "not a number"),
        (json!([]), on, "leads nowhere"),
    ] {
        refused(&spec(edge), path, words);
    }
    let nested = spec(json!({"target": ["X"]}));
    refused(&nested, "/states/DRAFT/on/SUBMIT/target/0", "no state `X`");
    clean(&spec(json!({"target": ["DRAFT"]})));
}

#[test]
fn guards() {
    let guarded = |guard: Value| review_with("/states/SUBMITTED/on/APPROVE/guard", guard);
    let path = "/states/SUBMITTED/on/APPROVE/guard";
    refused(&guarded(json!({"type": "isRich"})), path, "guard objects");
    refused(&guarded(json!("")), path, "must not be empty");
    refused(&guarded(json!("  ")), path, "must not be empty");
    refused(&guarded(json!("$\0")), path, "U+0000");
    refused(&guarded(json!("$".repeat(4097))), path, "4096 bytes");
    for lax in ["lax $.material.a > 1", "  LAX $.a", "lax$.a", "lax"] {
        refused(&guarded(json!(lax)), path, "must not be `lax`");
    }
    for fine in ["strict $.a > 1", "$.lax > 1", "lax_mode > 1", "exists($.a)"] {
        clean(&guarded(json!(fine)));
    }
}

#[test]
fn edge_settings() {
    let meta = |meta: Value| review_with("/states/SUBMITTED/on/RETURN/meta", meta);
    let path = "/states/SUBMITTED/on/RETURN/meta";
    let words = "`approve`, `reject`, `return`, not `pass`";
    refused(
        &meta(json!({"decision": "pass"})),
        &format!("{path}/decision"),
        words,
    );
    refused(
        &meta(json!({"roles": []})),
        &format!("{path}/roles"),
        "must name a role",
    );
    refused(
        &meta(json!({"roles": [1]})),
        &format!("{path}/roles/0"),
        "a string",
    );
    refused(
        &meta(json!({"roles": [""]})),
        &format!("{path}/roles/0"),
        "empty",
    );
}

#[test]
fn event_names() {
    let event = |event: &str| {
        let mut spec = review();
        spec["states"]["DRAFT"]["on"][event] = json!("DRAFT");
        spec
    };
    refused(&event(""), "/states/DRAFT/on/", "use `always`");
    refused(&event("*"), "/states/DRAFT/on/*", "wildcard event `*`");
    refused(&event("mouse.*"), "/states/DRAFT/on/mouse.*", "wildcard");
    clean(&event("mouse.up"));
    clean(&event("Ünterschrift geprüft"));
}

#[test]
fn names_of_all_kinds() {
    for (name, words) in [
        ("a\u{1}", "control character"),
        ("a\u{7f}", "control character"),
        ("a\u{85}b", "control character"),
        ("a\u{0}", "control character"),
        (" a", "white space"),
        ("a\u{a0}", "white space"),
    ] {
        refused(&review_with("/id", json!(name)), "/id", words);
        let mut spec = review();
        spec["states"]["DRAFT"]["on"][name] = json!("DRAFT");
        refused(&spec, &format!("/states/DRAFT/on/{name}"), words);
    }
    clean(&review_with("/id", json!("x".repeat(200))));
    clean(&review_with("/id", json!("é".repeat(100))));
    refused(
        &review_with("/id", json!("é".repeat(101))),
        "/id",
        "200 bytes",
    );

    let long = "x".repeat(201);
    let mut spec = review_with("/states/DRAFT/on/E", json!(long));
    spec["states"][&long] = json!({"on": {"F": "nowhere"}});
    refused(&spec, &format!("/states/{long}"), "200 bytes");
}

#[test]
fn look_alikes_get_a_warning() {
    let mut spec = review();
    spec["states"]["DRAFT"]["on"]["submit"] = json!("DRAFT");
    warned(
        &spec,
        "/states/DRAFT/on/submit",
        "`submit` differs from `SUBMIT` in case only",
    );
    spec["states"]["DRAFT"]["on"]["submit"] = json!("SUBMITTED");
    assert_eq!(warnings(&spec).len(), 2);

    let mut spec = review();
    spec["states"]["Draft"] = json!({"on": {"E": "DRAFT"}});
    spec["states"]["DRAFT"]["on"]["E"] = json!("Draft");
    warned(&spec, "/states/Draft", "they are two names");

    // An event may be called like a state, and a Cyrillic А is no Latin A.
    let mut spec = review();
    spec["states"]["DRAFT"]["on"]["draft"] = json!("DRAFT");
    spec["states"]["DRAFT"]["on"]["\u{410}"] = json!({"target": "DRAFT", "meta": {"roles": ["a"]}});
    spec["states"]["DRAFT"]["on"]["A"] = json!({"target": "DRAFT", "meta": {"roles": ["b"]}});
    only(
        warnings(&spec),
        "/states/DRAFT/on",
        "`A`, `draft`, `\u{410}`",
    );
}

#[test]
fn all_findings_at_once_and_sorted() {
    let spec = json!({
        "id": "", "initial": "B", "x": 1,
        "states": {
            "A": {"on": {"E": "NOWHERE"}, "invoke": {}},
            "B": {},
            "C": {"type": "final", "on": {"E": "A"}}
        }
    });
    let found = errors(&spec);
    let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    let wanted = [
        "/id",
        "/states/A",
        "/states/A/invoke",
        "/states/A/on/E",
        "/states/B",
        "/states/C",
        "/states/C/on",
        "/x",
    ];
    assert_eq!(paths, wanted, "{found:#?}");
}
