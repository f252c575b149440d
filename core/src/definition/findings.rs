//! Remarks on a spec, and the words they are made of.

use serde_json::{Map, Value};

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

/// Collects findings while a spec is read.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    errors: usize,
}

impl Findings {
    pub(super) fn error(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.errors += 1;
        self.push(Severity::Error, path.into(), message.into());
    }

    pub(super) fn warning(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.push(Severity::Warning, path.into(), message.into());
    }

    fn push(&mut self, severity: Severity, path: String, message: String) {
        self.list.push(Finding {
            severity,
            path,
            message,
        });
    }

    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All of them, in an order that depends on the spec only.
    pub(super) fn sorted(mut self) -> Vec<Finding> {
        self.list
            .sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
        self.list
    }

    /// Says that a value is of the wrong JSON type.
    pub(super) fn wrong_type(&mut self, path: &str, wanted: &str, value: &Value) {
        let actual = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.error(path, format!("must be {wanted}, not {actual}"));
    }

    pub(super) fn object<'s>(
        &mut self,
        value: &'s Value,
        path: &str,
    ) -> Option<&'s Map<String, Value>> {
        if value.as_object().is_none() {
            self.wrong_type(path, "an object", value);
        }
        value.as_object()
    }

    pub(super) fn text<'s>(&mut self, value: &'s Value, path: &str) -> Option<&'s str> {
        if value.as_str().is_none() {
            self.wrong_type(path, "a string", value);
        }
        value.as_str()
    }

    /// A member that is true or false; `None` if it is absent or neither.
    pub(super) fn flag(
        &mut self,
        object: &Map<String, Value>,
        key: &str,
        path: &str,
    ) -> Option<bool> {
        let value = object.get(key)?;
        if value.as_bool().is_none() {
            self.wrong_type(&child(path, key), "true or false", value);
        }
        value.as_bool()
    }

    /// A member that must be one of a few words; what the word stands for.
    pub(super) fn word<T: Copy>(
        &mut self,
        object: &Map<String, Value>,
        key: &str,
        path: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let value = object.get(key)?;
        let path = child(path, key);
        let text = self.text(value, &path)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words = enumerate(words.iter().map(|(word, _)| *word));
            self.error(path, format!("must be one of {words}, not {}", quote(text)));
        }
        found.map(|(_, meaning)| *meaning)
    }
}

/// The pointer to a member of the object at `parent`.
pub(super) fn child(parent: &str, key: &str) -> String {
    let mut path = String::with_capacity(parent.len() + key.len() + 1);
    path.push_str(parent);
    path.push('/');
    for c in key.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            c => path.push(c),
        }
    }
    path
}

/// A name or key for a message: long ones are cut, control characters shown as escapes.
pub(super) fn quote(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut quoted = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN {
            quoted.push('…');
            break;
        }
        if c.is_control() {
            quoted.extend(c.escape_default());
        } else {
            quoted.push(c);
        }
    }
    quoted.push('`');
    quoted
}

/// Names for a message; the first few of many.
pub(super) fn enumerate<'a>(names: impl Iterator<Item = &'a str>) -> String {
    joined(names, ", ")
}

/// Names for a message with something between them; the first few of many.
pub(super) fn joined<'a>(names: impl Iterator<Item = &'a str>, between: &str) -> String {
    const SHOWN: usize = 8;
    let mut names = names.peekable();
    let shown: Vec<String> = names.by_ref().take(SHOWN).map(quote).collect();
    let more = if names.peek().is_some() { "…" } else { "" };
    match more {
        "" => shown.join(between),
        more => [&shown.join(between), more].join(between),
    }
}
