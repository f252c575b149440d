//! State machines as designers write them (the JSON shape of XState machine configs, flat) and as
//! the engine runs them.
//!
//! [`parse`] reads a spec and compiles it. It gives a [`Definition`] only if no [`Finding`] is an
//! error, and it always tells all that it found, so that an author mends a spec once and not key
//! by key. What a published definition promises, the engine does not test again: every target
//! exists, every state can be reached, final states have no edges, `always` edges run in no circle.
//!
//! **Nothing is ignored.** A key that the engine does not act upon is an error, because its author
//! believes that it does something. The exceptions say nothing about behaviour (`description`,
//! `version`, `tags`, …). `keys` holds the list of what is not built yet and of what will never be.
//!
//! **Findings point at the place**, as a JSON pointer (RFC 6901); something that is missing at the
//! place where it belongs: `/initial`, `/states/APPROVED/meta/on_supersede`.
//!
//! **Names** compare byte by byte. Nothing is folded or normalised, so look-alikes are different
//! names; two that differ in case only get a warning.
//!
//! **Branches** of one event are tried in order, and roles do not choose among them. So a branch
//! behind one without a guard, or behind one with the same guard, can never be taken, which is an
//! error. `always` edges are taken by the engine and not by a person: they carry neither roles nor
//! a decision, since nobody would have seen the material that the decision is about.
//!
//! **Timers.** The keys of `after` are delays from the entry into the state: milliseconds as in
//! XState, ISO 8601 durations, or `due`, the due date of the state's task. Time takes such an edge
//! and not a person, so it has neither roles nor a decision. `restart: true` beside the delays makes
//! new material, facts and changed seats start all of them again. The event of such a step is
//! `after.` with the delay as it is written; names of events may not begin so.
//!
//! **Votes.** `meta.task` gives the seats that must speak and what their votes amount to: `rule` is
//! `"all"` (default), `"any"`, `{"approve": n}` or `{"approve_ratio": r}`, `reject` is `"first"` or
//! a number of seats, and a `veto` of a seat decides alone. Limits that no vote can reach are
//! errors. A ratio is taken by its decimal digits, not as a binary number, so 0.6 of 5 seats is 3.
//! Where one seat decides, its event decides at once; where several do, a vote is the event's
//! `decision`, so without an edge that approves no count could ever be of use, which is an error.
//! `self_approval` (default true) admits the submitter; `not_same_as`, a state or an array of them,
//! keeps out whoever has decided there before, whatever the round and the material; `one_vote_each` (default true) keeps a
//! person to one vote in a round; `due` is an ISO 8601 duration from the opening of the task.
//!
//! **`consume`** and **`restock`** of an edge take from resources and give back to them, in the
//! transaction of the step: `{"resource": …, "quantity": …}`, or a list of these. A `resource` that
//! begins with `$` and a `quantity` that is a string are SQL/JSON paths over what guards look at;
//! what they lead to is looked up when the edge is taken, and refuses the command if it is not
//! exactly one key, or one whole number above zero. An `always` edge may have both: then the step
//! before it needs the resource as well.
//!
//! **`on_supersede`** has the default `"stay"`, and that is dangerous behind a verdict: an instance
//! in APPROVED would stay approved over material that nobody has seen. Therefore the author has to
//! say what is meant on every non-final state in which an earlier verdict may still be in force:
//!
//! * crossing an edge with the decision `approve` or `reject` brings a verdict along, and other
//!   edges carry it on, however many;
//! * a `return` takes it away: it asks for better material and approves nothing;
//! * so does entering the initial state, where a fresh instance without any verdict stands as well;
//! * so does going back by `on_supersede`: the author chose that state for new material, and also
//!   whether the verdict of a stage before it shall stand.
//!
//! DRAFT, SUBMITTED, a `return` to DRAFT and verdicts into final states thus need no `on_supersede`
//! at all, and an APPROVED that is not final needs one.

mod after;
mod branches;
mod check;
mod draws;
mod duration;
mod findings;
mod keys;
mod machine_work;
mod model;
mod names;
mod parse;
mod states;
mod supersede;
mod tasks;

pub use draws::fault_of_resource;
pub use findings::{Finding, Severity};
pub use model::*;
pub use parse::{MAX_EDGES, MAX_STATES, parse};
pub use tasks::{MAX_SEATS, parse_seat};

/// The path of a guard as it is evaluated: in strict mode, whether it says so itself or not.
pub fn strict_path(guard: &str) -> String {
    let word = guard
        .trim_start()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next();
    if word.is_some_and(|word| word.eq_ignore_ascii_case("strict")) {
        guard.to_owned()
    } else {
        format!("strict {guard}")
    }
}

#[cfg(test)]
mod tests {
    use super::strict_path;

    #[test]
    fn a_path_is_strict_once() {
        assert_eq!(strict_path("$.a > 1"), "strict $.a > 1");
        assert_eq!(strict_path(" STRICT $.a > 1"), " STRICT $.a > 1");
        assert_eq!(strict_path("strictly"), "strict strictly");
    }
}
