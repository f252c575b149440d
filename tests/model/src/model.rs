//! The state that the committed commands of a round must have produced.
//!
//! Every applied outcome names a revision and a material, and that orders the commands of an
//! instance; those that leave the revision as it is are ordered by the instance's work, which each
//! statement reads behind its command. Played back in this order from the start, each must be legal on the state just before
//! it and answer what the model answers. Nothing of the server's tables is used here: they are
//! compared with the result.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::command::{Action, Start};
use crate::instance::{Instance, precedes};
use crate::oracle::{self, Effect, Verdict};
use crate::record::{At, Outcome, Record};
use crate::round::{Round, Violation};

pub struct Version {
    pub content: Value,
    /// Who may have brought it: of several first starts the outcomes do not tell which was first.
    pub authors: Vec<&'static str>,
    pub made: At,
}

pub struct Application {
    pub id: Uuid,
    pub tenant: usize,
    pub business_key: String,
    /// From version 1.
    pub versions: Vec<Version>,
    pub instances: Vec<Uuid>,
}

#[derive(Default)]
pub struct Model<'a> {
    pub applications: HashMap<Uuid, Application>,
    pub instances: HashMap<Uuid, Instance<'a>>,
    pub business_keys: HashMap<(usize, String), Uuid>,
    /// The command that owns a request key.
    pub requests: HashMap<(usize, String), At>,
    /// What each supersede did: instances and tasks.
    counts: HashMap<At, (i32, i32)>,
    /// The instances that a command touched.
    pub made: HashMap<At, Vec<Uuid>>,
}

