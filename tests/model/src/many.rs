//! Many transitions in one call. Each is a command like any other, decided in the order of the call;
//! what is said here is what holds for the call as a whole.

use serde_json::{Value, json};

use crate::board::Known;
use crate::check::{Checker, Wrong};
use crate::command::{Action, Command, OnRefusal, Transition};
use crate::generate::{Acting, Generator};
use crate::oracle::Verdict;
use crate::record::{Answer, Outcome, Record, Transaction};

/// The most commands of a call.
const MOST: usize = 6;

impl Generator<'_> {
    /// Now and then, instead of one command: many, on behalf of one person.
    pub fn many(&mut self, acting: Option<&Acting>) -> Option<(usize, Vec<Command>)> {
        if !self.rng.chance(9) {
            return None;
        }
        let acting = acting.cloned().unwrap_or_else(|| self.person(true));
        let atomic = self.rng.chance(50);
        let on_refusal = if self.rng.chance(50) {
            OnRefusal::Return
        } else {
            OnRefusal::Raise
        };
        let mut commands: Vec<Command> = Vec::new();
        for _ in 0..1 + self.rng.below(MOST) {
            let last = commands.last().cloned();
            // In an atomic call only what its key makes the same command.
            let again = |last: &Command| !atomic || last.request.is_some();
            let command = match last.filter(again) {
                Some(last) if self.rng.chance(if atomic { 40 } else { 12 }) => {
                    commands.push(last);
                    continue;
                }
                last => {
                    let last = last.filter(|_| !atomic);
                    let known = self.instance(acting.tenant)?;
                    let last = last.filter(|_| self.rng.chance(30));
                    let action =
                        Action::Transition(self.follow(acting.tenant, &known, last.as_ref()));
                    let mut command = Command {
                        as_try: false,
                        many: Some(atomic),
                        on_refusal,
                        request: None,
                        identity: acting.identity.clone(),
                        action,
                    };
                    self.give_key(acting.tenant, &mut command);
                    command
                }
            };
            // What an atomic call would do to an instance twice, nobody ever sees.
            let twice = |other: &Command| other.instance() == command.instance();
            if !atomic || !commands.iter().any(twice) {
                commands.push(command);
            }
        }
        Some((acting.tenant, commands))
    }

    /// A transition of a known instance; or one that goes on from where the last one leads.
    fn follow(&mut self, tenant: usize, known: &Known<'_>, last: Option<&Command>) -> Transition {
        let mut item = self.transition(known);
        item.wait_ms = None;
        if let Some(Action::Transition(last)) = last.map(|last| &last.action)
            && last.instance == item.instance
            && let Some(edge) = self.edge(known.machine, &last.to)
        {
            item.from = last.to.clone();
            item.to = edge.target.to_owned();
            item.event = Some(edge.event.to_owned());
            item.revision = last.revision.saturating_add(1);
            item.material = last.material;
        }
        item.instance = self.named(tenant, item.instance);
        item
    }
}

/// A command as the call names it.
pub fn item(command: &Command) -> Value {
    let Action::Transition(said) = &command.action else {
        unreachable!("only transitions are said many at once")
    };
    let mut item = json!({
        "instance": said.instance, "from_state": said.from, "to_state": said.to,
        "expected_revision": said.revision, "material_version": said.material,
        "event": said.event, "comment": said.comment, "payload": said.payload,
        "request_id": command.request,
    });
    // Left out or null is the same.
    if said.revision % 2 == 0 {
        let fields = item.as_object_mut().expect("just made");
        fields.retain(|_, value| !value.is_null());
    }
    item
}

/// An atomic call carries out all or nothing, and names the first refusal as the reason.
pub fn agree(commands: &[Command], answers: &[Answer]) -> Result<(), Wrong> {
    let outcomes = answers.iter().filter_map(|answer| match answer {
        Answer::Outcome(outcome) => Some(outcome.as_ref()),
        _ => None,
    });
    let outcomes: Vec<&Outcome> = outcomes.collect();
    let refused = outcomes.iter().position(|outcome| outcome.code.is_some());
    let culprit = refused.filter(|_| commands[0].many == Some(true));
    let agrees = outcomes.iter().all(|outcome| {
        let carried_out = outcome.applied && !outcome.replayed;
        let withheld = !outcome.applied && outcome.code.is_none();
        match culprit {
            None => !withheld,
            Some(at) => {
                let by = json!({"withheld_by": at + 1});
                !carried_out && (!withheld || outcome.detail.as_ref() == Some(&by))
            }
        }
    });
    if agrees {
        Ok(())
    } else {
        Err(format!(
            "VIOLATION: the answers to one call contradict each other: {commands:?} => {outcomes:?}\n"
        ))
    }
}

/// The records that an answer is about: an error of a call answers all of its commands, and is right
/// if it is for one of them.
pub fn subjects<'t>(transaction: &'t Transaction, record: &'t Record) -> Vec<&'t Record> {
    if record.command.many.is_none() || !record.failed() {
        return vec![record];
    }
    let records = transaction.records.iter();
    records.filter(|other| other.call == record.call).collect()
}

/// What would have been carried out, had not another one of its call been refused.
pub fn withheld(checker: &Checker<'_, '_>, outcome: &Outcome) -> Result<(), Wrong> {
    checker.key_is_free()?;
    let id = outcome.instance_id.ok_or("withheld without an instance")?;
    let sight = checker.sight(id);
    let sight = sight.ok_or("withheld from an instance that cannot be there")?;
    let mut standing = sight.nodes.iter().filter(|node| {
        outcome.state.as_deref() == Some(node.state)
            && outcome.revision == Some(node.revision)
            && outcome.material_version == Some(node.material)
    });
    let applied = |verdict: &Verdict| matches!(verdict, Verdict::Applied(_));
    let named = checker.command().instance() == Some(id)
        && outcome.application_id == Some(sight.application);
    let legal = standing.any(|node| checker.verdicts(&sight, node).iter().any(applied));
    if named && legal && outcome.event.is_none() && outcome.reason.is_none() {
        Ok(())
    } else {
        Err(format!(
            "withheld, where the model would not carry it out, from {:?}",
            sight.nodes
        ))
    }
}
