//! Holds every answer of a round against the model.
//!
//! An applied command that was committed has been played back already; what remains is the rest:
//! refusals, replays, locks, readers, errors, and commands that were rolled back. Each must be
//! justified by some state that was possibly visible while it ran.

use uuid::Uuid;

use crate::command::{Action, Command, Start, Transition};
use crate::faults;
use crate::instance::scenes;
use crate::many;
use crate::model::Model;
use crate::oracle::{self, Effect, Node, Verdict};
use crate::pages;
use crate::record::{Answer, At, Outcome, Record};
use crate::refusals;
use crate::round::{Round, Violation};
use crate::view::{Sight, View};

/// Why an answer is wrong, in words.
pub type Wrong = String;

/// Checks all answers; gives how many there were.
pub fn answers<'a>(round: &'a Round<'a>, model: &'a Model<'a>) -> Result<usize, Violation> {
    let applications = round.applications();
    let mut checked = 0;
    for (transaction, held) in round.transactions.iter().enumerate() {
        let mut view = View::new(round, model, &applications, transaction);
        for (place, record) in held.records.iter().enumerate() {
            let at = At {
                transaction,
                record: place,
            };
            let mut found = Ok(());
            for record in many::subjects(held, record) {
                let view = &mut view;
                found = Checker { view, at, record }.check();
                if found.is_ok() {
                    break;
                }
            }
            found.map_err(|what| {
                let violation = Violation::new(what).by(at);
                match subject(round, record) {
                    Some(instance) => violation.about(instance),
                    None => violation,
                }
            })?;
            checked += 1;
        }
        if let crate::record::Ending::Failed(fault) = &held.ending {
            let allowed = fault.code == "40001" && held.isolation.keeps_snapshot();
            if !allowed {
                let at = At {
                    transaction,
                    record: held.records.len() - 1,
                };
                return Err(Violation::new(format!("COMMIT answered {fault:?}")).by(at));
            }
        }
    }
    Ok(checked)
}

/// The instance a record is about, for the trace.
fn subject(round: &Round<'_>, record: &Record) -> Option<Uuid> {
    round.instance(&record.command).or(match &record.answer {
        Answer::Outcome(outcome) => outcome.instance_id,
        _ => None,
    })
}

/// One answer under examination.
pub struct Checker<'c, 'a> {
    pub view: &'c mut View<'a>,
    pub at: At,
    pub record: &'c Record,
}

