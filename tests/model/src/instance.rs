//! One instance of the model, played from its start.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Uuid;

use crate::command::Action;
use crate::machine::{Machine, Seat};
use crate::model::Application;
use crate::oracle::{self, Effect, Node, Scene, Step, Verdict};
use crate::record::{At, Outcome};
use crate::round::{Round, Violation};

/// A history row with what its command said.
#[derive(Clone, Debug)]
pub struct Row {
    pub step: Step,
    pub made: At,
    /// First of its command: it carries the comment and the payload.
    pub first: bool,
    /// Place of the decided task.
    pub task: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub seat: Seat,
    pub state: &'static str,
    pub round: i32,
    pub material: i32,
    pub opened: i64,
    /// As the command that opened it answered; a supersede does not say.
    pub id: Option<Uuid>,
    pub closed: Option<Closed>,
}

#[derive(Clone, Debug)]
pub struct Closed {
    pub revision: i64,
    /// Event and actor, if the seat's verdict closed it.
    pub decision: Option<(&'static str, &'static str)>,
}

/// A state of rest and the command that made it.
#[derive(Clone, Debug)]
pub struct Placed {
    pub node: Node,
    pub made: At,
}

pub struct Instance<'a> {
    pub id: Uuid,
    pub application: Uuid,
    pub tenant: usize,
    pub machine: &'a Machine,
    pub placed: Vec<Placed>,
    pub rows: Vec<Row>,
    pub tasks: Vec<Task>,
}

/// Whether `later` may have seen what `earlier` did: in its own transaction, or committed in time.
pub fn precedes(round: &Round<'_>, earlier: At, later: At) -> bool {
    if earlier.transaction == later.transaction {
        return earlier.record <= later.record;
    }
    let (transaction, record) = (round.transaction(later), round.record(later));
    round.end(earlier).from <= transaction.snapshot(record).to
}

impl<'a> Instance<'a> {
    /// Where it stands after all that was played.
    pub fn now(&self) -> &Node {
        &self.placed.last().expect("placed by its start").node
    }

    /// The task open at a revision.
    pub fn open_task(&self, revision: i64) -> Option<&Task> {
        self.tasks.iter().rfind(|task| {
            task.opened <= revision
                && task
                    .closed
                    .as_ref()
                    .is_none_or(|closed| closed.revision > revision)
        })
    }

    pub fn scene<'s>(&self, round: &'s Round<'_>, at: At, material: &'s Value) -> Scene<'s>
    where
        'a: 's,
    {
        let command = round.command(at);
        Scene {
            machine: self.machine,
            material,
            payload: match &command.action {
                Action::Transition(transition) => transition.payload.as_ref(),
                Action::Send(send) => send.payload.as_ref(),
                _ => None,
            },
            roles: command.identity.roles,
        }
    }

    /// The application's next material reaches the instance.
    pub fn supersede(
        &mut self,
        round: &Round<'_>,
        application: &Application,
        counts: &mut HashMap<At, (i32, i32)>,
    ) -> Result<(), Violation> {
        let Some(next) = application.versions.get(self.now().material as usize) else {
            let what = "a command names a material that never came into force";
            return Err(Violation::new(what).about(self.id));
        };
        let scene = self.scene(round, next.made, &next.content);
        let effect = match oracle::supersede(&scene, self.now()) {
            Verdict::Applied(effect) => effect,
            other => {
                let what = format!("the supersede was applied; the model says {other:?}");
                return Err(Violation::new(what).by(next.made).about(self.id));
            }
        };
        let count = counts.get_mut(&next.made).expect("one for each version");
        count.0 += 1;
        count.1 += i32::from(self.open_task(self.now().revision).is_some());
        self.place(round, next.made, &effect, None)
    }

    pub fn place(
        &mut self,
        round: &Round<'_>,
        made: At,
        effect: &Effect,
        outcome: Option<&Outcome>,
    ) -> Result<(), Violation> {
        if let Some(before) = self.placed.last()
            && !precedes(round, before.made, made)
        {
            let what = "a command built on one that was not committed yet";
            return Err(Violation::new(what).by(before.made).by(made).about(self.id));
        }
        let first = &effect.steps[0];
        let actor = round.command(made).identity.actor;
        let decision = first.decision.and(first.event).map(|event| (event, actor));
        let mut decided = None;
        if let Some((index, task)) = self
            .tasks
            .iter_mut()
            .enumerate()
            .find(|(_, task)| task.closed.is_none())
        {
            decided = decision.map(|_| index);
            task.closed = Some(Closed {
                revision: first.revision,
                decision,
            });
        }
        for (index, step) in effect.steps.iter().enumerate() {
            self.rows.push(Row {
                step: step.clone(),
                made,
                first: index == 0,
                task: decided.filter(|_| index == 0),
            });
        }
        let node = &effect.node;
        if let Some(seat) = self.machine.state(node.state).and_then(|state| state.seat) {
            self.tasks.push(Task {
                seat,
                state: node.state,
                round: node.round,
                material: node.material,
                opened: node.revision,
                id: outcome.and_then(|outcome| outcome.task_ids.as_ref()?.first().copied()),
                closed: None,
            });
        }
        self.placed.push(Placed {
            node: node.clone(),
            made,
        });
        Ok(())
    }
}
