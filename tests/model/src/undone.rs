//! Commands that were applied and rolled back later. Nothing of them is in the tables, and yet they
//! must have been legal: on some state that was visible then.

use uuid::Uuid;

use crate::check::{Checker, Wrong};
use crate::command::Start;
use crate::instance::scenes;
use crate::model::expect_applied;
use crate::oracle::{self, Effect, Node, Step, Verdict};
use crate::record::Outcome;
use crate::view::Sight;

impl Checker<'_, '_> {
    /// A transition or send that was rolled back later: legal on some visible state.
    pub fn moved_for_now(&mut self, outcome: &Outcome) -> Result<(), Wrong> {
        let id = outcome.instance_id.ok_or("applied without an instance")?;
        if self.view.round.instance(self.command()) != Some(id) {
            return Err("the outcome is about another instance".to_owned());
        }
        let sight = self
            .sight(id)
            .ok_or("applied to an instance that cannot be there")?;
        let effects = self.effects(&sight, outcome)?;
        self.view.moved(
            self.record,
            id,
            sight.application,
            sight.machine,
            effects,
            false,
        );
        Ok(())
    }

    /// What the command may have done, over all states it may have found.
    fn effects(
        &self,
        sight: &Sight<'_>,
        outcome: &Outcome,
    ) -> Result<Vec<(Node, Vec<Step>)>, Wrong> {
        let mut effects = Vec::new();
        let mut objections = Vec::new();
        for node in &sight.nodes {
            for verdict in self.verdicts(sight, node) {
                match expect_applied(verdict, outcome) {
                    Ok(Effect { node, steps, .. }) => effects.push((node, steps)),
                    Err(what) => objections.push(format!("{what} from {node:?}")),
                }
            }
        }
        if effects.is_empty() {
            objections.truncate(4);
            return Err(format!(
                "applied, though no visible state allows it: {}",
                objections.join("; ")
            ));
        }
        Ok(effects)
    }

    pub fn superseded_for_now(
        &mut self,
        application: Uuid,
        expected: i32,
        material: &serde_json::Value,
        outcome: &Outcome,
    ) -> Result<(), Wrong> {
        let (versions, _) = self.view.materials(self.record, self.tenant(), application);
        if !versions.contains(&expected) || outcome.material_version != Some(expected + 1) {
            return Err(format!(
                "superseded, where {versions:?} may have been in force"
            ));
        }
        let mut moved = Vec::new();
        let (mut least, mut most) = (0, 0);
        for (id, sight) in self.view.instances_of(self.record, application) {
            let mut states = Vec::new();
            let mut stays = sight.maybe_absent;
            let mut opens = false;
            for node in &sight.nodes {
                if node.closed {
                    stays = true;
                    states.push((node.clone(), Vec::new()));
                    continue;
                }
                if node.material != expected {
                    continue;
                }
                for verdict in self.verdicts(&sight, node) {
                    if let Verdict::Applied(Effect { node, steps, .. }) = verdict {
                        opens = true;
                        states.push((node, steps));
                    }
                }
            }
            if !opens && !stays {
                return Err(format!("superseded, though instance {id} must refuse it"));
            }
            least += i32::from(!stays);
            most += i32::from(opens);
            moved.push((id, sight, states));
        }
        let counted = outcome.instances.unwrap_or(-1);
        if counted < least || counted > most {
            return Err(format!(
                "{counted} instances; the model says {least} to {most}"
            ));
        }
        for (id, sight, states) in moved {
            if !states.is_empty() {
                self.view.moved(
                    self.record,
                    id,
                    sight.application,
                    sight.machine,
                    states,
                    sight.maybe_absent,
                );
            }
        }
        let content = material.clone();
        self.view
            .brought(self.record, application, None, expected + 1, content);
        Ok(())
    }

    pub fn started_for_now(&mut self, start: &Start, outcome: &Outcome) -> Result<(), Wrong> {
        let (Some(id), Some(application), Some(version)) = (
            outcome.instance_id,
            outcome.application_id,
            outcome.material_version,
        ) else {
            return Err("a start answered no instance".to_owned());
        };
        let library = self.view.round.library;
        let machine = library.find(self.tenant(), start.definition, start.version);
        let machine = machine.ok_or("started with a definition that is not there")?;
        let (versions, maybe_new) = self.view.materials(self.record, self.tenant(), application);
        let is_new = versions.is_empty();
        if is_new && version != 1 || !is_new && !versions.contains(&version) {
            return Err(format!(
                "started over material {version}, not one of {versions:?}"
            ));
        }
        if (is_new || !maybe_new) && !self.one_may_start(application, machine.name) {
            return Err("started, though another instance must be open".to_owned());
        }
        let known = self.view.content(self.record, application, version);
        let given = start.material.as_ref();
        let content = match (known, given) {
            (Some(known), Some(given)) if known != given => {
                return Err("started with another material than the one in force".to_owned());
            }
            (Some(known), _) => known.clone(),
            (None, Some(given)) => given.clone(),
            (None, None) => return Err("a new application without a material".to_owned()),
        };
        let scene = scenes(machine, self.command(), &content, &[]).remove(0);
        let effect = expect_applied(oracle::start(&scene, version), outcome)?;
        let states = vec![(effect.node, effect.steps)];
        self.view
            .moved(self.record, id, application, machine, states, false);
        self.founded(start, application, version);
        Ok(())
    }

    /// Whether no other instance of the definition must have been open.
    fn one_may_start(&self, application: Uuid, definition: &str) -> bool {
        let others = self.view.instances_of(self.record, application);
        others.iter().all(|(_, sight)| {
            sight.machine.name != definition
                || sight.machine.concurrent
                || sight.maybe_absent
                || sight.nodes.iter().any(|node| node.closed)
        })
    }
}
