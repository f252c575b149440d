//! Which keys a spec may have where.

use serde_json::{Map, Value};

use super::findings::{Findings, child, quote};

/// The objects of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Machine,
    MachineMeta,
    State,
    StateMeta,
    Task,
    Seat,
    Edge,
    EdgeMeta,
    Retry,
    Draw,
}

/// Keys of the format that the engine does not act upon yet. Whoever builds one takes it from here
/// and gives it to [`accepted`].
const NOT_BUILT_YET: &[(Place, &str)] = &[
    (Place::Machine, "context"),
    (Place::MachineMeta, "facts"),
    (Place::EdgeMeta, "assign"),
];

const NESTED: &str = "nested states are not supported";
const CODE: &str = "the engine runs no code of the definition";
const TYPES: &str = "nothing would check them";
const IN_STATES: &str = "edges belong to states";

/// Keys of XState (versions 4 and 5) that are not part of the format, and why.
const NOT_SUPPORTED: &[(&str, &str)] = &[
    ("actions", CODE),
    ("activities", CODE),
    ("actors", CODE),
    ("after", IN_STATES),
    ("always", IN_STATES),
    ("cond", "write the predicate as `guard`"),
    ("data", CODE),
    ("delays", CODE),
    ("delimiter", NESTED),
    ("entry", CODE),
    ("exit", CODE),
    ("guards", CODE),
    ("history", NESTED),
    ("id", "states go by their key"),
    ("in", NESTED),
    ("initial", NESTED),
    ("internal", "a self-transition always enters its state anew"),
    ("invoke", CODE),
    ("on", IN_STATES),
    ("onDone", NESTED),
    ("onEntry", CODE),
    ("onError", CODE),
    ("onExit", CODE),
    ("output", CODE),
    ("parallel", "a machine is in one state at a time"),
    ("preserveActionOrder", CODE),
    ("reenter", "a self-transition always enters its state anew"),
    ("schema", TYPES),
    ("schemas", TYPES),
    ("services", CODE),
    ("states", NESTED),
    ("tsTypes", TYPES),
    ("types", TYPES),
];

/// What an accepted key may hold.
enum Shape {
    /// Whoever reads it also checks it.
    Read,
    Text,
    TextOrNumber,
    Tags,
    Flag,
}

fn accepted(place: Place, key: &str) -> Option<Shape> {
    Some(match (place, key) {
        (Place::Machine, "id" | "initial" | "states" | "type" | "meta") => Shape::Read,
        (Place::Machine, "$schema") => Shape::Text,
        (Place::Machine, "version") => Shape::TextOrNumber,
        // Without actions there is no order of actions; unknown events are refused in any case.
        (Place::Machine, "predictableActionArguments" | "strict") => Shape::Flag,
        (Place::MachineMeta, "concurrent" | "lock_mode") => Shape::Read,
        (Place::State, "type" | "on" | "after" | "always" | "meta") => Shape::Read,
        (Place::StateMeta, "task" | "on_supersede" | "lease" | "retry") => Shape::Read,
        (Place::Retry, "max_attempts" | "base_ms" | "max_ms" | "exhausted") => Shape::Read,
        (Place::Task, "seats" | "rule" | "reject" | "due") => Shape::Read,
        (Place::Task, "self_approval" | "not_same_as" | "one_vote_each") => Shape::Read,
        (Place::Seat, "name" | "roles" | "veto") => Shape::Read,
        (Place::Edge, "target" | "guard" | "meta") => Shape::Read,
        (Place::EdgeMeta, "decision" | "roles" | "publish") => Shape::Read,
        (Place::EdgeMeta, "consume" | "restock") => Shape::Read,
        (Place::Draw, "resource" | "quantity") => Shape::Read,
        (Place::Machine | Place::State, "tags") => Shape::Tags,
        (Place::Machine | Place::State | Place::Edge, "description") => Shape::Text,
        _ => return None,
    })
}

/// Names every key of `object` that does not belong there, and checks the ones that are only words.
pub(super) fn vet(place: Place, object: &Map<String, Value>, path: &str, findings: &mut Findings) {
    for (key, value) in object {
        match accepted(place, key) {
            None => findings.error(child(path, key), refusal(place, key)),
            Some(Shape::Read) => {}
            Some(shape) => vet_words(&shape, value, &child(path, key), findings),
        }
    }
}

fn vet_words(shape: &Shape, value: &Value, path: &str, findings: &mut Findings) {
    let (fits, wanted) = match shape {
        Shape::Read => return,
        Shape::Text => (value.is_string(), "a string"),
        Shape::TextOrNumber => (
            value.is_string() || value.is_number(),
            "a string or a number",
        ),
        Shape::Flag => (value.is_boolean(), "true or false"),
        Shape::Tags => {
            let strings = |list: &Vec<Value>| list.iter().all(Value::is_string);
            let fits = value.is_string() || value.as_array().is_some_and(strings);
            (fits, "a string or an array of strings")
        }
    };
    if !fits {
        findings.wrong_type(path, wanted, value);
    }
}

fn refusal(place: Place, key: &str) -> String {
    if NOT_BUILT_YET.contains(&(place, key)) {
        return format!("not built yet: `{}{key}`", prefix(place));
    }
    let (of_xstate, meta) = match place {
        Place::Machine => (true, Some(Place::MachineMeta)),
        Place::State => (true, Some(Place::StateMeta)),
        Place::Edge => (true, Some(Place::EdgeMeta)),
        _ => (false, None),
    };
    let known = NOT_SUPPORTED.iter().find(|(known, _)| *known == key);
    if let Some((_, why)) = known.filter(|_| of_xstate) {
        return format!("not supported: `{key}` ({why})");
    }
    let hint = match meta {
        Some(meta) if accepted(meta, key).is_some() => "; it belongs under `meta`",
        Some(meta) if NOT_BUILT_YET.contains(&(meta, key)) => "; it belongs under `meta`",
        _ => "",
    };
    format!("unknown key {}{hint}", quote(key))
}

fn prefix(place: Place) -> &'static str {
    match place {
        Place::Machine | Place::State | Place::Edge => "",
        Place::MachineMeta | Place::StateMeta | Place::EdgeMeta => "meta.",
        Place::Task => "meta.task.",
        Place::Retry => "meta.retry.",
        Place::Seat => "meta.task.seats.",
        Place::Draw => "meta.consume.",
    }
}
