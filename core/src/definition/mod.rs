//! State machines as designers write them (the JSON shape of XState machine configs, flat) and as
//! the engine runs them.

mod check;
mod model;
mod parse;

pub use check::check;
pub use model::*;
pub use parse::parse;

/// How much a [`Finding`] weighs: only errors keep a definition from being published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The definition is accepted; its author may still want to know.
    Warning,
    /// The definition is refused (`WF014`).
    Error,
}

/// One remark on a definition, with a JSON pointer (RFC 6901) to the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it keeps the definition from being published.
    pub severity: Severity,
    /// JSON pointer into the spec; empty for the spec as a whole.
    pub path: String,
    /// What is wrong, in words for the author.
    pub message: String,
}
