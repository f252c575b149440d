use serde_json::json;

use super::*;
use crate::definition::parse;

fn machine(spec: serde_json::Value) -> Definition {
    let (machine, findings) = parse(&spec);
    machine.unwrap_or_else(|| panic!("{findings:?}"))
}

fn review() -> Definition {
    machine(json!({"id": "review", "initial": "DRAFT", "states": {
        "DRAFT": {"on": {"SUBMIT": "SUBMITTED"}},
        "SUBMITTED": {
            "on": {
                "APPROVE": {"target": "APPROVED", "guard": "$.material.amount < 5", "meta": {"decision": "approve"}},
                "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
                "RETURN": {"target": "DRAFT", "meta": {"decision": "return", "roles": ["boss"]}}
            },
            "after": {"PT48H": "REJECTED"},
            "meta": {"task": {"seats": [{"name": "finance", "roles": ["fin"], "veto": true}, {"name": "law"}]}}
        },
        "APPROVED": {"type": "final"},
        "REJECTED": {"type": "final"}
    }}))
}

fn returned() -> Run {
    let steps = |event: &str, from: &str, to: &str, revisions: &[i64]| Steps {
        by: By::Event(event.into()),
        from: from.into(),
        to: to.into(),
        revisions: revisions.to_vec(),
        count: 7,
    };
    Run {
        state: "DRAFT".into(),
        steps: vec![
            steps("SUBMIT", "DRAFT", "SUBMITTED", &[2, 4, 6, 8]),
            steps("RETURN", "SUBMITTED", "DRAFT", &[3]),
        ],
    }
}

#[test]
fn mermaid_names_states_seats_events_and_guards() {
    let text = render(&review(), None, Format::Mermaid).unwrap();
    assert!(text.starts_with("stateDiagram-v2\n"));
    for line in [
        "    [*] --> s0",
        "    state \"DRAFT\" as s0",
        "    state \"SUBMITTED<br/>seat finance#58; fin #40;veto#41;<br/>seat law<br/>all 2 must approve\" as s1",
        "    s1 --> s2 : APPROVE<br/>#91;#36;#46;material#46;amount #60; 5#93;<br/>approve",
        "    s1 --> s3 : REJECT<br/>reject<br/>after PT48H",
        "    s1 --> s0 : RETURN<br/>return by boss",
        "    s3 --> [*]",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("class"));
}

#[test]
fn a_run_marks_where_it_was_and_where_it_stands() {
    let run = returned();
    let text = render(&review(), Some(&run), Format::Mermaid).unwrap();
    assert!(text.contains("class s0 current"), "{text}");
    assert!(text.contains("class s1 visited"), "{text}");
    assert!(
        text.contains("s0 --> s1 : #40;2#44; 4#44; 6#44; 8 and 3 more#41; SUBMIT"),
        "{text}"
    );
    assert!(!text.contains("class s2"), "{text}");
    let svg = render(&review(), Some(&run), Format::Svg).unwrap();
    assert_eq!(svg.matches("<g class=\"current\">").count(), 1);
    assert_eq!(svg.matches("<g class=\"visited\">").count(), 1);
    assert_eq!(svg.matches("<g class=\"taken\"><path").count(), 4);
    let dot = render(&review(), Some(&run), Format::Dot).unwrap();
    assert_eq!(dot.matches("penwidth=2.5").count(), 1);
}

#[test]
fn steps_that_the_definition_does_not_have_are_drawn_too() {
    let run = Run {
        state: "DRAFT".into(),
        steps: vec![
            Steps {
                by: By::Other("migrate".into()),
                from: "APPROVED".into(),
                to: "DRAFT".into(),
                revisions: vec![5],
                count: 1,
            },
            Steps {
                by: By::Event("GONE".into()),
                from: "NOWHERE".into(),
                to: "DRAFT".into(),
                revisions: vec![2],
                count: 1,
            },
        ],
    };
    let text = render(&review(), Some(&run), Format::Mermaid).unwrap();
    assert!(text.contains("s2 --> s0 : #40;5#41; migrate"), "{text}");
    assert!(!text.contains("GONE"), "{text}");
}