impl<'a> Model<'a> {
    /// Plays the round back.
    pub fn build(round: &'a Round<'a>) -> Result<Model<'a>, Violation> {
        let mut model = Model::default();
        let mut starts = Vec::new();
        let mut supersedes = Vec::new();
        let mut moves: HashMap<Uuid, Vec<(At, &Record, &Outcome)>> = HashMap::new();
        for (at, record, outcome) in round.kept() {
            match &record.command.action {
                Action::Start(start) => starts.push((at, start, outcome)),
                Action::Supersede { material, .. } => supersedes.push((at, material, outcome)),
                _ => {
                    let instance = outcome.instance_id.ok_or_else(|| {
                        Violation::new("an applied outcome without an instance").by(at)
                    })?;
                    moves
                        .entry(instance)
                        .or_default()
                        .push((at, record, outcome));
                }
            }
            if let Some(key) = &record.command.request {
                let owned = (round.tenant(at), key.clone());
                if let Some(first) = model.requests.insert(owned, at) {
                    let what = "one request key was carried out twice";
                    return Err(Violation::new(what).by(first).by(at));
                }
            }
        }
        for (at, start, outcome) in &starts {
            model.found(round, *at, start, outcome)?;
        }
        supersedes.sort_by_key(|(_, _, outcome)| outcome.material_version);
        for (at, material, outcome) in supersedes {
            model.raise(round, at, material, outcome)?;
        }
        for (at, start, outcome) in starts {
            let id = outcome.instance_id.expect("checked when it was founded");
            let mut moves = moves.remove(&id).unwrap_or_default();
            moves.sort_by_key(|(_, _, outcome)| (outcome.revision, outcome.work));
            model.play(round, at, start, outcome, moves)?;
        }
        if let Some((id, orphans)) = moves.into_iter().next() {
            let what = "a command was applied to an instance that nobody started";
            return Err(Violation::new(what).by(orphans[0].0).about(id));
        }
        model.compare_counts(round)?;
        model.one_at_a_time(round)?;
        Ok(model)
    }

    /// The application of a start, and its first material.
    fn found(
        &mut self,
        round: &Round<'_>,
        at: At,
        start: &Start,
        outcome: &Outcome,
    ) -> Result<(), Violation> {
        let violation = |what: &str| Violation::new(what).by(at);
        let (Some(id), Some(_)) = (outcome.application_id, outcome.instance_id) else {
            return Err(violation("a start answered no application or no instance"));
        };
        let tenant = round.tenant(at);
        let key = (tenant, start.business_key.clone());
        let known = *self.business_keys.entry(key).or_insert(id);
        if known != id {
            return Err(violation("one business key, two applications"));
        }
        let application = self.applications.entry(id).or_insert_with(|| Application {
            id,
            tenant,
            business_key: start.business_key.clone(),
            versions: Vec::new(),
            instances: Vec::new(),
        });
        if application.business_key != start.business_key || application.tenant != tenant {
            return Err(violation("one application, two business keys"));
        }
        if outcome.material_version == Some(1)
            && let Some(content) = &start.material
        {
            let actor = round.command(at).identity.actor;
            match application.versions.first_mut() {
                None => application.versions.push(Version {
                    content: content.clone(),
                    authors: vec![actor],
                    made: at,
                }),
                Some(first) => {
                    first.authors.push(actor);
                    // The earliest is the one that the others could see.
                    if round.end(at).from < round.end(first.made).from {
                        first.made = at;
                    }
                }
            }
        }
        Ok(())
    }

    /// The next version of an application's material.
    fn raise(
        &mut self,
        round: &Round<'_>,
        at: At,
        material: &Value,
        outcome: &Outcome,
    ) -> Result<(), Violation> {
        let violation = |what: String| Violation::new(what).by(at);
        let application = outcome
            .application_id
            .and_then(|id| self.applications.get_mut(&id))
            .ok_or_else(|| violation("supersede of an application of nobody".to_owned()))?;
        let next = application.versions.len() as i32 + 1;
        if next == 1 {
            return Err(violation(
                "the application has no first material".to_owned(),
            ));
        }
        let Action::Supersede { expected, .. } = round.command(at).action else {
            unreachable!("sorted out by the caller")
        };
        if outcome.material_version != Some(next) || expected + 1 != next {
            return Err(violation(format!(
                "material {:?} came into force, expected {expected}: the model says {next}",
                outcome.material_version
            )));
        }
        application.versions.push(Version {
            content: material.clone(),
            authors: vec![round.command(at).identity.actor],
            made: at,
        });
        self.counts.insert(at, (0, 0));
        Ok(())
    }

    /// Plays one instance from its start.
    fn play(
        &mut self,
        round: &'a Round<'a>,
        at: At,
        start: &Start,
        outcome: &Outcome,
        moves: Vec<(At, &Record, &Outcome)>,
    ) -> Result<(), Violation> {
        let id = outcome.instance_id.expect("checked when it was founded");
        let blame = |violation: Violation| violation.about(id);
        let tenant = round.tenant(at);
        let application = &self.applications[&outcome.application_id.expect("checked")];
        let machine = round
            .library
            .find(tenant, start.definition, start.version)
            .ok_or_else(|| Violation::new("started with a definition that is not there").by(at))?;
        let mut instance = Instance {
            id,
            application: application.id,
            tenant,
            machine,
            placed: Vec::new(),
            rows: Vec::new(),
            log: Vec::new(),
        };
        let version = outcome.material_version.unwrap_or(0);
        let content = application
            .content(version)
            .ok_or_else(|| Violation::new("started with a material of nobody").by(at))?;
        if start
            .material
            .as_ref()
            .is_some_and(|given| given != content)
        {
            let what = "started with another material than the one in force";
            return Err(blame(Violation::new(what).by(at)));
        }
        let scene = instance.scenes(round, at, content, &[]).remove(0);
        let effect = expect_applied(oracle::start(&scene, version), outcome)
            .map_err(|what| blame(Violation::new(what).by(at)))?;
        instance.place(round, at, effect).map_err(blame)?;

        for (at, record, outcome) in moves {
            let material = outcome.material_version.unwrap_or(0);
            while instance.now().material < material {
                instance.supersede(round, application, &mut self.counts)?;
            }
            let node = instance.now();
            let version = application
                .version(node.material)
                .expect("the node's material is one of the application's");
            let scenes = instance.scenes(round, at, &version.content, &version.authors);
            let verdicts = scenes
                .iter()
                .flat_map(|scene| oracle::judge(scene, node, &record.command.action));
            // The one that is applied, if there is one, else all that could have been said.
            let mut found = Err("nothing can be said to it".to_owned());
            for verdict in verdicts {
                found = expect_applied(verdict, outcome);
                if found.is_ok() {
                    break;
                }
            }
            let effect = found.map_err(|what| {
                let what = format!("{what}; the model stood at {node:?}");
                blame(Violation::new(what).by(at))
            })?;
            instance.place(round, at, effect).map_err(blame)?;
        }
        while !instance.now().closed
            && (instance.now().material as usize) < application.versions.len()
        {
            instance.supersede(round, application, &mut self.counts)?;
        }
        for placed in &instance.placed {
            self.made.entry(placed.made).or_default().push(id);
        }
        let application = application.id;
        self.applications
            .get_mut(&application)
            .expect("it was just there")
            .instances
            .push(id);
        if self.instances.insert(id, instance).is_some() {
            return Err(blame(
                Violation::new("one instance was started twice").by(at),
            ));
        }
        Ok(())
    }

    fn compare_counts(&self, round: &Round<'_>) -> Result<(), Violation> {
        for (at, _, outcome) in round.kept() {
            let Some((instances, tasks)) = self.counts.get(&at) else {
                continue;
            };
            if (outcome.instances, outcome.tasks) != (Some(*instances), Some(*tasks)) {
                let what = format!(
                    "the supersede answered {:?} instances and {:?} tasks; the model says \
                     {instances} and {tasks}",
                    outcome.instances, outcome.tasks
                );
                return Err(Violation::new(what).by(at));
            }
        }
        Ok(())
    }

    /// An application has at most one open instance of a definition that is not concurrent.
    fn one_at_a_time(&self, round: &Round<'_>) -> Result<(), Violation> {
        for application in self.applications.values() {
            let mut lives: Vec<&Instance<'_>> = application
                .instances
                .iter()
                .map(|id| &self.instances[id])
                .filter(|instance| !instance.machine.concurrent)
                .collect();
            lives.sort_by_key(|life| {
                let start = life.placed[0].made;
                (life.machine.name, round.record(start).span.to)
            });
            for pair in lives.windows(2) {
                let (last, start) = (pair[0].placed.last().expect("started"), &pair[1].placed[0]);
                let apart = last.node.closed && precedes(round, last.made, start.made);
                if pair[0].machine.name == pair[1].machine.name && !apart {
                    let what = "two open instances of one definition over one application";
                    return Err(Violation::new(what)
                        .by(last.made)
                        .by(start.made)
                        .about(pair[1].id));
                }
            }
        }
        Ok(())
    }
}

