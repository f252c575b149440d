//! Everything that happened in one round, and violations of the contract found in it.

use std::collections::HashMap;

use uuid::Uuid;

use crate::command::Command;
use crate::directory::Directory;
use crate::library::Library;
use crate::record::{Answer, At, Outcome, Record, Span, Transaction};

pub struct Round<'a> {
    pub number: u64,
    pub library: &'a Library,
    pub transactions: Vec<Transaction>,
    /// What answers said of tasks.
    pub tasks: Directory,
}

/// Something that the contract does not allow.
#[derive(Debug)]
pub struct Violation {
    pub what: String,
    /// The commands in question.
    pub at: Vec<At>,
    pub instance: Option<Uuid>,
}

impl Violation {
    pub fn new(what: impl Into<String>) -> Violation {
        Violation {
            what: what.into(),
            at: Vec::new(),
            instance: None,
        }
    }

    pub fn by(mut self, at: At) -> Violation {
        self.at.push(at);
        self
    }

    pub fn about(mut self, instance: Uuid) -> Violation {
        self.instance = Some(instance);
        self
    }
}

impl<'a> Round<'a> {
    pub fn new(number: u64, library: &'a Library, transactions: Vec<Transaction>) -> Round<'a> {
        Round {
            number,
            library,
            tasks: Directory::new(&transactions),
            transactions,
        }
    }

    /// The instance a command is about, be it by its task.
    pub fn instance(&self, command: &Command) -> Option<Uuid> {
        command
            .instance()
            .or_else(|| self.tasks.instance(command.task()?))
    }
    pub fn record(&self, at: At) -> &Record {
        &self.transactions[at.transaction].records[at.record]
    }

    pub fn command(&self, at: At) -> &Command {
        &self.record(at).command
    }

    pub fn transaction(&self, at: At) -> &Transaction {
        &self.transactions[at.transaction]
    }

    /// When its transaction ended.
    pub fn end(&self, at: At) -> Span {
        self.transaction(at).end
    }

    pub fn tenant(&self, at: At) -> usize {
        self.library.tenant(&self.command(at).identity.tenant)
    }

    pub fn records(&self) -> impl Iterator<Item = (At, &Record)> {
        self.transactions
            .iter()
            .enumerate()
            .flat_map(|(transaction, held)| {
                let records = held.records.iter().enumerate();
                records.map(move |(record, kept)| {
                    (
                        At {
                            transaction,
                            record,
                        },
                        kept,
                    )
                })
            })
    }

    /// Commands that changed something for good, with what they answered.
    pub fn kept(&self) -> impl Iterator<Item = (At, &Record, &Outcome)> {
        self.records()
            .filter(|(at, record)| record.writes() && self.transaction(*at).keeps(record))
            .filter_map(|(at, record)| record.applied().map(|outcome| (at, record, outcome)))
    }

    /// To which application a command belongs, as far as anybody learned it: for the question who
    /// may have stood in whose way.
    pub fn applications(&self) -> HashMap<Uuid, Uuid> {
        let mut applications = HashMap::new();
        for (_, record) in self.records() {
            if let Answer::Outcome(outcome) = &record.answer
                && let (Some(instance), Some(application)) =
                    (outcome.instance_id, outcome.application_id)
            {
                applications.insert(instance, application);
            }
        }
        applications
    }
}
