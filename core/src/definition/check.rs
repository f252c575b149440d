//! Checks of the machine as a graph. Walks keep their own stack: a definition may be a chain of
//! thousands of states.

use std::collections::HashMap;

use super::findings::{Findings, child, enumerate, joined, quote};
use super::parse::{Draft, Note};
use super::{Decision, OnSupersede, RejectRule, State, StateId, Task, supersede};

pub(super) fn check(draft: &Draft, findings: &mut Findings) {
    if let Some(initial) = draft.initial {
        check_from(initial, draft, findings);
    }
    check_always_cycles(draft, findings);
    for (state, note) in draft.states.iter().zip(&draft.notes) {
        check_state(state, note, draft, findings);
    }
}

/// Where an instance can go from a state, new material included.
fn successors(state: &State) -> impl Iterator<Item = StateId> {
    let edges = state.all_edges();
    let back = match state.on_supersede {
        OnSupersede::GoTo(target) if !state.is_final => Some(target),
        _ => None,
    };
    let given_up = state.retry.as_ref().and_then(|retry| retry.exhausted);
    edges.map(|edge| edge.target).chain(back).chain(given_up)
}

fn check_from(initial: StateId, draft: &Draft, findings: &mut Findings) {
    let name = |id: StateId| quote(&draft.states[id].name);
    if draft.states[initial].is_final {
        let message = format!("{} is final: instances end where they start", name(initial));
        findings.warning("/initial", message);
    }
    let next: Vec<Vec<StateId>> = draft
        .states
        .iter()
        .map(|s| successors(s).collect())
        .collect();
    let reached = walk(&next, [initial]);
    let ending = ending(draft, &next);
    if !draft.states.iter().any(|state| state.is_final) {
        findings.warning("/states", "no state is final: instances never end");
    }
    for (id, state) in draft.states.iter().enumerate() {
        let path = &draft.notes[id].path;
        if !reached[id] {
            let message = format!("cannot be reached from {}", name(initial));
            findings.error(path, message);
        } else if !ending[id] && !next[id].is_empty() {
            let message = format!("no final state can be reached from {}", quote(&state.name));
            findings.warning(path, message);
        }
    }
    supersede::check(initial, draft, findings);
}

/// From which states a final state can be reached, as far as it makes sense to say so: without any
/// final state nothing is amiss with a single one, and edges that could not be read may lead there.
fn ending(draft: &Draft, next: &[Vec<StateId>]) -> Vec<bool> {
    let finals = draft.states.iter().any(|state| state.is_final);
    let mut back: Vec<Vec<StateId>> = vec![Vec::new(); next.len()];
    for (from, targets) in next.iter().enumerate() {
        for &to in targets {
            back[to].push(from);
        }
    }
    let ends = (0..next.len())
        .filter(|&id| !finals || draft.states[id].is_final || draft.notes[id].hides_edges);
    walk(&back, ends)
}

/// Which states are met on the way from some of them.
fn walk(next: &[Vec<StateId>], from: impl IntoIterator<Item = StateId>) -> Vec<bool> {
    let mut met = vec![false; next.len()];
    let mut open: Vec<StateId> = Vec::new();
    for start in from {
        met[start] = true;
        open.push(start);
    }
    while let Some(state) = open.pop() {
        for &target in &next[state] {
            if !met[target] {
                met[target] = true;
                open.push(target);
            }
        }
    }
    met
}

/// Refuses every `always` edge that closes a circle: guards may all be true at once, and then an
/// instance would never come to rest.
fn check_always_cycles(draft: &Draft, findings: &mut Findings) {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        None,
        /// On the way, at this depth.
        At(usize),
        Done,
    }
    let mut visits = vec![Visit::None; draft.states.len()];
    for root in 0..draft.states.len() {
        if visits[root] != Visit::None {
            continue;
        }
        visits[root] = Visit::At(0);
        // Each state on the way with the next of its edges to look at.
        let mut way: Vec<(StateId, usize)> = vec![(root, 0)];
        while let Some((state, next)) = way.last_mut() {
            let state = *state;
            let Some(edge) = draft.states[state].always.get(*next) else {
                visits[state] = Visit::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match visits[edge.target] {
                Visit::None => {
                    visits[edge.target] = Visit::At(way.len());
                    way.push((edge.target, 0));
                }
                Visit::At(depth) => {
                    let names = way[depth..].iter().map(|(id, _)| *id).chain([edge.target]);
                    let names = names.map(|id| draft.states[id].name.as_str());
                    let message = format!("`always` runs in a circle: {}", joined(names, " → "));
                    findings.error(&edge.path, message);
                }
                Visit::Done => {}
            }
        }
    }
}

