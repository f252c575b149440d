//! What a diagram shows, whatever its language.

use std::collections::{HashMap, VecDeque};

use super::escape::{shortened, visible};
use super::{By, Run};
use crate::definition::{
    AFTER, Definition, Direction, Edge, OnSupersede, Rule, State, StateId, Term,
};

pub(super) struct Graph {
    pub(super) name: String,
    /// The initial state first, then in the order in which they are reached.
    pub(super) nodes: Vec<Node>,
    pub(super) arrows: Vec<Arrow>,
}

pub(super) struct Node {
    pub(super) name: String,
    /// What the state asks for: seats, rule, due date.
    pub(super) notes: Vec<String>,
    pub(super) is_final: bool,
    /// Where the instance stands.
    pub(super) is_current: bool,
    /// Whether the instance has been there.
    pub(super) was_visited: bool,
}

/// Everything that leads from one state to another.
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) labels: Vec<Label>,
}

/// One way along an arrow.
pub(super) struct Label {
    /// The event, or what it is that moves the instance.
    pub(super) title: String,
    /// Guard, roles, what it takes from resources.
    pub(super) notes: Vec<String>,
    /// Whether a command takes it, and not time or the engine.
    pub(super) is_command: bool,
    /// Revisions at which the instance took it.
    pub(super) taken: Option<String>,
}

impl Arrow {
    pub(super) fn was_taken(&self) -> bool {
        self.labels.iter().any(|label| label.taken.is_some())
    }

    /// Whether no command leads along it.
    pub(super) fn is_automatic(&self) -> bool {
        self.labels.iter().all(|label| !label.is_command)
    }
}

impl Label {
    /// The title, with the revisions before it.
    pub(super) fn heading(&self) -> String {
        match &self.taken {
            Some(taken) => format!("({taken}) {}", self.title),
            None => self.title.clone(),
        }
    }
}

/// A way before it is known where it is drawn.
struct Way<'m> {
    by: By,
    from: StateId,
    to: StateId,
    edge: Option<&'m Edge>,
}

impl Graph {
    pub(super) fn new(machine: &Definition, run: Option<&Run>) -> Graph {
        let ways = ways(machine);
        let order = order(machine, &ways);
        let mut place = vec![0; order.len()];
        for (i, id) in order.iter().enumerate() {
            place[*id] = i;
        }
        let been = |name: &str| {
            run.is_some_and(|run| {
                let mut ends = run.steps.iter().flat_map(|steps| [&steps.from, &steps.to]);
                run.state == name || ends.any(|end| end == name)
            })
        };
        let nodes = order.iter().map(|id| {
            let state = &machine.states[*id];
            Node {
                name: visible(&state.name),
                notes: notes(state),
                is_final: state.is_final,
                is_current: run.is_some_and(|run| run.state == state.name),
                was_visited: been(&state.name),
            }
        });
        let mut graph = Graph {
            name: visible(&machine.name),
            nodes: nodes.collect(),
            arrows: Vec::new(),
        };
        let mut known = HashMap::new();
        let mut untold: HashMap<_, _> = HashMap::new();
        for steps in run.iter().flat_map(|run| &run.steps) {
            let ends = machine.state(&steps.from).zip(machine.state(&steps.to));
            if let Some(ends) = ends {
                let taken: &mut Vec<_> = untold.entry(ends).or_default();
                taken.push(steps);
            }
        }
        for way in ways {
            // Which of several branches between the same states was taken, history does not tell.
            let mut taken = None;
            if let Some(steps) = untold.get_mut(&(way.from, way.to))
                && let Some(at) = steps.iter().position(|steps| steps.by == way.by)
            {
                taken = Some(revisions(steps.remove(at)));
            }
            let label = label(&way, taken);
            graph.label(&mut known, place[way.from], place[way.to], label);
        }
        // Steps that this version of the definition does not know, such as a migration.
        let mut left: Vec<_> = untold.into_iter().collect();
        left.sort_by_key(|(ends, _)| *ends);
        for ((from, to), steps) in left {
            for steps in steps {
                if from == to && matches!(steps.by, By::Other(_) | By::Supersede) {
                    continue;
                }
                let label = Label {
                    title: match &steps.by {
                        By::Event(event) => visible(event),
                        By::Always => "always".into(),
                        By::Supersede => "new material".into(),
                        By::Exhaust => "attempts used up".into(),
                        By::Other(step) => visible(step),
                    },
                    notes: Vec::new(),
                    is_command: false,
                    taken: Some(revisions(steps)),
                };
                graph.label(&mut known, place[from], place[to], label);
            }
        }
        graph
    }

    fn label(
        &mut self,
        known: &mut HashMap<(usize, usize), usize>,
        from: usize,
        to: usize,
        label: Label,
    ) {
        let at = *known.entry((from, to)).or_insert_with(|| {
            self.arrows.push(Arrow {
                from,
                to,
                labels: Vec::new(),
            });
            self.arrows.len() - 1
        });
        self.arrows[at].labels.push(label);
    }
}

