//! Seats, what their votes amount to, and whether the edges let them speak.

use serde_json::{Value, json};
use workflow_core::definition::{MAX_SEATS, RejectRule, Rule, Task, parse_seat};

use super::*;

const TASK: &str = "/states/SUBMITTED/meta/task";

fn at(place: &str) -> String {
    format!("{TASK}{place}")
}

/// The review with this many seats, and settings of the task.
fn seated(count: usize, settings: Value) -> Value {
    let seat = |i| json!({"name": format!("s{i}"), "roles": ["r"]});
    let mut task = json!({"seats": (0..count).map(seat).collect::<Value>()});
    for (key, value) in settings.as_object().expect("settings") {
        task[key] = value.clone();
    }
    review_with(TASK, task)
}

fn task_of(spec: &Value) -> Task {
    let machine = sound(spec);
    let state = machine.state("SUBMITTED").expect("the state");
    machine.states[state].task.clone().expect("a task")
}

#[test]
fn defaults() {
    let spec = seated(3, json!({}));
    clean(&spec);
    let task = task_of(&spec);
    assert_eq!(task.rule, Rule::All);
    assert_eq!(task.reject, RejectRule::WhenHopeless);
    assert!(task.self_approval && task.one_vote_each);
    assert_eq!(task.due, None);
    let names: Vec<_> = task.seats.iter().map(|seat| seat.name.as_str()).collect();
    assert_eq!(names, ["s0", "s1", "s2"]);
    assert!(
        task.seats
            .iter()
            .all(|seat| seat.roles == ["r"] && !seat.veto)
    );
}

#[test]
fn seats() {
    let seats = |seats: Value| review_with(TASK, json!({"seats": seats}));
    let missing = review_with(TASK, json!({}));
    refused(&missing, &at("/seats"), "missing `seats`");
    refused(&seats(json!([])), &at("/seats"), "needs a seat");
    clean(&seated(MAX_SEATS, json!({})));
    let crowd = seated(MAX_SEATS + 1, json!({}));
    refused(&crowd, &at("/seats"), "more than 100 seats");
    refused(&seats(json!([{}])), &at("/seats/0/name"), "missing `name`");
    let twice = json!([{"name": "s"}, {"name": "t"}, {"name": "s"}]);
    refused(&seats(twice), &at("/seats/2/name"), "already is a seat `s`");
    let alike = seats(json!([{"name": "s"}, {"name": "S"}]));
    warned(&alike, &at("/seats/1/name"), "in case only");
    let anybody = seats(json!([{"name": "s", "roles": []}]));
    let words = "everybody may take this seat";
    warned(&anybody, &at("/seats/0/roles"), words);
    let veto = seats(json!([{"name": "s", "veto": "yes"}]));
    refused(&veto, &at("/seats/0/veto"), "true or false, not a string");
    let unknown = seats(json!([{"name": "s", "weight": 2}]));
    refused(&unknown, &at("/seats/0/weight"), "unknown key `weight`");
    // Another state may have a seat of the same name.
    let mut spec = seats(json!([{"name": "s"}]));
    spec["states"]["DRAFT"]["meta"] = json!({"task": {"seats": [{"name": "s"}]}});
    only(warnings(&spec), "/states/DRAFT/meta/task", "nobody can");
}

#[test]
fn one_seat_alone() {
    let value = json!({"name": "s", "roles": ["a", "b"], "veto": true});
    let seat = parse_seat(&value).unwrap();
    assert_eq!((seat.name.as_str(), seat.veto), ("s", true));
    assert_eq!(seat.roles, ["a", "b"]);
    assert!(parse_seat(&json!({"name": "s", "roles": []})).is_ok());
    for (value, paths) in [
        (json!("s"), &[""][..]),
        (json!({}), &["/name"]),
        (json!({"name": " s", "vote": 1}), &["/name", "/vote"]),
        (
            json!({"name": "s", "roles": ["", 1]}),
            &["/roles/0", "/roles/1"],
        ),
        (json!({"name": "s", "veto": null}), &["/veto"]),
    ] {
        let findings = parse_seat(&value).unwrap_err();
        let found: Vec<_> = findings.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(found, paths);
    }
}