impl<'a> Checker<'_, 'a> {
    fn check(mut self) -> Result<(), Wrong> {
        let record = self.record;
        match &record.answer {
            Answer::Page(page) => pages::check(&self, page),
            Answer::Fault(fault) => match refusals::raised(&record.command, fault)? {
                Some(refusal) => refusals::check(&self, &refusal),
                None => faults::check(&self, fault),
            },
            Answer::Outcome(outcome) if outcome.replayed => self.replayed(outcome),
            Answer::Outcome(outcome) if !outcome.applied && outcome.code.is_none() => {
                many::withheld(&self, outcome)
            }
            Answer::Outcome(outcome) if !outcome.applied => {
                let refusal = refusals::returned(&record.command, outcome)?;
                refusals::check(&self, &refusal)
            }
            Answer::Outcome(outcome) => self.applied(outcome),
        }
    }

    pub fn command(&self) -> &Command {
        &self.record.command
    }

    pub fn tenant(&self) -> usize {
        self.view.round.tenant(self.at)
    }

    pub fn sight(&self, id: Uuid) -> Option<Sight<'a>> {
        self.view.instance(self.record, self.tenant(), id)
    }

    /// A key that was used before must be noticed before anything else is.
    pub fn key_is_free(&self) -> Result<(), Wrong> {
        let Some(key) = &self.command().request else {
            return Ok(());
        };
        match self.view.request(self.record, self.tenant(), key) {
            Some((owner, true)) => Err(format!(
                "the request key belongs to {owner:?}, and neither a replay nor WF008 was answered"
            )),
            _ => Ok(()),
        }
    }

    /// What the model says to this command about an instance that stands so.
    pub fn verdicts(&self, sight: &Sight<'_>, node: &Node) -> Vec<Verdict> {
        let content = self
            .view
            .content(self.record, sight.application, node.material);
        let Some(content) = content else {
            return Vec::new();
        };
        let content = match &self.command().action {
            Action::Supersede { material, .. } => material,
            _ => content,
        };
        let authors = self
            .view
            .authors(self.record, sight.application, node.material);
        scenes(sight.machine, self.command(), content, &authors)
            .iter()
            .flat_map(|scene| oracle::judge(scene, node, &self.command().action))
            .collect()
    }

    fn replayed(&mut self, outcome: &Outcome) -> Result<(), Wrong> {
        let key = self.command().request.as_ref();
        let key = key.ok_or("a replay of a command without a key")?;
        let owner = self.view.request(self.record, self.tenant(), key);
        let (owner, _) = owner.ok_or("a replay of a key that nobody can have used")?;
        let first = self.view.round.record(owner);
        if !first.command.is_same(self.command()) {
            return Err(format!("a replay of another command, {owner:?}"));
        }
        let mut expected = first.applied().expect("owners were applied").clone();
        expected.replayed = true;
        expected.work = None;
        expected.logged = false;
        if *outcome == expected {
            Ok(())
        } else {
            Err(format!(
                "a replay that differs from the first answer {expected:?}"
            ))
        }
    }

    fn applied(&mut self, outcome: &Outcome) -> Result<(), Wrong> {
        if !self.command().is_reader() {
            self.key_is_free()?;
        }
        let action = self.command().action.clone();
        match &action {
            Action::Check(command) => self.checked(command, outcome)?,
            Action::Lock { instance, .. } => self.locked(*instance, outcome)?,
            Action::Hand(_) if !outcome.logged => self.left_alone(outcome)?,
            _ if self.view.round.transaction(self.at).keeps(self.record) => {
                self.remember_kept(&action, outcome);
            }
            Action::Transition(_)
            | Action::Send(_)
            | Action::Decide(_)
            | Action::Hand(_)
            | Action::Reseat(_) => self.moved_for_now(outcome)?,
            Action::Supersede {
                application,
                expected,
                material,
            } => self.superseded_for_now(*application, *expected, material, outcome)?,
            Action::Start(start) => self.started_for_now(start, outcome)?,
            Action::Get { .. } | Action::Find { .. } => unreachable!("they answer pages"),
        }
        if self.command().request.is_some() {
            self.view.took_key(self.record, self.at);
        }
        Ok(())
    }

    /// A committed command was judged when it was played back; later ones of its transaction see
    /// what it did.
    fn remember_kept(&mut self, action: &Action, outcome: &Outcome) {
        for (instance, node, steps) in self.view.left(self.at) {
            let (application, machine) = (instance.application, instance.machine);
            let states = vec![(node, steps)];
            self.view.moved(
                self.record,
                instance.id,
                application,
                machine,
                states,
                false,
            );
        }
        let application = outcome.application_id.expect("played back");
        let version = outcome.material_version.expect("played back");
        match action {
            Action::Supersede { material, .. } => {
                let content = material.clone();
                self.view
                    .brought(self.record, application, None, version, content);
            }
            Action::Start(start) => self.founded(start, application, version),
            _ => {}
        }
    }

    pub fn founded(&mut self, start: &Start, application: Uuid, version: i32) {
        if let Some(content) = &start.material {
            let key = Some((self.tenant(), start.business_key.clone()));
            let content = content.clone();
            self.view
                .brought(self.record, application, key, version, content);
        }
    }

    fn checked(&self, command: &Transition, outcome: &Outcome) -> Result<(), Wrong> {
        let sight = self.sight(command.instance);
        let sight = sight.ok_or("wf_check of an instance that cannot be there")?;
        let allowed = sight.nodes.iter().any(|node| {
            self.verdicts(&sight, node).iter().any(|verdict| {
                matches!(verdict, Verdict::Applied(Effect { node, steps, .. })
                    if outcome.state.as_deref() == Some(node.state)
                        && outcome.revision == Some(node.revision)
                        && outcome.material_version == Some(node.material)
                        && outcome.event.as_deref() == steps[0].event)
            })
        });
        if allowed {
            Ok(())
        } else {
            Err(format!(
                "wf_check would apply it; the model does not, from {:?}",
                sight.nodes
            ))
        }
    }

    /// A task that the actor has already, or that nobody has.
    fn left_alone(&self, outcome: &Outcome) -> Result<(), Wrong> {
        let id = outcome.instance_id.ok_or("applied without an instance")?;
        let sight = self
            .sight(id)
            .ok_or("applied to an instance that cannot be there")?;
        let verdicts = sight.nodes.iter().flat_map(|node| {
            let verdicts = self.verdicts(&sight, node);
            verdicts.into_iter().map(move |verdict| (node, verdict))
        });
        let mut unchanged = verdicts.filter(|(node, verdict)| {
            matches!(verdict, Verdict::Applied(effect) if effect.entry.is_none())
                && outcome.revision == Some(node.revision)
                && outcome.state.as_deref() == Some(node.state)
                && outcome.material_version == Some(node.material)
        });
        match unchanged.next() {
            Some(_) if self.view.round.instance(self.command()) == Some(id) => Ok(()),
            _ => Err(format!(
                "nothing was written, where the model writes, from {:?}",
                sight.nodes
            )),
        }
    }

    fn locked(&mut self, id: Uuid, outcome: &Outcome) -> Result<(), Wrong> {
        let sight = self
            .sight(id)
            .ok_or("locked an instance that cannot be there")?;
        let seen = sight.nodes.iter().any(|node| {
            outcome.state.as_deref() == Some(node.state)
                && outcome.revision == Some(node.revision)
                && outcome.material_version == Some(node.material)
        });
        let same =
            outcome.instance_id == Some(id) && outcome.application_id == Some(sight.application);
        if seen && same {
            Ok(())
        } else {
            Err(format!(
                "the lock shows a state that was not visible: {:?}",
                sight.nodes
            ))
        }
    }
}
