//! One session of a round: transactions of one or several commands, and what they taught it.

use std::time::{Duration, Instant};

use crate::board::{Board, Position};
use crate::call::Connection;
use crate::command::Action;
use crate::generate::{Acting, Generator};
use crate::library::Library;
use crate::many;
use crate::record::{Answer, Ending, Fault, Isolation, Outcome, Record, Span, Time, Transaction};

pub struct Session<'a> {
    pub number: usize,
    pub connection: &'a mut Connection,
    pub epoch: Instant,
    /// `workflow.wait_ms` of the connection.
    pub wait_ms: i32,
    pub library: &'a Library,
    pub board: &'a Board<'a>,
    pub generator: Generator<'a>,
}

/// A transaction while it is open.
struct Open {
    records: Vec<Record>,
    seq: u32,
}

impl<'a> Session<'a> {
    /// Carries out about `commands` commands.
    pub fn run(mut self, commands: usize) -> Result<Vec<Transaction>, String> {
        let mut transactions = Vec::new();
        let mut done = 0;
        while done < commands {
            let transaction = match self.generator.rng.weighted(&[58, 12, 30]) {
                0 => self.autocommit()?,
                1 => self.transaction(1)?,
                _ => {
                    let length = 2 + self.generator.rng.below(4);
                    self.transaction(length)?
                }
            };
            done += transaction.records.len();
            transactions.push(transaction);
        }
        Ok(transactions)
    }

    fn autocommit(&mut self) -> Result<Transaction, String> {
        let (tenant, records) = self.call(0, None)?;
        let failed = records.iter().any(Record::failed);
        let ending = if failed {
            Ending::RolledBack
        } else {
            Ending::Committed
        };
        for record in &records {
            self.learn(tenant, record, true);
            self.learn_shown(tenant, record);
        }
        let mut end = records[0].span;
        if failed {
            end.to = self.settled()?;
        }
        self.pause(8, 2);
        Ok(self.closed(Isolation::ReadCommitted, records, ending, end))
    }

    fn transaction(&mut self, length: usize) -> Result<Transaction, String> {
        let isolation = match self.generator.rng.weighted(&[50, 30, 20]) {
            0 => Isolation::ReadCommitted,
            1 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        };
        self.must(&format!("BEGIN ISOLATION LEVEL {}", isolation.sql()))?;
        let mut acting = None;
        // The identity's own statement would take the snapshot before the first command does.
        if !isolation.keeps_snapshot() && self.generator.rng.chance(25) {
            let person = self.generator.person(false);
            self.connection.act_as(&person.identity)?;
            acting = Some(person);
        }
        let mut open = Open {
            records: Vec::new(),
            seq: 0,
        };
        let mut aborted = false;
        for _ in 0..length {
            aborted = self.step(&mut open, acting.as_ref())?;
            if aborted {
                break;
            }
            self.pause(25, 3);
        }
        self.pause(10, 15);
        let commits = !aborted && self.generator.rng.chance(70);
        let (mut end, ended) = self.timed(if commits { "COMMIT" } else { "ROLLBACK" })?;
        if ended.is_err() {
            end.to = self.settled()?;
        }
        let ending = match ended {
            Err(fault) => Ending::Failed(fault),
            Ok(()) if commits => Ending::Committed,
            Ok(()) => Ending::RolledBack,
        };
        let transaction = self.closed(isolation, open.records, ending, end);
        for record in &transaction.records {
            if transaction.keeps(record) {
                let tenant = self.library.tenant(&record.command.identity.tenant);
                self.learn(tenant, record, true);
                self.learn_shown(tenant, record);
            }
        }
        Ok(transaction)
    }

    /// One command of an open transaction, now and then in a savepoint. True if the transaction is
    /// good for nothing any more.
    fn step(&mut self, open: &mut Open, acting: Option<&Acting>) -> Result<bool, String> {
        let saved = self.generator.rng.chance(25);
        if saved {
            self.must("SAVEPOINT here")?;
        }
        open.seq += 1;
        let first = open.seq;
        let (tenant, records) = self.call(first, acting)?;
        let failed = records.iter().any(Record::failed);
        let leaks = self.generator.rng.chance(25);
        open.seq = first + records.len() as u32 - 1;
        for record in records {
            self.learn(tenant, &record, leaks);
            open.records.push(record);
        }
        if !saved {
            return Ok(failed);
        }
        open.seq += 1;
        if failed || self.generator.rng.chance(40) {
            let (span, result) = self.timed("ROLLBACK TO SAVEPOINT here")?;
            result.map_err(|fault| format!("ROLLBACK TO SAVEPOINT: {fault:?}"))?;
            for record in &mut open.records {
                if record.seq >= first {
                    record.undone = Some((open.seq, span));
                }
            }
        }
        self.must("RELEASE SAVEPOINT here")?;
        Ok(false)
    }

