//! Steps that one command takes.

use crate::machine::Edge;
use crate::oracle::{Effect, Node, Scene, Step, Verdict, first_true, state};
use crate::panel::Seat;

/// Steps that follow each other in one command.
pub struct Path<'a> {
    scene: &'a Scene<'a>,
    pub node: Node,
    steps: Vec<Step>,
    /// The task that the command decides or removes.
    pub task: Option<(usize, Option<&'static str>)>,
}

impl<'a> Path<'a> {
    pub fn new(scene: &'a Scene<'a>, node: Node) -> Path<'a> {
        Path {
            scene,
            node,
            steps: Vec::new(),
            task: None,
        }
    }

    pub fn step(
        &mut self,
        kind: &'static str,
        from: Option<&'static str>,
        to: &str,
        edge: Option<&Edge>,
    ) {
        let node = &mut self.node;
        let to = state(self.scene.machine, to);
        node.revision += 1;
        node.state = to.name;
        node.closed = to.last;
        let decision = edge.and_then(|edge| edge.decision);
        if matches!(decision, Some("approve" | "reject")) {
            node.judged = node.material;
        }
        self.steps.push(Step {
            kind,
            revision: node.revision,
            from,
            to: to.name,
            event: edge
                .map(|edge| edge.event)
                .filter(|event| !event.is_empty()),
            decision,
            // Of the state that is left; of the first state for the start.
            round: node.round.max(1),
            material: node.material,
            publish: edge.is_none_or(|edge| edge.publish),
        });
    }

    /// A state was entered, be it the same as before.
    pub fn enter(&mut self) {
        self.node.round += 1;
        self.node.entered = self.node.revision;
    }

    /// Follows `always` edges until none is true. An unknown guard refuses the whole command.
    pub fn settle(mut self) -> Verdict {
        loop {
            let here = state(self.scene.machine, self.node.state);
            match first_true(self.scene, self.node.round, here.always.iter()) {
                Err(()) => return Verdict::Refused("WF011"),
                Ok(None) => return self.rest(),
                Ok(Some(edge)) => {
                    self.step("edge", Some(here.name), edge.target, Some(edge));
                    self.enter();
                }
            }
        }
    }

    /// Comes to rest, where the seats of the state are asked.
    pub fn rest(self) -> Verdict {
        let here = state(self.scene.machine, self.node.state);
        let panel = here.panel.as_ref();
        self.ask(panel.into_iter().flat_map(|panel| panel.seats.clone()))
    }

    /// Comes to rest and asks these seats.
    pub fn ask(mut self, seats: impl Iterator<Item = Seat>) -> Verdict {
        let opened = seats.map(|seat| self.node.open(seat)).collect();
        self.finish(opened)
    }

    /// Stays, whoever is asked.
    pub fn finish(self, opened: Vec<usize>) -> Verdict {
        let event = self.steps[0].event.map(str::to_owned);
        Verdict::Applied(Effect {
            node: self.node,
            steps: self.steps,
            event,
            opened,
            task: self.task,
            entry: None,
            count: None,
        })
    }
}