#[test]
fn rules() {
    let rule = |rule: Value| seated(3, json!({"rule": rule}));
    for (value, meant) in [
        (json!("all"), Rule::All),
        (json!("any"), Rule::Any),
        (json!({"approve": 1}), Rule::Count(1)),
        (json!({"approve": 3}), Rule::Count(3)),
    ] {
        clean(&rule(value.clone()));
        assert_eq!(task_of(&rule(value)).rule, meant);
    }
    let path = at("/rule");
    refused(&rule(json!("most")), &path, "`all` or `any`");
    refused(&rule(json!(2)), &path, "a string or an object");
    refused(&rule(json!({})), &path, "must say what is enough");
    let both = json!({"approve": 1, "approve_ratio": 0.5});
    refused(&rule(both), &path, "must have one key");
    for spec in [json!({"x": 2}), json!({"x": 2, "approve": 1})] {
        refused(&rule(spec), &at("/rule/x"), "unknown key `x`");
    }
    let path = at("/rule/approve");
    for odd in [json!(0), json!(-1), json!(1.5), json!(1e300)] {
        refused(&rule(json!({"approve": odd})), &path, "a whole number");
    }
    refused(&rule(json!({"approve": "2"})), &path, "must be a number");
    for many in [4, u64::MAX] {
        let words = format!("cannot be met: needs {many} in favour, and the seats are 3");
        refused(&rule(json!({"approve": many})), &path, &words);
    }
}

#[test]
fn ratios() {
    let rule = |text: &str| {
        let share: Value = serde_json::from_str(text).expect("a number");
        seated(5, json!({"rule": {"approve_ratio": share}}))
    };
    for (text, parts, of, needed) in [
        ("0.6", 6, 10, 3),
        ("0.60", 6, 10, 3),
        ("6e-1", 6, 10, 3),
        ("0.600000001", 600_000_001, 1_000_000_000, 4),
        ("0.666666667", 666_666_667, 1_000_000_000, 4),
        ("0.05", 5, 100, 1),
        ("1e-9", 1, 1_000_000_000, 1),
        ("1.5E-6", 15, 10_000_000, 1),
        ("0.999999999", 999_999_999, 1_000_000_000, 5),
        ("1", 1, 1, 5),
        ("1.0", 1, 1, 5),
        ("10e-1", 1, 1, 5),
    ] {
        clean(&rule(text));
        let rule = task_of(&rule(text)).rule;
        assert_eq!(rule, Rule::Ratio { parts, of }, "{text}");
        assert_eq!(rule.needed(5), needed, "{text}");
    }
    let path = at("/rule/approve_ratio");
    for text in [
        "0", "0.0", "-0.0", "-0.5", "-1", "1.1", "2", "100", "1e300", "1e-400",
    ] {
        refused(&rule(text), &path, "more than 0 and at most 1");
    }
    for text in ["0.6000000001", "1e-10", "0.33333333333333333333"] {
        refused(&rule(text), &path, "more than 9 decimals");
    }
    refused(&rule("\"60%\""), &path, "must be a number");
}

#[test]
fn rejections() {
    let spec = |rule: Value, reject: Value| seated(5, json!({"rule": rule, "reject": reject}));
    let path = at("/reject");
    for (value, limit) in [(json!("first"), 1), (json!(1), 1), (json!(4), 4)] {
        let spec = spec(json!({"approve": 2}), value);
        clean(&spec);
        assert_eq!(task_of(&spec).reject, RejectRule::After(limit));
    }
    let spec = |reject: Value| spec(json!({"approve": 3}), reject);
    refused(&spec(json!("last")), &path, "`first` or a whole number");
    refused(&spec(json!(true)), &path, "a string or a number");
    for odd in [json!(0), json!(-2), json!(2.5)] {
        refused(&spec(odd), &path, "a whole number, at least 1");
    }
    let words = "cannot be met: needs 6 against, and the seats are 5";
    refused(&spec(json!(6)), &path, words);
    clean(&spec(json!(3)));
    let words = "has no effect: with 3 against, approval is impossible already";
    warned(&spec(json!(4)), &path, words);
    // Both limits are wrong, and each is told once.
    let found = errors(&seated(2, json!({"rule": {"approve": 3}, "reject": 3})));
    let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, [path, at("/rule/approve")]);
}

