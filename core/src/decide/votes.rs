//! How the votes of several seats become one verdict.
//!
//! The outcome is decided as early as it is certain, and never twice. Approval needs as many seats
//! as the rule says, and waits for seats with a veto, because until they have spoken it is not
//! certain. Rejection comes with a veto, with as many rejections as `reject` says, or when approval
//! has become impossible.
//!
//! The order of the votes matters only where both limits can be reached, say two of five for
//! either: the one that is reached first decides. An approval that waits for a veto is not reached
//! yet. A count does not know the order, so a round that is decided takes no further votes.
//!
//! The vote that closes a round is on the side of the verdict: a vote in favour never rejects, one
//! against never approves. So the step that is taken is the event that this vote named.

use crate::definition::{RejectRule, Rule};

/// What a seat has said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Nothing yet.
    Open,
    /// In favour.
    Approve,
    /// Against.
    Reject,
}

/// One seat of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ballot {
    /// What it has said.
    pub voice: Voice,
    /// Whether its rejection alone decides.
    pub veto: bool,
}

/// What the votes amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not certain yet.
    Open,
    /// Approved, whatever the rest would say.
    Approved,
    /// Rejected, whatever the rest would say.
    Rejected,
}

/// A count that a page can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Seats in favour.
    pub votes_for: usize,
    /// Seats against.
    pub against: usize,
    /// Seats that have not spoken.
    pub open: usize,
    /// Seats in favour that approval needs.
    pub needed: usize,
    /// What it amounts to.
    pub verdict: Verdict,
}

/// Counts the seats of a round.
pub fn count(rule: Rule, reject: RejectRule, seats: &[Ballot]) -> Tally {
    let having = |voice| seats.iter().filter(|seat| seat.voice == voice).count();
    let (votes_for, against, open) = (
        having(Voice::Approve),
        having(Voice::Reject),
        having(Voice::Open),
    );
    let needed = needed(rule, seats.len());
    let vetoed = seats
        .iter()
        .any(|seat| seat.veto && seat.voice == Voice::Reject);
    let veto_open = seats
        .iter()
        .any(|seat| seat.veto && seat.voice == Voice::Open);
    let enough_against = match reject {
        RejectRule::After(limit) => against >= limit,
        RejectRule::WhenHopeless => false,
    };
    let verdict = if vetoed || enough_against || votes_for + open < needed {
        Verdict::Rejected
    } else if votes_for >= needed && !veto_open {
        Verdict::Approved
    } else {
        Verdict::Open
    };
    Tally {
        votes_for,
        against,
        open,
        needed,
        verdict,
    }
}

/// How many seats in favour a rule needs among `seats`.
pub fn needed(rule: Rule, seats: usize) -> usize {
    rule.needed(seats)
}
