//! Definitions as pictures: Mermaid, DOT and SVG.
//!
//! [`render`] draws a machine: states with their seats, edges with events, guards, roles and
//! verdicts, timers, what new material and used-up attempts do, and where an instance begins and
//! ends. With a [`Run`] it also shows where an instance stands and by which steps it came there.
//!
//! Everything in a definition is what a user typed, so every name, guard and role is escaped for the
//! language it ends up in: no name can end a string, begin a line or open an element. Characters
//! that would be invisible or would turn the reading direction are shown as `\u{FFFD}`.
//!
//! Mermaid and DOT are written in time linear in the definition and leave the layout to whoever
//! shows them. An SVG is laid out here, which takes more than linear time: it has a limit.

mod dot;
mod escape;
mod graph;
mod layout;
mod mermaid;
mod svg;
#[cfg(test)]
mod tests;

use crate::definition::Definition;

/// Most states that are laid out as SVG.
pub const MAX_DRAWN_STATES: usize = 40;

/// Most arrows that are laid out as SVG; edges between the same two states share one.
pub const MAX_DRAWN_ARROWS: usize = 60;

/// The language of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A Mermaid state diagram.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
    /// A drawing.
    Svg,
}

impl Format {
    /// The format of this name.
    pub fn parse(name: &str) -> Option<Format> {
        match name {
            "mermaid" => Some(Format::Mermaid),
            "dot" => Some(Format::Dot),
            "svg" => Some(Format::Svg),
            _ => None,
        }
    }
}

/// What an instance has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Where it stands.
    pub state: String,
    /// The steps that it took, those of one kind between the same states together.
    pub steps: Vec<Steps>,
}

/// Steps of an instance along the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// What took them.
    pub by: By,
    /// The state that they left.
    pub from: String,
    /// The state that they entered.
    pub to: String,
    /// Revisions of the first few, in order.
    pub revisions: Vec<i64>,
    /// How many there were.
    pub count: i64,
}

/// What takes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// An event of `on`, or a timer.
    Event(String),
    /// An edge of `always`.
    Always,
    /// New material.
    Supersede,
    /// Used-up attempts.
    Exhaust,
    /// Another administrative step, by its name.
    Other(String),
}

/// Why there is no diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undrawn {
    /// More states or arrows than are laid out.
    TooLarge {
        /// States of the definition.
        states: usize,
        /// Arrows between them.
        arrows: usize,
    },
    /// The layout library gave up.
    NoLayout,
}

/// Draws a machine, and an instance's way through it.
pub fn render(machine: &Definition, run: Option<&Run>, format: Format) -> Result<String, Undrawn> {
    let graph = graph::Graph::new(machine, run);
    match format {
        Format::Mermaid => Ok(mermaid::write(&graph)),
        Format::Dot => Ok(dot::write(&graph)),
        Format::Svg => svg::write(&graph),
    }
}
