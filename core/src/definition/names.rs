//! What a name may look like.

use std::collections::{HashMap, HashSet};

use super::findings::{Findings, quote};

/// Longest name, in bytes. Names end up in index entries and in pointers to every place below.
pub(super) const MAX_NAME: usize = 200;

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Machine,
    State,
    Event,
    Seat,
    Role,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::Machine => "machine",
            Kind::State => "state",
            Kind::Event => "event",
            Kind::Seat => "seat",
            Kind::Role => "role",
        }
    }
}

/// The names of one machine.
#[derive(Default)]
pub(super) struct Names<'s> {
    known: HashSet<(Kind, &'s str)>,
    /// First spelling by lower-case form.
    folded: HashMap<(Kind, String), &'s str>,
}

impl<'s> Names<'s> {
    /// Says what is wrong with a name, and whether it looks like another one.
    pub(super) fn vet(&mut self, kind: Kind, name: &'s str, path: &str, findings: &mut Findings) {
        let noun = kind.noun();
        if name.is_empty() {
            return findings.error(path, format!("the name of a {noun} must not be empty"));
        }
        if name.len() > MAX_NAME {
            let message = format!("the name of a {noun} must not be longer than {MAX_NAME} bytes");
            return findings.error(path, message);
        }
        if name.chars().any(char::is_control) {
            let message = format!("the {noun} name {} has a control character", quote(name));
            findings.error(path, message);
        }
        if name.trim().len() < name.len() {
            let message = format!(
                "the {noun} name {} begins or ends with white space",
                quote(name)
            );
            findings.error(path, message);
        }
        if !self.known.insert((kind, name)) {
            return;
        }
        let first = *self
            .folded
            .entry((kind, name.to_lowercase()))
            .or_insert(name);
        if first != name {
            let message = format!(
                "{noun} {} differs from {} in case only; they are two names",
                quote(name),
                quote(first)
            );
            findings.warning(path, message);
        }
    }
}
