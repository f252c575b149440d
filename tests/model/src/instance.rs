//! One instance of the model, played from its start.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Uuid;

use crate::command::Command;
use crate::machine::Machine;
use crate::model::Application;
use crate::oracle::{self, Effect, Node, Scene, Step, Verdict};
use crate::record::At;
use crate::round::{Round, Violation};
use crate::task::Entry;

/// A history row with what its command said.
#[derive(Clone, Debug)]
pub struct Row {
    pub step: Step,
    pub made: At,
    /// First of its command: it carries the comment and the payload.
    pub first: bool,
    /// Place of the task that was decided or removed, and for whom the actor decided.
    pub task: Option<(usize, Option<&'static str>)>,
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
    /// What left the revision as it is.
    pub log: Vec<(Entry, At)>,
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

    /// See [`scenes`].
    pub fn scenes<'s>(
        &self,
        round: &'s Round<'_>,
        at: At,
        material: &'s Value,
        authors: &[&'static str],
    ) -> Vec<Scene<'s>>
    where
        'a: 's,
    {
        scenes(self.machine, round.command(at), material, authors)
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
        let scene = self.scenes(round, next.made, &next.content, &[]).remove(0);
        let effect = match oracle::supersede(&scene, self.now()) {
            Verdict::Applied(effect) => effect,
            other => {
                let what = format!("the supersede was applied; the model says {other:?}");
                return Err(Violation::new(what).by(next.made).about(self.id));
            }
        };
        let count = counts.get_mut(&next.made).expect("one for each version");
        count.0 += 1;
        count.1 += self.now().open_tasks().count() as i32;
        self.place(round, next.made, effect)
    }

    pub fn place(
        &mut self,
        round: &Round<'_>,
        made: At,
        mut effect: Effect,
    ) -> Result<(), Violation> {
        if let Some(before) = self.placed.last()
            && !precedes(round, before.made, made)
        {
            let what = "a command built on one that was not committed yet";
            return Err(Violation::new(what).by(before.made).by(made).about(self.id));
        }
        for index in effect.opened {
            let task = &mut effect.node.tasks[index];
            let shown = round.tasks.shown(self.id, task.opened, task.seat.name);
            if task.id.is_some() && shown.is_some() && task.id != shown {
                let what = "a page shows another task than the one that was opened";
                return Err(Violation::new(what).by(made).about(self.id));
            }
            task.id = task.id.or(shown);
        }
        for (index, step) in effect.steps.into_iter().enumerate() {
            self.rows.push(Row {
                step,
                made,
                first: index == 0,
                task: effect.task.filter(|_| index == 0),
            });
        }
        self.log.extend(effect.entry.map(|entry| (entry, made)));
        self.placed.push(Placed {
            node: effect.node,
            made,
        });
        Ok(())
    }
}

/// What a command rests on: once for each who may have written the material. Of what is not there yet
/// it is the actor.
pub fn scenes<'s>(
    machine: &'s Machine,
    command: &'s Command,
    material: &'s Value,
    authors: &[&'static str],
) -> Vec<Scene<'s>> {
    let identity = &command.identity;
    let mut authors = authors.to_vec();
    if authors.is_empty() {
        authors.push(identity.actor);
    }
    authors.sort_unstable();
    authors.dedup();
    let scene = |author| Scene {
        machine,
        material,
        payload: command.remarks().1,
        roles: identity.roles,
        actor: identity.actor,
        author,
    };
    authors.into_iter().map(scene).collect()
}
