//! Graphs for Graphviz.

use std::fmt::Write;

use super::escape;
use super::graph::Graph;

pub(super) fn write(graph: &Graph) -> String {
    let said = "a string takes it";
    let mut text = String::new();
    writeln!(text, "digraph \"{}\" {{", escape::dot(&graph.name)).expect(said);
    text.push_str(
        "    node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", color=\"#5b6b7b\", \
         fontname=\"sans-serif\", fontsize=12];\n    \
         edge [color=\"#5b6b7b\", fontname=\"sans-serif\", fontsize=10];\n    \
         initial [shape=point, width=0.15, color=\"#1c2733\"];\n",
    );
    for (i, node) in graph.nodes.iter().enumerate() {
        let lines = std::iter::once(&node.name).chain(&node.notes);
        let lines: Vec<String> = lines.map(|line| escape::dot(line)).collect();
        let mut style = String::new();
        if node.is_final {
            style += ", peripheries=2";
        }
        if node.is_current {
            style += ", fillcolor=\"#ffe9b8\", color=\"#b87503\", penwidth=2.5";
        } else if node.was_visited {
            style += ", fillcolor=\"#e8f1fb\", color=\"#2f6fb0\"";
        }
        writeln!(text, "    s{i} [label=\"{}\"{style}];", lines.join("\\n")).expect(said);
    }
    text.push_str("    initial -> s0;\n");
    for arrow in &graph.arrows {
        let mut lines = Vec::new();
        for label in &arrow.labels {
            lines.push(escape::dot(&label.heading()));
            lines.extend(label.notes.iter().map(|note| escape::dot(note)));
        }
        let mut style = String::new();
        if arrow.is_automatic() {
            style += ", style=dashed";
        }
        if arrow.was_taken() {
            style += ", color=\"#2f6fb0\", penwidth=2";
        }
        let (from, to) = (arrow.from, arrow.to);
        let label = lines.join("\\n");
        writeln!(text, "    s{from} -> s{to} [label=\"{label}\"{style}];").expect(said);
    }
    text.push_str("}\n");
    text
}
