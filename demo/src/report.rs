//! How an experiment says what it saw.
//!
//! An experiment collects a table and its expectations; whether it passed follows from the
//! expectations alone, so that no experiment can print "ok" beside a number that says otherwise.
//! On a terminal there are colours and progress bars, anywhere else plain text.

use std::error::Error;
use std::fmt::Display;
use std::io::IsTerminal;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use console::style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::server::{self, Refusal};

/// What an experiment saw, and what it should have seen.
pub struct Report {
    shows: &'static str,
    table: Table,
    notes: Vec<String>,
    checks: usize,
    failures: Vec<String>,
}

impl Report {
    /// An empty report; `shows` says in one line what the experiment is about.
    pub fn new<const N: usize>(shows: &'static str, columns: [&str; N]) -> Report {
        let mut table = Table::new();
        table
            .load_style(if plain() {
                presets::ASCII_MARKDOWN
            } else {
                presets::UTF8_FULL_CONDENSED
            })
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(columns);
        Report {
            shows,
            table,
            notes: Vec::new(),
            checks: 0,
            failures: Vec::new(),
        }
    }

    /// Adds a line to the table. Numbers stand on the right.
    pub fn row<const N: usize>(&mut self, cells: [&dyn Display; N]) {
        self.table.add_row(cells.map(|cell| {
            let text = cell.to_string();
            let number = text.parse::<f64>().is_ok();
            let cell = Cell::new(text);
            if number {
                cell.set_alignment(CellAlignment::Right)
            } else {
                cell
            }
        }));
    }

    /// Adds a line under the table.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Shows everything that the loser of a race is told.
    pub fn show_refusal(&mut self, whom: &str, refusal: &Refusal) {
        self.note(format!("What {whom} is told:"));
        let detail = serde_json::from_str::<serde_json::Value>(&refusal.detail)
            .and_then(|detail| serde_json::to_string_pretty(&detail))
            .unwrap_or_else(|_| refusal.detail.clone());
        for (field, text) in [
            ("SQLSTATE", &refusal.sqlstate),
            ("MESSAGE", &refusal.message),
            ("CONSTRAINT", &refusal.constraint),
            ("HINT", &refusal.hint),
            ("DETAIL", &detail),
        ] {
            let mut lines = text.lines();
            let first = lines.next().unwrap_or_default();
            self.note(format!("  {field:<11}{first}"));
            for line in lines {
                self.note(format!("  {:<11}{line}", ""));
            }
        }
    }

    /// The experiment passes only if `found` is `expected`.
    pub fn expect<T: PartialEq + Display>(&mut self, what: &str, expected: T, found: T) {
        let passed = found == expected;
        self.judge(passed, || {
            format!("{what}: expected {expected}, found {found}")
        });
    }

    /// The experiment passes only if `found` is at least `least`.
    pub fn expect_at_least(&mut self, what: &str, least: usize, found: usize) {
        self.judge(found >= least, || {
            format!("{what}: expected at least {least}, found {found}")
        });
    }

    fn judge(&mut self, passed: bool, complaint: impl FnOnce() -> String) {
        self.checks += 1;
        if !passed {
            self.failures.push(complaint());
        }
    }

    /// Prints everything; gives whether the experiment passed.
    pub fn print(&self) -> bool {
        println!("{}\n", self.shows);
        println!("{}", self.table);
        if !self.notes.is_empty() {
            println!();
        }
        for note in &self.notes {
            println!("{note}");
        }
        println!();
        // An experiment that expects nothing has shown nothing.
        let passed = self.checks > 0 && self.failures.is_empty();
        if passed {
            println!(
                "{} ({} of {} checks)",
                style("ok").green().bold(),
                self.checks,
                self.checks
            );
        } else {
            println!(
                "{} ({} of {} checks)",
                style("FAILED").red().bold(),
                self.failures.len(),
                self.checks
            );
            for failure in &self.failures {
                println!("  {failure}");
            }
        }
        passed
    }
}

/// Prints the line above an experiment.
pub fn heading(number: usize, title: &str) {
    println!("\n{}", style(format!("{number}. {title}")).bold());
}

/// Prints why an experiment could not be finished, which is a failure.
pub fn broke_off(error: &(dyn Error + 'static)) -> bool {
    println!(
        "\n{}: broke off: {}",
        style("FAILED").red().bold(),
        server::explain(error)
    );
    false
}

/// Prints the verdict over all experiments.
pub fn verdict(failed: u32, experiments: usize, took: Duration) {
    let took = took.as_secs_f64();
    if failed == 0 {
        let verdict = style("VERDICT: ok").green().bold();
        println!("\n{verdict}, all {experiments} experiments in {took:.1} s");
    } else {
        let verdict = style("VERDICT: FAILED").red().bold();
        println!("\n{verdict}, {failed} of {experiments} experiments, in {took:.1} s");
    }
}

/// A progress bar, seen only on a terminal and gone when it is done.
pub fn progress(what: &'static str, steps: u64) -> ProgressBar {
    let target = if plain() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let style = ProgressStyle::with_template("{msg:<28} {bar:40} {pos}/{len}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(steps), target)
        .with_style(style)
        .with_message(what)
}

fn plain() -> bool {
    !std::io::stdout().is_terminal()
}
