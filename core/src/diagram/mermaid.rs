//! State diagrams of Mermaid, version 10 or later.

use std::fmt::Write;

use super::escape;
use super::graph::Graph;

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::from("stateDiagram-v2\n    direction TB\n");
    let said = "a string takes it";
    for (i, node) in graph.nodes.iter().enumerate() {
        let lines = std::iter::once(&node.name).chain(&node.notes);
        let lines: Vec<String> = lines.map(|line| escape::mermaid(line)).collect();
        writeln!(text, "    state \"{}\" as s{i}", lines.join("<br/>")).expect(said);
    }
    text.push_str("    [*] --> s0\n");
    for arrow in &graph.arrows {
        let mut lines = Vec::new();
        for label in &arrow.labels {
            lines.push(escape::mermaid(&label.heading()));
            lines.extend(label.notes.iter().map(|note| escape::mermaid(note)));
        }
        let (from, to) = (arrow.from, arrow.to);
        writeln!(text, "    s{from} --> s{to} : {}", lines.join("<br/>")).expect(said);
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        if node.is_final {
            writeln!(text, "    s{i} --> [*]").expect(said);
        }
    }
    if graph.nodes.iter().any(|node| node.was_visited) {
        text.push_str("    classDef visited fill:#e8f1fb,stroke:#2f6fb0,color:#1c2733\n");
        text.push_str(
            "    classDef current fill:#ffe9b8,stroke:#b87503,stroke-width:3px,color:#1c2733\n",
        );
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        if node.is_current {
            writeln!(text, "    class s{i} current").expect(said);
        } else if node.was_visited {
            writeln!(text, "    class s{i} visited").expect(said);
        }
    }
    text
}