/// The effect, if it is what the server answered, with the tasks named as it named them.
pub fn expect_applied(verdict: Verdict, outcome: &Outcome) -> Result<Effect, String> {
    let mut effect = match verdict {
        Verdict::Applied(effect) => effect,
        other => return Err(format!("applied, where the model says {other:?}")),
    };
    let node = &effect.node;
    let ids = outcome.task_ids.as_deref().unwrap_or_default();
    let count = effect.count.map(|count| {
        json!({"for": count.votes_for, "against": count.against, "open": count.open,
               "needed": count.needed})
    });
    let same = outcome.state.as_deref() == Some(node.state)
        && outcome.revision == Some(node.revision)
        && outcome.material_version == Some(node.material)
        && outcome.event == effect.event
        && ids.len() == effect.opened.len()
        && outcome.work == Some(node.work)
        && outcome.detail == count
        && outcome.code.is_none()
        && outcome.reason.is_none()
        && !outcome.retryable
        && outcome.attempts >= 1;
    if !same {
        return Err(format!("the model says {effect:?}"));
    }
    for (index, id) in effect.opened.iter().zip(ids) {
        effect.node.tasks[*index].id = Some(*id);
    }
    Ok(effect)
}

impl Application {
    pub fn content(&self, version: i32) -> Option<&Value> {
        self.version(version).map(|version| &version.content)
    }

    pub fn version(&self, version: i32) -> Option<&Version> {
        let index = usize::try_from(version).ok()?.checked_sub(1)?;
        self.versions.get(index)
    }
}