    /// The next call: one command, or many. Gives its tenant and what was answered.
    fn call(
        &mut self,
        first: u32,
        acting: Option<&Acting>,
    ) -> Result<(usize, Vec<Record>), String> {
        let (tenant, commands) = match self.generator.many(acting) {
            Some(drawn) => drawn,
            None => {
                let (tenant, command) = self.generator.next(acting);
                (tenant, vec![command])
            }
        };
        let (span, answers) = Span::around(self.epoch, || match commands[0].many {
            Some(atomic) => self.connection.call_many(&commands, atomic),
            None => self
                .connection
                .call(&commands[0])
                .map(|answer| vec![answer]),
        });
        let answers = answers?;
        many::agree(&commands, &answers)?;
        let records = (first..).zip(commands).zip(answers);
        let records = records.map(|((seq, command), answer)| Record {
            seq,
            call: first,
            command,
            span,
            answer,
            undone: None,
        });
        Ok((tenant, records.collect()))
    }

    fn timed(&mut self, sql: &str) -> Result<(Span, Result<(), Fault>), String> {
        let (span, result) = Span::around(self.epoch, || self.connection.say(sql));
        Ok((span, result?))
    }

    /// An error reaches the client before the server has given up the locks. They are gone once it
    /// answers again.
    fn settled(&mut self) -> Result<Time, String> {
        let (span, result) = self.timed("SELECT")?;
        result.map_err(|fault| format!("SELECT: {fault:?}"))?;
        Ok(span.to)
    }

    fn must(&mut self, sql: &str) -> Result<(), String> {
        self.connection
            .say(sql)?
            .map_err(|fault| format!("{sql}: {fault:?}"))
    }

    fn closed(
        &self,
        isolation: Isolation,
        records: Vec<Record>,
        ending: Ending,
        end: Span,
    ) -> Transaction {
        Transaction {
            session: self.number,
            isolation,
            wait_ms: self.wait_ms,
            records,
            ending,
            end,
        }
    }

    fn pause(&mut self, percent: usize, up_to_ms: usize) {
        if self.generator.rng.chance(percent) {
            let micros = self.generator.rng.below(up_to_ms * 1000) as u64;
            std::thread::sleep(Duration::from_micros(micros));
        }
    }

    /// The tasks of a page, once it is certain that they are there.
    fn learn_shown(&self, tenant: usize, record: &Record) {
        if let Answer::Page(page) = &record.answer {
            self.board.with(tenant, |known| {
                for (task, _, _) in page.tasks() {
                    known.learn_task(page.instance_id, task);
                }
            });
        }
    }

    /// Puts on the board what an answer said. New instances only if `whole`: what may yet be rolled
    /// back is mostly kept from the others.
    fn learn(&self, tenant: usize, record: &Record, whole: bool) {
        let outcome = match &record.answer {
            Answer::Outcome(outcome) => outcome,
            Answer::Page(page) => {
                let seen = Position {
                    state: page.state.clone(),
                    revision: page.revision,
                    material: page.material_version,
                };
                self.board
                    .with(tenant, |known| known.learn_position(page.instance_id, seen));
                return;
            }
            Answer::Fault(_) => return,
        };
        if matches!(record.command.action, Action::Check(_)) && outcome.applied {
            return;
        }
        self.board.with(tenant, |known| {
            if let Some(application) = outcome.application_id
                && let Some(version) = outcome.material_version
                && outcome.applied
            {
                let content = match &record.command.action {
                    Action::Start(start) => start.material.as_ref(),
                    Action::Supersede { material, .. } => Some(material),
                    _ => None,
                };
                known.learn_material(application, version, content);
            }
            let (Some(instance), Some(position)) = (outcome.instance_id, position(outcome)) else {
                return;
            };
            if let Action::Start(start) = &record.command.action
                && outcome.applied
                && whole
                && let Some(application) = outcome.application_id
                && let Some(machine) = self.library.find(tenant, start.definition, start.version)
            {
                known.learn_instance(instance, application, machine, position);
            } else {
                known.learn_position(instance, position);
            }
            for task in outcome.task_ids.iter().flatten() {
                known.learn_task(instance, *task);
            }
        });
    }
}

fn position(outcome: &Outcome) -> Option<Position> {
    Some(Position {
        state: outcome.state.clone()?,
        revision: outcome.revision?,
        material: outcome.material_version?,
    })
}