fn check_state(state: &State, note: &Note, draft: &Draft, findings: &mut Findings) {
    if state.is_final {
        return;
    }
    let path = &note.path;
    let no_edges = state.all_edges().next().is_none();
    if no_edges && !note.hides_edges {
        let message = "dead end: no edge leads out, and the state is not final";
        findings.error(path, message);
    }
    let moves_on = state.always.iter().any(|edge| edge.guard.is_none());
    let passes = state.edges.is_empty() && state.after.is_empty() && state.task.is_none();
    if moves_on && !passes {
        let message = "nothing can happen here: `always` has a branch without a guard, \
                       so no instance rests in this state";
        findings.warning(path, message);
    }
    if let Some(task) = &state.task
        && !note.hides_edges
    {
        check_task(task, state, &child(&child(path, "meta"), "task"), findings);
    }
    if let Some(task) = &state.task {
        let path = child(&child(&child(path, "meta"), "task"), "not_same_as");
        check_duties(task, &path, draft, findings);
    }
    check_pairs(state, path, draft, findings);
}

/// Whether the edges let the seats say what they are asked.
fn check_task(task: &Task, state: &State, path: &str, findings: &mut Findings) {
    let leads = |decision| state.edges.iter().any(|edge| edge.decision == decision);
    let [approves, rejects, returns] =
        [Decision::Approve, Decision::Reject, Decision::Return].map(|d| leads(Some(d)));
    let several = task.seats.len() > 1;
    if !(approves || rejects || returns) {
        let message = "nobody can decide this task: no edge of the state has `meta.decision`";
        if several {
            findings.error(path, message);
        } else {
            findings.warning(path, message);
        }
    } else if several && !approves {
        let message = "votes can never approve: no edge of the state has the decision `approve`";
        findings.error(path, message);
    } else if several && !rejects {
        // Who disagrees may send it back instead, unless the author speaks of rejection.
        let vetoes = task.seats.iter().any(|seat| seat.veto);
        if vetoes || task.reject != RejectRule::WhenHopeless || !returns {
            let message = "no seat can vote against: no edge of the state has the decision \
                           `reject`";
            findings.warning(path, message);
        }
    }
}

/// Whether anybody ever decides in the states whose deciders are kept out.
fn check_duties(task: &Task, path: &str, draft: &Draft, findings: &mut Findings) {
    for name in &task.not_same_as {
        let mut states = draft.states.iter().zip(&draft.notes);
        let named = states.find(|(state, _)| state.name == *name);
        if named.is_some_and(|(state, note)| state.edges.is_empty() && !note.hides_edges) {
            let message = format!("has no effect: nobody decides in {}", quote(name));
            findings.error(path, message);
        }
    }
}

/// Two events from one state to the same other one: legal, but `wf_transition` then needs the event.
fn check_pairs(state: &State, path: &str, draft: &Draft, findings: &mut Findings) {
    let mut events: HashMap<StateId, Vec<&str>> = HashMap::new();
    for edge in &state.edges {
        let events = events.entry(edge.target).or_default();
        // Edges are sorted by event.
        if events.last() != Some(&edge.event.as_str()) {
            events.push(&edge.event);
        }
    }
    for (target, events) in events {
        if events.len() > 1 {
            let message = format!(
                "several events lead to {}: {}; a transition has to name the one it means",
                quote(&draft.states[target].name),
                enumerate(events.into_iter())
            );
            findings.warning(child(path, "on"), message);
        }
    }
}