/// Names that would mean something in one of the languages.
const NASTY: &[&str] = &[
    "\"><script>alert(1)</script>",
    "]]></style><img src=x onerror=alert(1)>",
    "a\" ]; evil [label=\"",
    "back\\slash \\N \\",
    "s0 --> s1 : x; click s0",
    "%% comment #quot; &amp; {{}}",
    "**bold** `code` $$x$$",
    "end",
    "[*]",
    "übergröße 承認 🙂 e\u{301}",
    "right\u{202E}to left",
    "non\u{FFFF}character",
];

#[test]
fn no_name_gets_out_of_its_place() {
    for nasty in NASTY {
        let spec = json!({"id": nasty, "initial": nasty, "states": {
            *nasty: {"on": {*nasty: [{"target": nasty, "guard": "$.a == \"<&>\\n\\\"\"", "meta": {"roles": [nasty]}}, "Z"]},
                     "meta": {"task": {"seats": [{"name": nasty, "roles": [nasty]}]}}},
            "Z": {"type": "final"}
        }});
        let machine = machine(spec);
        let run = Run {
            state: (*nasty).into(),
            steps: Vec::new(),
        };
        let mermaid = render(&machine, Some(&run), Format::Mermaid).unwrap();
        assert_eq!(mermaid.lines().count(), 11, "{mermaid}");
        assert!(mermaid.is_ascii());
        let dot = render(&machine, Some(&run), Format::Dot).unwrap();
        assert_eq!(dot.lines().count(), 10, "{dot}");
        for line in dot.lines() {
            let unescaped = line.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(unescaped.matches('"').count() % 2, 0, "{line}");
        }
        let svg = render(&machine, Some(&run), Format::Svg).unwrap();
        for sign in ["<script", "<img", "\u{202E}", "\u{FFFF}"] {
            assert!(!svg.contains(sign), "{svg}");
        }
    }
}

#[test]
fn more_than_can_be_laid_out_is_refused_and_the_limit_is_drawn_soon() {
    let line = |count: usize| {
        let mut states = serde_json::Map::new();
        for i in 0..count {
            let next = format!("S{}", (i + 1) % count);
            let state = json!({"on": {"NEXT": next, "END": "Z"}});
            states.insert(
                format!("S{i}"),
                if i % 3 == 0 {
                    state
                } else {
                    json!({"on": {"NEXT": next}})
                },
            );
        }
        states.insert("Z".into(), json!({"type": "final"}));
        machine(json!({"id": "m", "initial": "S0", "states": states}))
    };
    let largest = line(MAX_DRAWN_STATES - 1);
    let started = std::time::Instant::now();
    render(&largest, None, Format::Svg).unwrap();
    let took = started.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
    let error = render(&line(MAX_DRAWN_STATES), None, Format::Svg).unwrap_err();
    assert!(
        matches!(error, Undrawn::TooLarge { states: 41, .. }),
        "{error:?}"
    );
    for format in [Format::Mermaid, Format::Dot] {
        assert!(render(&line(5000), None, format).unwrap().len() > 100_000);
    }
}

#[test]
fn many_ways_through_the_graph_take_no_longer() {
    let mut states = serde_json::Map::new();
    for i in 0..12 {
        states.insert(
            format!("A{i}"),
            json!({"on": {"L": format!("B{i}"), "R": format!("C{i}")}}),
        );
        let next = json!({"on": {"N": format!("A{}", i + 1)}});
        states.insert(format!("B{i}"), next.clone());
        states.insert(format!("C{i}"), next);
    }
    states.insert("A12".into(), json!({"type": "final"}));
    let machine = machine(json!({"id": "m", "initial": "A0", "states": states}));
    render(&machine, None, Format::Svg).unwrap();
}
