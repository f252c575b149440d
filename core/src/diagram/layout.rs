//! Where everything goes in a drawing: the one place that knows the layout library.
//!
//! The library gets no text of users, only boxes of the size that the text will need, each named by
//! a number. Two of its searches take exponential time in the number of ways through the graph:
//! its self-check, which is switched off, and the search for circles. So circles are opened here, and
//! edges are handed over in an order in which that search ends at once.

use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::{Point, Position};
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;

pub(super) type Spot = (f64, f64);

/// Sizes in, in pixels.
pub(super) struct Plan {
    pub(super) boxes: Vec<(usize, usize)>,
    /// From, to, and the size of the label.
    pub(super) arrows: Vec<(usize, usize, (usize, usize))>,
}

/// Places out.
#[derive(Default)]
pub(super) struct Places {
    /// Middle of each box.
    pub(super) boxes: Vec<Spot>,
    /// Middle of each label.
    pub(super) labels: Vec<Spot>,
    pub(super) curves: Vec<Curve>,
}

/// A Bézier curve: a start with its control point, then control points with where they lead.
#[derive(Clone, Default)]
pub(super) struct Curve {
    /// Which arrow it is part of.
    pub(super) arrow: usize,
    pub(super) path: Vec<(Spot, Spot)>,
    /// Whether the arrow goes along it from its end to its start.
    pub(super) reversed: bool,
    /// Whether it leads into a state and so has a head.
    pub(super) is_last: bool,
}

/// Font sizes by which the two kinds of text are told apart; at 1 a label's size is its number of
/// characters and lines.
const LABEL: usize = 1;
const BOX: usize = 2;

/// Parts of an arrow: out of its state, into the other one, or both. Labels are boxes between the
/// two, because the library moves the text of its own labels to where it forgets how large it is.
const OUT: &str = "out";
const IN: &str = "in";
const SELF: &str = "self";

pub(super) fn place(plan: &Plan) -> Option<Places> {
    let quiet = std::panic::catch_unwind(|| lay_out(plan));
    let places = quiet.ok()?;
    let numbers = places.boxes.iter().chain(&places.labels);
    let spots = places.curves.iter().flat_map(|curve| &curve.path);
    let finite = |spot: &Spot| spot.0.is_finite() && spot.1.is_finite();
    let drawn = places.curves.iter().all(|curve| curve.path.len() > 1);
    let sound = numbers.chain(spots.flat_map(|(a, b)| [a, b])).all(finite);
    (drawn && sound).then_some(places)
}

fn look(font: usize) -> StyleAttr {
    StyleAttr::new(Color::transparent(), 1, None, 0, font)
}

fn position(width: usize, height: usize, beside: f64, above: f64) -> Position {
    let size = Point::new(width as f64, height as f64);
    Position::new(
        Point::zero(),
        size,
        Point::zero(),
        Point::new(beside, above),
    )
}

/// One part of arrow `i`. Its properties say so when it comes back.
fn arrow(i: usize, part: &str, text: &str, reversed: bool) -> Arrow {
    let ends = match reversed {
        true => (LineEndKind::Arrow, LineEndKind::None),
        false => (LineEndKind::None, LineEndKind::Arrow),
    };
    Arrow::with_properties(
        ends.0,
        ends.1,
        LineStyleKind::Normal,
        text,
        &look(LABEL),
        format!("{i}:{part}"),
        &None,
        &None,
    )
}

fn lay_out(plan: &Plan) -> Places {
    let down = Orientation::TopToBottom;
    let mut graph = VisualGraph::new(down);
    graph.dag.set_validate(false);
    let handles: Vec<_> = plan
        .boxes
        .iter()
        .enumerate()
        .map(|(i, (width, height))| {
            graph.add_node(Element {
                shape: ShapeKind::Box(i.to_string()),
                pos: position(*width, *height, 28., 28.),
                look: look(BOX),
                orientation: down,
                properties: None,
            })
        })
        .collect();

    let rank = ranks(plan);
    let mut arrows: Vec<usize> = (0..plan.arrows.len()).collect();
    let low = |i: usize| rank[plan.arrows[i].0].min(rank[plan.arrows[i].1]);
    arrows.sort_by_key(|i| (low(*i), *i));
    for i in arrows {
        let (from, to, (width, height)) = plan.arrows[i];
        if from == to {
            let text = placeholder(i, width, height);
            graph.add_edge(arrow(i, SELF, &text, false), handles[from], handles[from]);
            continue;
        }
        let label = graph.add_node(Element {
            shape: ShapeKind::Box(format!("{i}:")),
            pos: position(width, height, 12., 12.),
            look: look(LABEL),
            orientation: down,
            properties: None,
        });
        let reversed = rank[from] > rank[to];
        let (first, last) = if reversed { (to, from) } else { (from, to) };
        let (above, below) = if reversed { (IN, OUT) } else { (OUT, IN) };
        graph.add_edge(arrow(i, above, "", reversed), handles[first], label);
        graph.add_edge(arrow(i, below, "", reversed), label, handles[last]);
    }
    let mut places = Places {
        boxes: vec![(0., 0.); plan.boxes.len()],
        labels: vec![(0., 0.); plan.arrows.len()],
        curves: Vec::new(),
    };
    graph.do_it(false, false, false, &mut places);
    places
}

/// A text of one pixel to a character and a line, of the given size, that begins with a number.
fn placeholder(i: usize, width: usize, height: usize) -> String {
    let mut text = format!("{i}:");
    while text.len() < width {
        text.push('x');
    }
    text.push_str(&"\nx".repeat(height.saturating_sub(1)));
    text
}

/// A number for each box, such that arrows from a lower to a higher number make no circle and go
/// the way that an instance goes first.
fn ranks(plan: &Plan) -> Vec<usize> {
    let count = plan.boxes.len();
    let mut next = vec![Vec::new(); count];
    for (from, to, _) in &plan.arrows {
        next[*from].push(*to);
    }
    let mut seen = vec![false; count];
    let mut rank = vec![0; count];
    let mut left = count;
    for start in 0..count {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut open = vec![(start, 0)];
        while let Some((at, branch)) = open.last_mut() {
            if let Some(to) = next[*at].get(*branch) {
                *branch += 1;
                if !std::mem::replace(&mut seen[*to], true) {
                    open.push((*to, 0));
                }
            } else {
                left -= 1;
                rank[*at] = left;
                open.pop();
            }
        }
    }
    rank
}

fn spot(point: &Point) -> Spot {
    (point.x, point.y)
}

impl RenderBackend for Places {
    fn draw_rect(
        &mut self,
        _: Point,
        _: Point,
        _: &StyleAttr,
        _: Option<String>,
        _: Option<ClipHandle>,
    ) {
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_text(&mut self, at: Point, text: &str, look: &StyleAttr) {
        let number = text
            .split(':')
            .next()
            .and_then(|number| number.parse().ok());
        let places = match look.font_size {
            LABEL => &mut self.labels,
            _ => &mut self.boxes,
        };
        if let Some(place) = number.and_then(|number: usize| places.get_mut(number)) {
            *place = spot(&at);
        }
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _: bool,
        head: (bool, bool),
        _: &StyleAttr,
        properties: Option<String>,
        _: &str,
    ) {
        let Some(properties) = properties else { return };
        let Some((number, part)) = properties.split_once(':') else {
            return;
        };
        let Ok(arrow) = number.parse() else { return };
        self.curves.push(Curve {
            arrow,
            path: path.iter().map(|(a, b)| (spot(a), spot(b))).collect(),
            reversed: head.0,
            is_last: part != OUT,
        });
    }

    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}