#[test]
fn due_dates() {
    let due = |due: &str| seated(1, json!({"due": due}));
    for text in [
        "PT48H",
        "P2D",
        "P1Y2M3W4DT5H6M7S",
        "P1M",
        "PT1M",
        "P0DT1S",
        "P007D",
        "P100Y",
        "P1200M",
        "PT3155760000S",
    ] {
        clean(&due(text));
        assert_eq!(task_of(&due(text)).due.as_deref(), Some(text));
    }
    let path = at("/due");
    for text in [
        "",
        "P",
        "PT",
        "P1DT",
        "48H",
        "T48H",
        "PT48",
        "P1",
        "PD",
        "P1H",
        "PT1D",
        "PTM",
        "P1D1D",
        "P1D1Y",
        "PT1S1H",
        "P1DT1HT1M",
        "-P1D",
        "P-1D",
        "P+1D",
        "P1.5D",
        "P1,5D",
        "PT1e3S",
        "pt1h",
        "PT1h",
        " P1D",
        "P1D ",
        "P 1D",
        "P1DX",
        "PP1D",
        "P1Ü",
        "P१D",
        "P2026-01-01",
        "2 days",
    ] {
        refused(&due(text), &path, "an ISO 8601 duration");
    }
    for text in ["P0D", "PT0S", "P0Y0M0W0DT0H0M0S"] {
        refused(&due(text), &path, "longer than nothing");
    }
    for text in [
        "P100YT1S",
        "P101Y",
        "P1201M",
        "PT3155760001S",
        "P99999999999999999999999Y",
    ] {
        refused(&due(text), &path, "not be longer than 100 years");
    }
}

/// A task of so many seats whose state has these edges.
fn edges(seats: usize, settings: Value, decisions: &[&str]) -> Value {
    let mut spec = seated(seats, settings);
    let on = decisions.iter().map(|decision| {
        let edge = json!({"target": "APPROVED", "guard": "$.a", "meta": {"decision": decision}});
        (decision.to_uppercase(), edge)
    });
    spec["states"]["SUBMITTED"]["on"] = Value::Object(on.collect());
    let skip = json!([{"target": "APPROVED", "guard": "$.a"}, "REJECTED"]);
    spec["states"]["SUBMITTED"]["on"]["SKIP"] = skip;
    spec
}

/// Warnings about the task, without those about pairs of states.
fn remarks(spec: &Value) -> Vec<(String, String)> {
    assert_eq!(errors(spec), []);
    let mut found = warnings(spec);
    found.retain(|(path, _)| path.starts_with(TASK));
    found
}

#[test]
fn edges_for_votes() {
    let plain = || json!({});
    let words = "nobody can decide this task";
    only(remarks(&edges(1, plain(), &[])), TASK, words);
    refused(&edges(2, plain(), &[]), TASK, words);

    assert_eq!(remarks(&edges(1, plain(), &["reject"])), []);
    let words = "votes can never approve";
    refused(&edges(2, plain(), &["reject", "return"]), TASK, words);

    let words = "no seat can vote against";
    assert_eq!(remarks(&edges(1, plain(), &["approve"])), []);
    only(remarks(&edges(2, plain(), &["approve"])), TASK, words);
    let sends_back = ["approve", "return"];
    assert_eq!(remarks(&edges(2, plain(), &sends_back)), []);
    let settled = edges(2, json!({"reject": "first"}), &sends_back);
    only(remarks(&settled), TASK, words);
    let mut veto = edges(2, plain(), &sends_back);
    veto["states"]["SUBMITTED"]["meta"]["task"]["seats"][1]["veto"] = json!(true);
    only(remarks(&veto), TASK, words);

    // Edges that could not be read may be the ones that are missed.
    let spec = with(
        edges(2, plain(), &[]),
        "/states/SUBMITTED/on/APPROVE",
        json!("X"),
    );
    refused(&spec, "/states/SUBMITTED/on/APPROVE", "no state `X`");
    // Decisions need no task.
    clean(&machine(json!({
        "A": {"on": {"E": {"target": "Z", "meta": {"decision": "approve"}}}},
        "Z": {"type": "final"}
    })));
}
