//! Draws what people do with tasks: votes, changes of hands, changes of the panel.

use uuid::Uuid;

use crate::board::Known;
use crate::command::{Action, Change, Decide, Hand, Reseat, Verb};
use crate::generate::{Generator, PEOPLE};
use crate::panel::{Seat, seat};

impl Generator<'_> {
    pub fn work(&mut self, known: &Known<'_>) -> Action {
        match self.rng.weighted(&[60, 33, 7]) {
            0 => Action::Decide(self.decide(known)),
            1 => Action::Hand(self.hand(known)),
            _ => Action::Reseat(self.reseat(known)),
        }
    }

    /// Mostly one of the latest, else an older one, rarely one of nobody.
    fn task(&mut self, known: &Known<'_>) -> Uuid {
        let tasks = &known.tasks;
        let last = tasks.len() - 1;
        match self.rng.below(60) {
            0 => Uuid::new_v4(),
            1..=45 => tasks[last - self.rng.below(tasks.len().min(3))],
            _ => *self.rng.pick_from(tasks),
        }
    }

    fn decide(&mut self, known: &Known<'_>) -> Decide {
        let position = self.position(known);
        let edge = self.edge(known.machine, &position.state);
        let event = match &edge {
            Some(edge) if !self.rng.chance(5) => edge.event,
            _ => self
                .rng
                .pick(&["AYE", "NAY", "SUBMIT", "APPROVE", "NOSUCH"]),
        };
        let revision = match self.rng.below(30) {
            0 => position.revision + 1,
            1 => (position.revision - 1).max(1),
            _ => position.revision,
        };
        let material = match self.rng.below(30) {
            0 => position.material + 1,
            1 => (position.material - 1).max(1),
            _ => position.material,
        };
        Decide {
            task: self.task(known),
            event: event.to_owned(),
            revision,
            material,
            comment: self.rng.chance(20).then(|| "as discussed".to_owned()),
            payload: self.payload(edge.as_ref()),
        }
    }

    fn hand(&mut self, known: &Known<'_>) -> Hand {
        let verbs = [
            Verb::Claim,
            Verb::Release,
            Verb::Assign,
            Verb::Delegate,
            Verb::Transfer,
        ];
        let verb = verbs[self.rng.weighted(&[28, 30, 12, 18, 12])];
        let names = verb != Verb::Claim && verb != Verb::Release;
        Hand {
            task: self.task(known),
            verb,
            to: names.then(|| PEOPLE[self.rng.below(PEOPLE.len())].0),
            lease_ms: (verb == Verb::Claim && self.rng.chance(40)).then_some(3_600_000),
        }
    }

    /// A seat comes or goes, but never so many that one alone is left of several: then the engine asks
    /// for the roles of the seats that the definition has, not for those of the seat that is left.
    /// Rarely the question is taken back, for that ends the instance.
    fn reseat(&mut self, known: &Known<'_>) -> Reseat {
        const EXTRA: [Seat; 3] = [
            seat("extra", &[]),
            seat("guard", &["chief"]).veto(),
            seat("staff", &["reviewer"]),
        ];
        const NAMES: [&str; 5] = ["extra", "guard", "staff", "legal", "money"];
        let position = self.position(known);
        let change = match self.rng.weighted(&[45, 45, 10]) {
            0 => Change::Add(EXTRA[self.rng.below(EXTRA.len())]),
            1 => Change::Remove(NAMES[self.rng.below(NAMES.len())]),
            _ => Change::Withdraw,
        };
        let withdrawn = change == Change::Withdraw;
        Reseat {
            instance: known.instance,
            change,
            revision: position.revision,
            comment: (withdrawn && self.rng.chance(50)).then(|| "a mistake".to_owned()),
        }
    }
}