fn ways(machine: &Definition) -> Vec<Way<'_>> {
    let mut ways = Vec::new();
    for (from, state) in machine.states.iter().enumerate() {
        for edge in state.all_edges() {
            let by = match edge.event.as_str() {
                "" => By::Always,
                event => By::Event(event.to_owned()),
            };
            ways.push(Way {
                by,
                from,
                to: edge.target,
                edge: Some(edge),
            });
        }
        if let OnSupersede::GoTo(to) = state.on_supersede {
            ways.push(Way {
                by: By::Supersede,
                from,
                to,
                edge: None,
            });
        }
        if let Some(to) = state.retry.as_ref().and_then(|retry| retry.exhausted) {
            ways.push(Way {
                by: By::Exhaust,
                from,
                to,
                edge: None,
            });
        }
    }
    ways
}

/// The states as they are reached from the initial one.
fn order(machine: &Definition, ways: &[Way<'_>]) -> Vec<StateId> {
    let mut next = vec![Vec::new(); machine.states.len()];
    for way in ways {
        next[way.from].push(way.to);
    }
    let mut seen = vec![false; machine.states.len()];
    let mut order = Vec::new();
    let mut open = VecDeque::new();
    for id in std::iter::once(machine.initial).chain(0..machine.states.len()) {
        if !std::mem::replace(&mut seen[id], true) {
            open.push_back(id);
        }
        while let Some(id) = open.pop_front() {
            order.push(id);
            for to in &next[id] {
                if !std::mem::replace(&mut seen[*to], true) {
                    open.push_back(*to);
                }
            }
        }
    }
    order
}

fn label(way: &Way<'_>, taken: Option<String>) -> Label {
    let (title, is_command) = match &way.by {
        By::Event(event) => match event.strip_prefix(AFTER) {
            Some("due") => ("when due".to_owned(), false),
            Some(delay) if delay.bytes().all(|b| b.is_ascii_digit()) => {
                (format!("after {delay} ms"), false)
            }
            Some(delay) => (format!("after {}", visible(delay)), false),
            None => (visible(event), true),
        },
        By::Always => ("always".to_owned(), false),
        By::Supersede => ("new material".to_owned(), false),
        By::Exhaust => ("attempts used up".to_owned(), false),
        By::Other(step) => (visible(step), false),
    };
    Label {
        title,
        notes: way.edge.map(conditions).unwrap_or_default(),
        is_command,
        taken,
    }
}

/// What stands under the name of an edge.
fn conditions(edge: &Edge) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(guard) = &edge.guard {
        notes.push(shortened(&format!("[{guard}]")));
    }
    let verdict = edge.decision.map(|decision| decision.as_str().to_owned());
    let roles = (!edge.roles.is_empty()).then(|| format!("by {}", edge.roles.join(", ")));
    let who: Vec<String> = verdict.into_iter().chain(roles).collect();
    if !who.is_empty() {
        notes.push(shortened(&who.join(" ")));
    }
    for draw in &edge.draws {
        let verb = match draw.direction {
            Direction::Consume => "takes",
            Direction::Restock => "gives back",
        };
        let quantity = match &draw.quantity {
            Term::Constant(quantity) => quantity.to_string(),
            Term::Path(path) => path.clone(),
        };
        let resource = match &draw.resource {
            Term::Constant(key) => key,
            Term::Path(path) => path,
        };
        notes.push(shortened(&format!("{verb} {quantity} of {resource}")));
    }
    notes
}

/// What stands under the name of a state.
fn notes(state: &State) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(task) = &state.task {
        for seat in &task.seats {
            let mut note = format!("seat {}", seat.name);
            if !seat.roles.is_empty() {
                note += &format!(": {}", seat.roles.join(", "));
            }
            if seat.veto {
                note += " (veto)";
            }
            notes.push(shortened(&note));
        }
        let seats = task.seats.len();
        if seats > 1 {
            notes.push(match task.rule {
                Rule::All => format!("all {seats} must approve"),
                rule => format!("{} of {seats} must approve", rule.needed(seats)),
            });
        }
        if let Some(due) = &task.due {
            notes.push(shortened(&format!("due in {due}")));
        }
    }
    if state.lease_required {
        notes.push("needs a lease".into());
    }
    if let Some(most) = state.retry.as_ref().and_then(|retry| retry.max_attempts) {
        notes.push(format!("at most {most} attempts"));
    }
    if state.on_supersede == OnSupersede::Refuse {
        notes.push("takes no new material".into());
    }
    notes
}

fn revisions(steps: &super::Steps) -> String {
    let shown: Vec<String> = steps.revisions.iter().map(i64::to_string).collect();
    let mut text = shown.join(", ");
    let more = steps.count - steps.revisions.len() as i64;
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}
