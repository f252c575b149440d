//! What holds for any document.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use workflow_core::definition::{
    Decision, Definition, Edge, MAX_SEATS, OnSupersede, RejectRule, Severity, State, Task, parse,
};

/// Words of the format, so that random documents get further than the first key.
const WORDS: &[&str] = &[
    "id",
    "initial",
    "states",
    "type",
    "final",
    "on",
    "always",
    "meta",
    "target",
    "guard",
    "task",
    "seats",
    "name",
    "roles",
    "rule",
    "approve_ratio",
    "reject",
    "first",
    "veto",
    "due",
    "PT48H",
    "self_approval",
    "one_vote_each",
    "on_supersede",
    "stay",
    "refuse",
    "decision",
    "approve",
    "return",
    "publish",
    "concurrent",
    "lock_mode",
    "after",
    "invoke",
    "A",
    "B",
    "a/b~c",
    "",
    " x",
    "*",
    "$.a > 1",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(WORDS).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 96, 6, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::hash_map(word(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

const DECISIONS: &[&str] = &["approve", "reject", "return"];

/// Branches by target and decision. All but the last have a guard of their own.
fn branches(targets: Vec<(usize, Option<&str>)>, last_is_guarded: bool) -> Value {
    let count = targets.len();
    let branch = |(i, (target, decision)): (usize, (usize, Option<&str>))| {
        let mut edge = json!({"target": format!("S{target}")});
        if last_is_guarded || i + 1 < count {
            edge["guard"] = json!(format!("$.payload.n == {i}"));
        }
        if let Some(decision) = decision {
            edge["meta"] = json!({"decision": decision});
        }
        edge
    };
    targets.into_iter().enumerate().map(branch).collect()
}

/// A task that is right in its shape and often right in its figures.
fn task() -> impl Strategy<Value = Value> {
    let seats = prop::collection::vec(("[abcdefgh]", any::<bool>()), 1..5);
    let rule = prop_oneof![
        Just(Value::Null),
        Just(json!("any")),
        (1..4u8).prop_map(|n| json!({"approve": n})),
        (1..=10u8).prop_map(|n| json!({"approve_ratio": f64::from(n) / 10.0})),
    ];
    let reject = prop_oneof![
        Just(Value::Null),
        Just(json!("first")),
        (1..4u8).prop_map(Value::from)
    ];
    (seats, rule, reject).prop_map(|(seats, rule, reject)| {
        let seats = seats.into_iter();
        let seats = seats.map(|(name, veto)| json!({"name": name, "veto": veto}));
        let mut task = json!({"seats": seats.collect::<Value>()});
        for (key, value) in [("rule", rule), ("reject", reject)] {
            if !value.is_null() {
                task[key] = value;
            }
        }
        task
    })
}

/// A state of a machine of `count` states, most of them with an answer to new material.
fn state(count: usize) -> impl Strategy<Value = Value> {
    let target = 0..count;
    let decision = prop::option::weighted(0.3, prop::sample::select(DECISIONS));
    let list = prop::collection::vec((target.clone(), decision), 1..3);
    let on = prop::collection::hash_map("[EFG]", (list, any::<bool>()), 0..3);
    let always = prop::collection::vec((target.clone(), Just(None)), 0..3);
    let always = prop::option::weighted(0.3, always);
    let answer = prop_oneof![
        2 => Just("stay".to_owned()),
        2 => Just("refuse".to_owned()),
        2 => target.prop_map(|i| format!("S{i}")),
        1 => Just(String::new()),
    ];
    let task = prop::option::weighted(0.3, task());
    (on, always, answer, task).prop_map(|(on, always, answer, task)| {
        let on = on.into_iter();
        let on = on.map(|(event, (list, guarded))| (event, branches(list, guarded)));
        let mut state = json!({"on": on.collect::<Map<_, _>>()});
        if let Some(always) = always {
            state["always"] = branches(always, true);
        }
        if !answer.is_empty() {
            state["meta"] = json!({"on_supersede": answer});
        }
        if let Some(task) = task {
            state["meta"]["task"] = task;
        }
        state
    })
}

/// A machine that is right in its shape and often right as a graph: a line of states to a final
/// one, and edges across.
fn plausible() -> impl Strategy<Value = Value> {
    let states = (1..6usize).prop_flat_map(|open| prop::collection::vec(state(open + 1), open));
    states.prop_map(|states| {
        let open = states.len();
        let mut line = Map::new();
        for (i, mut state) in states.into_iter().enumerate() {
            state["on"]["NEXT"] = json!(format!("S{}", i + 1));
            line.insert(format!("S{i}"), state);
        }
        line.insert(format!("S{open}"), json!({"type": "final"}));
        json!({"id": "m", "initial": "S0", "states": line})
    })
}

fn targets(state: &State) -> Vec<usize> {
    let edges = state.edges.iter().chain(&state.always);
    let mut targets: Vec<usize> = edges.map(|edge| edge.target).collect();
    if let OnSupersede::GoTo(target) = state.on_supersede {
        targets.push(target);
    }
    targets
}

/// What the engine takes for granted.
fn assert_sound(machine: &Definition, spec: &Value) {
    let count = machine.states.len();
    assert!(machine.initial < count);
    let mut reached = vec![false; count];
    reached[machine.initial] = true;
    let mut open = vec![machine.initial];
    while let Some(id) = open.pop() {
        for target in targets(&machine.states[id]) {
            if !std::mem::replace(&mut reached[target], true) {
                open.push(target);
            }
        }
    }
    assert!(reached.iter().all(|reached| *reached));
    for (id, state) in machine.states.iter().enumerate() {
        assert_eq!(machine.state(&state.name), Some(id));
        assert_eq!(state.is_final, targets(state).is_empty());
        assert!(state.edges.is_sorted_by(|a, b| a.event <= b.event));
        for (event, branches) in state.events() {
            assert!(machine.has_event(event));
            let named: Vec<_> = state.branches(event).collect();
            assert_eq!(named, branches.iter().collect::<Vec<_>>());
        }
        for edge in state.edges.iter().chain(&state.always) {
            assert!(spec.pointer(&edge.path).is_some(), "{}", edge.path);
        }
        if let OnSupersede::GoTo(target) = state.on_supersede {
            assert!(!machine.states[target].is_final);
        }
        if let Some(task) = &state.task {
            assert_votable(task, state);
        }
    }
    assert_always_ends(machine);
}

/// Every limit can be reached, and a vote in favour can be given.
fn assert_votable(task: &Task, state: &State) {
    let names: HashSet<_> = task.seats.iter().map(|seat| &seat.name).collect();
    let seats = task.seats.len();
    assert_eq!(names.len(), seats);
    assert!((1..=MAX_SEATS).contains(&seats));
    assert!((1..=seats).contains(&task.rule.needed(seats)));
    if let RejectRule::After(limit) = task.reject {
        assert!((1..=seats).contains(&limit));
    }
    let approves = |edge: &Edge| edge.decision == Some(Decision::Approve);
    assert!(seats == 1 || state.edges.iter().any(approves));
}

/// Any choice of branches comes to rest: states can be taken away one by one as soon as all their
/// `always` edges lead to states that were.
fn assert_always_ends(machine: &Definition) {
    let mut resting = vec![false; machine.states.len()];
    for _ in 0..machine.states.len() {
        for (id, state) in machine.states.iter().enumerate() {
            resting[id] = state.always.iter().all(|edge| resting[edge.target]);
        }
    }
    assert!(resting.iter().all(|resting| *resting));
}

fn assert_coherent(spec: &Value) {
    let (definition, findings) = parse(spec);
    let errors = findings.iter().any(|f| f.severity == Severity::Error);
    assert_eq!(definition.is_some(), !errors);
    let sorted = |a: &_, b: &_| key(a) <= key(b);
    assert!(findings.is_sorted_by(sorted));
    for finding in &findings {
        assert!(!finding.message.is_empty());
        // The place exists, or it is where something is missing.
        let parents = finding
            .path
            .rsplit_once('/')
            .map_or("", |(parent, _)| parent);
        let parents = parents.strip_suffix("/meta").unwrap_or(parents);
        assert!(spec.pointer(parents).is_some(), "{finding:?}");
    }
    if let Some(machine) = definition {
        assert_sound(&machine, spec);
    }
}

fn key(finding: &workflow_core::definition::Finding) -> (&str, &str) {
    (&finding.path, &finding.message)
}

proptest! {
    #[test]
    fn any_document_is_answered(spec in json()) {
        assert_coherent(&spec);
    }

    #[test]
    fn plausible_machines_are_sound_or_refused(spec in plausible()) {
        assert_coherent(&spec);
    }

    #[test]
    fn a_spoilt_review_is_answered(junk in json(), place in any::<prop::sample::Index>()) {
        let mut spec = super::review();
        let mut places = Vec::new();
        let mut open = vec![(String::new(), &spec)];
        while let Some((path, value)) = open.pop() {
            if let Value::Object(members) = value {
                open.extend(members.iter().map(|(key, value)| (format!("{path}/{key}"), value)));
            }
            places.push(path);
        }
        let place: &String = place.get(&places);
        *spec.pointer_mut(place).unwrap() = junk;
        assert_coherent(&spec);
    }
}
