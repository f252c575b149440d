use super::*;
use serde_json::Value;
pub fn parse(spec: &Value) -> (Option<Definition>, Vec<Finding>) {
    let states_v = spec["states"].as_object().unwrap();
    let names: Vec<String> = states_v.keys().cloned().collect();
    let by_name: std::collections::HashMap<String, usize> = names
        .iter()
        .cloned()
        .enumerate()
        .map(|(i, n)| (n, i))
        .collect();
    let strs = |v: &Value| {
        v.as_array()
            .map(|a| {
                a.iter()
                    .map(|x| x.as_str().unwrap().to_string())
                    .collect::<Vec<_>>()
            })
            .unwrap_or_default()
    };
    let branch = |ev: &str, v: &Value, path: String| {
        let t = v.as_str().or(v["target"].as_str()).unwrap();
        Edge {
            event: ev.into(),
            target: by_name[t],
            guard: v["guard"].as_str().map(String::from),
            path,
            decision: match v["meta"]["decision"].as_str() {
                Some("approve") => Some(Decision::Approve),
                Some("reject") => Some(Decision::Reject),
                Some(_) => Some(Decision::Return),
                None => None,
            },
            roles: strs(&v["meta"]["roles"]),
            publish: v["meta"]["publish"].as_bool().unwrap_or(true),
        }
    };
    let list = |ev: &str, v: &Value, p: String| -> Vec<Edge> {
        match v {
            Value::Array(a) => a
                .iter()
                .enumerate()
                .map(|(i, x)| branch(ev, x, format!("{p}/{i}")))
                .collect(),
            Value::Null => vec![],
            x => vec![branch(ev, x, p)],
        }
    };
    let states = states_v
        .iter()
        .map(|(n, s)| State {
            name: n.clone(),
            is_final: s["type"] == "final",
            edges: s["on"]
                .as_object()
                .map(|o| {
                    o.iter()
                        .flat_map(|(e, v)| list(e, v, format!("/states/{n}/on/{e}")))
                        .collect()
                })
                .unwrap_or_default(),
            always: list("", &s["always"], format!("/states/{n}/always")),
            task: s["meta"].get("task").map(|t| Task {
                seats: t["seats"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|x| Seat {
                        name: x["name"].as_str().unwrap().into(),
                        roles: strs(&x["roles"]),
                    })
                    .collect(),
                self_approval: t["self_approval"].as_bool().unwrap_or(true),
            }),
            on_supersede: match s["meta"]["on_supersede"].as_str() {
                None | Some("stay") => OnSupersede::Stay,
                Some("refuse") => OnSupersede::Refuse,
                Some(x) => OnSupersede::GoTo(by_name[x]),
            },
        })
        .collect();
    (
        Some(Definition {
            name: spec["id"].as_str().unwrap().into(),
            initial: by_name[spec["initial"].as_str().unwrap()],
            states,
            by_name,
            concurrent: spec["meta"]["concurrent"].as_bool().unwrap_or(false),
            lock_mode: None,
        }),
        vec![],
    )
}
