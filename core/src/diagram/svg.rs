//! Drawings.

use std::fmt::Write;

use super::escape::xml;
use super::graph::{Arrow, Graph, Node};
use super::layout::{self, Curve, Places, Plan, Spot};
use super::{MAX_DRAWN_ARROWS, MAX_DRAWN_STATES, Undrawn};

/// Longest line of a state or a label, in characters.
const COLUMNS: usize = 34;
const TITLE: usize = 14;
const SMALL: usize = 11;
const LEADING: usize = 16;
const MARGIN: f64 = 16.;
/// Radius of the mark where instances begin, and how far above the initial state it is.
const MARK: f64 = 7.;
const ABOVE: f64 = 34.;
const SAID: &str = "a string takes it";

const STYLE: &str = "\
text{font-family:'Helvetica Neue',Helvetica,Arial,'DejaVu Sans','Noto Sans',sans-serif;\
text-anchor:middle;fill:#1c2733}\
.title{font-size:14px;font-weight:600}.event{font-size:12px;font-weight:600}\
.note{font-size:11px;fill:#4a5866}\
.state{fill:#fff;stroke:#5b6b7b;stroke-width:1.5}\
.inner{fill:none;stroke:#5b6b7b;stroke-width:1}\
.label{fill:#fff;fill-opacity:.92;stroke:none}\
.arrow{fill:none;stroke:#7a8896;stroke-width:1.5}.automatic{stroke-dasharray:6 4}\
.head{fill:#7a8896}.initial{fill:#1c2733}\
.visited .state{fill:#e8f1fb;stroke:#2f6fb0}.visited .inner{stroke:#2f6fb0}\
.current .state{fill:#ffe9b8;stroke:#b87503;stroke-width:3}.current .inner{stroke:#b87503}\
.taken .arrow{stroke:#2f6fb0;stroke-width:2.5}.taken .head{fill:#2f6fb0}.taken .event{fill:#1d5288}";

