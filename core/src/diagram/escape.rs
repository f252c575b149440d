//! Text of users inside the languages of diagrams.

use std::fmt::Write;

/// Longest guard, path or list that is shown whole, in characters.
const SHOWN: usize = 120;

/// What can be seen of a text: controls as spaces, and marks that hide or turn text as `\u{FFFD}`.
pub(super) fn visible(text: &str) -> String {
    let seen = |c: char| match c {
        c if c.is_control() => ' ',
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => '\u{FFFD}',
        '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c => c,
    };
    text.chars().map(seen).collect()
}

/// The beginning of a text of any length.
pub(super) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    visible(&short)
}

/// Inside a label of Mermaid: anything that is neither a letter, a digit nor a space is named by its
/// number, so nothing is left that Mermaid's grammar or its Markdown could act upon.
pub(super) fn mermaid(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == ' ' || c == '_' {
            escaped.push(c);
        } else {
            write!(escaped, "#{};", u32::from(c)).expect("a string takes it");
        }
    }
    escaped
}

/// Inside a quoted string of DOT, where a backslash also begins an escape of Graphviz and an
/// ampersand an entity.
pub(super) fn dot(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Inside an element or an attribute of XML.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
