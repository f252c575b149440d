//! Which task belongs where, as far as answers told. Nobody can name a task that no answer named.

use std::collections::HashMap;

use uuid::Uuid;

use crate::record::{Answer, Outcome, Transaction};

#[derive(Default)]
pub struct Directory {
    instances: HashMap<Uuid, Uuid>,
    /// By instance, revision of its opening and seat, as pages showed it.
    shown: HashMap<(Uuid, i64, String), Uuid>,
}

impl Directory {
    pub fn new(transactions: &[Transaction]) -> Directory {
        let mut directory = Directory::default();
        for transaction in transactions {
            for record in &transaction.records {
                match &record.answer {
                    Answer::Outcome(outcome) => directory.learn(outcome),
                    Answer::Page(page) if transaction.keeps(record) => {
                        for (id, revision, seat) in page.tasks() {
                            directory.instances.insert(id, page.instance_id);
                            let place = (page.instance_id, revision, seat.to_owned());
                            directory.shown.insert(place, id);
                        }
                    }
                    _ => {}
                }
            }
        }
        directory
    }

    fn learn(&mut self, outcome: &Outcome) {
        if let Some(instance) = outcome.instance_id {
            for id in outcome.task_ids.iter().flatten() {
                self.instances.insert(*id, instance);
            }
        }
    }

    pub fn instance(&self, task: Uuid) -> Option<Uuid> {
        self.instances.get(&task).copied()
    }

    /// The task of a seat that was opened at a revision, if a page showed it.
    pub fn shown(&self, instance: Uuid, opened: i64, seat: &str) -> Option<Uuid> {
        let place = (instance, opened, seat.to_owned());
        self.shown.get(&place).copied()
    }
}