/// Lines of text with their class.
type Lines = Vec<(&'static str, String)>;

pub(super) fn write(graph: &Graph) -> Result<String, Undrawn> {
    let (states, arrows) = (graph.nodes.len(), graph.arrows.len());
    if states > MAX_DRAWN_STATES || arrows > MAX_DRAWN_ARROWS {
        return Err(Undrawn::TooLarge { states, arrows });
    }
    let nodes: Vec<Lines> = graph.nodes.iter().map(node_lines).collect();
    let labels: Vec<Lines> = graph.arrows.iter().map(arrow_lines).collect();
    let sizes: Vec<(usize, usize)> = nodes.iter().map(|lines| size(lines, 28, 20)).collect();
    let plan = Plan {
        boxes: sizes.clone(),
        arrows: graph
            .arrows
            .iter()
            .zip(&labels)
            .map(|(arrow, lines)| (arrow.from, arrow.to, size(lines, 8, 4)))
            .collect(),
    };
    let places = layout::place(&plan).ok_or(Undrawn::NoLayout)?;
    let frame = Frame::around(&plan, &places);

    let mut svg = String::new();
    let (width, height) = (frame.right - frame.left, frame.bottom - frame.top);
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"{:.0} {:.0} {width:.0} {height:.0}\">",
        frame.left, frame.top
    )
    .expect(SAID);
    writeln!(
        svg,
        "<title>{}</title>\n<style>{STYLE}</style>",
        xml(&graph.name)
    )
    .expect(SAID);
    writeln!(
        svg,
        "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>",
        frame.left, frame.top
    )
    .expect(SAID);

    for curve in &places.curves {
        let arrow = &graph.arrows[curve.arrow];
        if arrow.from == arrow.to {
            let label = places.labels[curve.arrow];
            draw_loop(
                &mut svg,
                arrow,
                places.boxes[arrow.from],
                sizes[arrow.from],
                label,
            );
        } else {
            draw_curve(&mut svg, arrow, curve);
        }
    }
    draw_start(&mut svg, places.boxes[0], sizes[0]);
    for (i, lines) in labels.iter().enumerate() {
        let (_, _, size) = plan.arrows[i];
        let class = if graph.arrows[i].was_taken() {
            " class=\"taken\""
        } else {
            ""
        };
        writeln!(svg, "<g{class}>").expect(SAID);
        draw_box(&mut svg, "label", places.labels[i], size, 0., 3.);
        draw_lines(&mut svg, lines, places.labels[i]);
        svg.push_str("</g>\n");
    }
    for (i, node) in graph.nodes.iter().enumerate() {
        let class = match node {
            node if node.is_current => " class=\"current\"",
            node if node.was_visited => " class=\"visited\"",
            _ => "",
        };
        writeln!(svg, "<g{class}><title>{}</title>", xml(&node.name)).expect(SAID);
        draw_box(&mut svg, "state", places.boxes[i], sizes[i], 0., 9.);
        if node.is_final {
            draw_box(&mut svg, "inner", places.boxes[i], sizes[i], 4., 6.);
        }
        draw_lines(&mut svg, &nodes[i], places.boxes[i]);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn node_lines(node: &Node) -> Lines {
    let mut lines = Lines::new();
    wrap(&mut lines, "title", &node.name);
    node.notes
        .iter()
        .for_each(|note| wrap(&mut lines, "note", note));
    lines
}

fn arrow_lines(arrow: &Arrow) -> Lines {
    let mut lines = Lines::new();
    for label in &arrow.labels {
        wrap(&mut lines, "event", &label.heading());
        label
            .notes
            .iter()
            .for_each(|note| wrap(&mut lines, "note", note));
    }
    lines
}

/// Breaks at spaces where there are any, else anywhere.
fn wrap(lines: &mut Lines, class: &'static str, text: &str) {
    let mut line = String::new();
    let mut width = 0;
    for word in text.split_inclusive(' ') {
        let needs = word.trim_end().chars().map(columns).sum::<usize>();
        if width > 0 && width + needs > COLUMNS {
            lines.push((class, std::mem::take(&mut line)));
            width = 0;
        }
        for c in word.chars() {
            if width + columns(c) > COLUMNS && c != ' ' {
                lines.push((class, std::mem::take(&mut line)));
                width = 0;
            }
            line.push(c);
            width += columns(c);
        }
    }
    if width > 0 {
        lines.push((class, line));
    }
}

/// Wide characters take the room of two.
fn columns(c: char) -> usize {
    if u32::from(c) >= 0x1100 { 2 } else { 1 }
}

/// About how wide a line is, and a little more than that.
fn line_width((class, line): &(&str, String)) -> usize {
    let em = match *class {
        "title" => TITLE * 9 / 8,
        "event" => (SMALL + 1) * 9 / 8,
        _ => SMALL,
    };
    let share = |c: char| match c {
        c if columns(c) == 2 => 110,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 95,
        'A'..='Z' | '_' | '…' => 74,
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | '\'' | '(' | ')' | '['
        | ']' => 36,
        c if c.is_ascii() => 61,
        _ => 74,
    };
    line.trim_end().chars().map(share).sum::<usize>() * em / 100
}

fn size(lines: &Lines, beside: usize, above: usize) -> (usize, usize) {
    let width = lines.iter().map(line_width).max().unwrap_or(0);
    (
        (width + beside).max(24),
        lines.len().max(1) * LEADING + above,
    )
}

fn draw_box(svg: &mut String, class: &str, at: Spot, size: (usize, usize), inset: f64, round: f64) {
    let (width, height) = (size.0 as f64 - 2. * inset, size.1 as f64 - 2. * inset);
    let (x, y) = (at.0 - width / 2., at.1 - height / 2.);
    writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\"/>"
    )
    .expect(SAID);
}

fn draw_lines(svg: &mut String, lines: &Lines, at: Spot) {
    let top = at.1 - (lines.len() * LEADING) as f64 / 2.;
    for (i, (class, line)) in lines.iter().enumerate() {
        let y = top + (i * LEADING) as f64 + LEADING as f64 * 0.74;
        let line = xml(line.trim_end());
        writeln!(
            svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\">{line}</text>",
            at.0
        )
        .expect(SAID);
    }
}

/// The dot, and the arrow from it to the initial state.
fn draw_start(svg: &mut String, at: Spot, size: (usize, usize)) {
    let top = at.1 - size.1 as f64 / 2.;
    let x = at.0 - size.0 as f64 / 4.;
    writeln!(
        svg,
        "<circle class=\"initial\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"{MARK}\"/>",
        top - ABOVE
    )
    .expect(SAID);
    writeln!(
        svg,
        "<path class=\"arrow\" d=\"M{x:.1} {:.1}L{x:.1} {:.1}\"/>",
        top - ABOVE + MARK,
        top - 8.
    )
    .expect(SAID);
    draw_head(svg, (x, top - ABOVE), (x, top));
}

fn draw_curve(svg: &mut String, arrow: &Arrow, curve: &Curve) {
    let mut points: Vec<Spot> = vec![curve.path[0].0, curve.path[0].1];
    points.push(curve.path[1].0);
    points.push(curve.path[1].1);
    for (control, to) in &curve.path[2..] {
        // A smooth join: the control point before is that behind, mirrored.
        let [before, joint] = points[points.len() - 2..] else {
            return;
        };
        points.push((2. * joint.0 - before.0, 2. * joint.1 - before.1));
        points.push(*control);
        points.push(*to);
    }
    if curve.reversed {
        points.reverse();
    }
    draw_path(svg, arrow, &points, curve.is_last);
}

/// From a state back to itself, on the side where its label is and through the middle of it.
fn draw_loop(svg: &mut String, arrow: &Arrow, at: Spot, size: (usize, usize), label: Spot) {
    let half = size.0 as f64 / 2.;
    let side = if label.0 < at.0 {
        at.0 - half
    } else {
        at.0 + half
    };
    let far = (label.0 - 0.25 * side) / 0.75;
    let points = [
        (side, at.1 - 9.),
        (far, label.1 - 34.),
        (far, label.1 + 34.),
        (side, at.1 + 9.),
    ];
    draw_path(svg, arrow, &points, true);
}

/// Cubic Bézier curves that join.
fn draw_path(svg: &mut String, arrow: &Arrow, points: &[Spot], has_head: bool) {
    let (tip, before) = (points[points.len() - 1], points[points.len() - 2]);
    let class = if arrow.was_taken() {
        " class=\"taken\""
    } else {
        ""
    };
    let kind = if arrow.is_automatic() {
        "arrow automatic"
    } else {
        "arrow"
    };
    let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for three in points[1..].chunks_exact(3) {
        let [a, b, c] = three else { return };
        write!(
            path,
            "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
            a.0, a.1, b.0, b.1, c.0, c.1
        )
        .expect(SAID);
    }
    writeln!(svg, "<g{class}><path class=\"{kind}\" d=\"{path}\"/>").expect(SAID);
    if has_head {
        draw_head(svg, before, tip);
    }
    svg.push_str("</g>\n");
}

fn draw_head(svg: &mut String, from: Spot, tip: Spot) {
    let (dx, dy) = (tip.0 - from.0, tip.1 - from.1);
    let length = dx.hypot(dy);
    let (dx, dy) = if length > 0.001 {
        (dx / length, dy / length)
    } else {
        (0., 1.)
    };
    let back = (tip.0 - 9. * dx, tip.1 - 9. * dy);
    writeln!(
        svg,
        "<path class=\"head\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
        tip.0,
        tip.1,
        back.0 - 4.5 * dy,
        back.1 + 4.5 * dx,
        back.0 + 4.5 * dy,
        back.1 - 4.5 * dx
    )
    .expect(SAID);
}

/// What has to be seen.
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn around(plan: &Plan, places: &Places) -> Frame {
        let mut frame = Frame {
            left: f64::MAX,
            top: f64::MAX,
            right: f64::MIN,
            bottom: f64::MIN,
        };
        let labels = plan.arrows.iter().map(|(_, _, size)| size);
        let spots = places.boxes.iter().chain(&places.labels);
        for (at, size) in spots.zip(plan.boxes.iter().chain(labels)) {
            frame.take((at.0 - size.0 as f64 / 2., at.1 - size.1 as f64 / 2.));
            frame.take((at.0 + size.0 as f64 / 2., at.1 + size.1 as f64 / 2.));
        }
        for curve in &places.curves {
            for (a, b) in &curve.path {
                frame.take(*a);
                frame.take(*b);
            }
        }
        let first = places.boxes[0].1 - plan.boxes[0].1 as f64 / 2.;
        frame.take((places.boxes[0].0, first - ABOVE - MARK));
        frame.left -= MARGIN;
        frame.top -= MARGIN;
        frame.right += MARGIN;
        frame.bottom += MARGIN;
        frame
    }

    fn take(&mut self, at: Spot) {
        self.left = self.left.min(at.0);
        self.right = self.right.max(at.0);
        self.top = self.top.min(at.1);
        self.bottom = self.bottom.max(at.1);
    }
}
