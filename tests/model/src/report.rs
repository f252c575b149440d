//! What a run prints: a table of what was tried and how it ended, or the trace of a violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::command::{Action, KINDS};
use crate::model::Model;
use crate::record::{Answer, At, Ending};
use crate::round::{Round, Violation};

/// How many commands before the one in question a trace shows.
const CONTEXT: usize = 30;

/// Counts over all rounds: by kind and answer.
#[derive(Default)]
pub struct Summary {
    answers: BTreeMap<String, [u64; KINDS.len()]>,
    sent: [u64; KINDS.len()],
    endings: BTreeMap<String, u64>,
    pub transactions: u64,
}

impl Summary {
    pub fn count(&mut self, round: &Round<'_>) {
        for transaction in &round.transactions {
            self.transactions += 1;
            let ending = match &transaction.ending {
                Ending::Committed => "committed".to_owned(),
                Ending::RolledBack => "rolled back".to_owned(),
                Ending::Failed(fault) => format!("{} at COMMIT", fault.code),
            };
            *self.endings.entry(ending).or_default() += 1;
            for record in &transaction.records {
                let kind = record.command.kind();
                self.sent[kind] += 1;
                let answer = match &record.answer {
                    Answer::Page(_) => "applied",
                    Answer::Fault(fault) => &fault.code,
                    Answer::Outcome(outcome) if outcome.replayed => "replayed",
                    Answer::Outcome(outcome) if outcome.applied => "applied",
                    Answer::Outcome(outcome) => outcome.code.as_deref().unwrap_or("withheld"),
                };
                self.answers.entry(answer.to_owned()).or_default()[kind] += 1;
            }
        }
    }

    pub fn print(&self) {
        let names = [
            "start", "transit", "try", "send", "supers", "lock", "check", "get", "by key",
            "decide", "claim", "release", "assign", "delegate", "transfer", "seat +", "seat -",
            "withdraw", "many",
        ];
        print!("{:<12}", "");
        for name in names {
            print!("{name:>9}");
        }
        println!("{:>9}", "all");
        let line = |name: &str, counts: &[u64; KINDS.len()]| {
            print!("{name:<12}");
            for count in counts {
                print!("{count:>9}");
            }
            println!("{:>9}", counts.iter().sum::<u64>());
        };
        line("sent", &self.sent);
        for (answer, counts) in &self.answers {
            line(label(answer), counts);
        }
        let endings = self
            .endings
            .iter()
            .map(|(how, count)| format!("{count} {how}"));
        let endings = endings.collect::<Vec<_>>().join(", ");
        println!("{} transactions: {endings}", self.transactions);
    }
}

/// Codes whose names one does not know by heart.
fn label(answer: &str) -> &str {
    match answer {
        "40001" => "40001 serial",
        "40P01" => "40P01 dead",
        "55P03" => "55P03 busy",
        other => other,
    }
}

/// Everything needed to understand a violation.
pub fn trace(round: &Round<'_>, model: Option<&Model<'_>>, violation: &Violation) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "VIOLATION in round {}: {}",
        round.number, violation.what
    );
    for at in &violation.at {
        let _ = writeln!(text, "  {}", describe(round, *at));
    }
    let instance = violation.instance;
    if let Some(instance) = instance.and_then(|id| model?.instances.get(&id)) {
        let _ = writeln!(text, "the model's history of {}:", instance.id);
        let rows = &instance.rows;
        for row in &rows[rows.len().saturating_sub(CONTEXT)..] {
            let step = &row.step;
            let _ = writeln!(
                text,
                "  r{} m{} round {} {} {} -> {} by {} ({}, T{})",
                step.revision,
                step.material,
                step.round,
                step.kind,
                step.from.unwrap_or("-"),
                step.to,
                step.event.unwrap_or("-"),
                round.command(row.made).identity.actor,
                row.made.transaction,
            );
        }
    }
    let concerned = concerned(round, violation);
    if !concerned.is_empty() {
        let _ = writeln!(
            text,
            "commands about it, in the order in which they were sent (µs):"
        );
    }
    for at in concerned {
        let _ = writeln!(text, "  {}", describe(round, at));
    }
    text
}

/// The commands about the same instance, or in the same transactions, up to the last one in question.
fn concerned(round: &Round<'_>, violation: &Violation) -> Vec<At> {
    let mut own: BTreeSet<usize> = violation.at.iter().map(|at| at.transaction).collect();
    let applications = round.applications();
    let application = violation
        .instance
        .and_then(|id| applications.get(&id).copied());
    let until = violation.at.iter().map(|at| round.end(*at).to).max();
    let about = |at: &At| {
        let record = round.record(*at);
        let subject = round.instance(&record.command);
        let named = subject.is_some() && subject == violation.instance;
        let answered = matches!(&record.answer, Answer::Outcome(outcome)
            if outcome.instance_id.is_some() && outcome.instance_id == violation.instance);
        let superseded = match record.command.action {
            Action::Supersede { application, .. } => Some(application),
            _ => None,
        };
        named || answered || superseded.is_some() && superseded == application
    };
    let mut all: Vec<At> = round
        .records()
        .map(|(at, _)| at)
        .filter(|at| own.contains(&at.transaction) || about(at))
        .filter(|at| until.is_none_or(|until| round.record(*at).span.from <= until))
        .collect();
    all.sort_by_key(|at| round.record(*at).span.from);
    let start = all.len().saturating_sub(CONTEXT);
    own.clear();
    all.split_off(start)
}

fn describe(round: &Round<'_>, at: At) -> String {
    let (transaction, record) = (round.transaction(at), round.record(at));
    let answer = match &record.answer {
        Answer::Outcome(outcome) => format!("{outcome:?}"),
        Answer::Page(page) => format!("{page:?}"),
        Answer::Fault(fault) => format!("{fault:?}"),
    };
    let undone = match record.undone {
        Some((_, span)) => format!(", undone at {}..{}", span.from, span.to),
        None => String::new(),
    };
    let ending = match &transaction.ending {
        Ending::Committed => "committed",
        Ending::RolledBack => "rolled back",
        Ending::Failed(_) => "failed",
    };
    format!(
        "T{} session {} {} {}..{}{undone}, {ending} {}..{} (wait_ms {})\n      {:?}\n      => {answer}",
        at.transaction,
        transaction.session,
        transaction.isolation.sql(),
        record.span.from,
        record.span.to,
        transaction.end.from,
        transaction.end.to,
        transaction.wait_ms,
        record.command,
    )
}
