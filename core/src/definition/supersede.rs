//! Where an author has to say what new material does; the module page of `definition` has the rule.

use super::findings::{Findings, child, quote};
use super::parse::Draft;
use super::{Decision, Edge, OnSupersede, StateId};

pub(super) fn check(initial: StateId, draft: &Draft, findings: &mut Findings) {
    let verdicts = verdicts_in_force(initial, draft);
    for (id, state) in draft.states.iter().enumerate() {
        if state.is_final {
            continue;
        }
        let note = &draft.notes[id];
        let path = || child(&child(&note.path, "meta"), "on_supersede");
        if let OnSupersede::GoTo(target) = state.on_supersede
            && draft.states[target].is_final
        {
            let name = quote(&draft.states[target].name);
            let message = format!("{name} is final: new material cannot end an instance");
            findings.error(path(), message);
        }
        if let Some(verdict) = verdicts[id]
            && !note.says_supersede
        {
            let message = format!(
                "missing `on_supersede`: the state is behind the verdict {}, which would be \
                 carried over to new material in silence; say \"refuse\", \"stay\" or the name \
                 of the state to go back to",
                quote(&verdict.event)
            );
            findings.error(path(), message);
        }
    }
}

/// For each state a verdict that an instance may have brought along.
fn verdicts_in_force(initial: StateId, draft: &Draft) -> Vec<Option<&Edge>> {
    let count = draft.states.len();
    let mut clean = vec![false; count];
    let mut behind: Vec<Option<&Edge>> = vec![None; count];
    let mut open: Vec<(StateId, Option<&Edge>)> = vec![(initial, None)];
    clean[initial] = true;
    while let Some((id, verdict)) = open.pop() {
        let state = &draft.states[id];
        let edges = state.all_edges().map(|edge| {
            let verdict = match edge.decision {
                Some(Decision::Approve | Decision::Reject) => Some(edge),
                Some(Decision::Return) => None,
                None => verdict,
            };
            (edge.target, verdict.filter(|_| edge.target != initial))
        });
        let back = match state.on_supersede {
            OnSupersede::GoTo(target) if !state.is_final => Some((target, None)),
            _ => None,
        };
        for (target, verdict) in edges.chain(back) {
            let new = match verdict {
                None => !std::mem::replace(&mut clean[target], true),
                Some(_) => behind[target].is_none(),
            };
            if new {
                if verdict.is_some() {
                    behind[target] = verdict;
                }
                open.push((target, verdict));
            }
        }
    }
    behind
}
