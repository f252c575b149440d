//! Holds what the holders of leases noted against each other: no two tenures of a key at once, fences
//! that only rise, no write under a fence that is over or lower than one that was given.
//!
//! A tenure certainly stands from the answer that gave it until its time, counted from before the
//! question, is over, or somebody asks for its end. It certainly is over when its time, counted from
//! after the answer, has passed.

use std::collections::{HashMap, HashSet};

use postgres::Client;

use crate::call::explain;
use crate::leases::key;
use crate::record::{Span, Time};

/// Whether what was answered is there for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Yes,
    No,
    /// The connection was gone.
    Unknown,
}

/// What was asked about which key, and when.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub key: usize,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Grant {
    pub asked: Asked,
    /// A name of its own for each tenure.
    pub holder: String,
    /// As far as it was answered.
    pub fence: Option<i64>,
    pub ttl: Time,
    /// Whether it was taken from whoever had it.
    pub steals: bool,
    pub kept: Kept,
    /// The end of the transaction.
    pub end: Span,
}

type Done = Option<Result<(), String>>;

#[derive(Clone, Debug)]
pub enum Note {
    Grant(Grant),
    Refused {
        asked: Asked,
        reason: String,
    },
    Renewed {
        asked: Asked,
        fence: i64,
        answer: Done,
        kept: Kept,
        end: Span,
    },
    Released {
        asked: Asked,
        fence: i64,
        answer: Done,
        kept: Kept,
        end: Span,
    },
    Wrote {
        asked: Asked,
        fence: i64,
        request: String,
        answer: Done,
        kept: Kept,
        end: Span,
    },
    /// The clock stepped back.
    Step {
        key: usize,
        micros: Time,
        span: Span,
    },
}

impl Note {
    /// The same at the end of the transaction that it was part of.
    pub fn ended(mut self, how: Kept, at: Span) -> Note {
        match &mut self {
            Note::Grant(Grant { kept, end, .. })
            | Note::Renewed { kept, end, .. }
            | Note::Released { kept, end, .. }
            | Note::Wrote { kept, end, .. } => (*kept, *end) = (how, at),
            Note::Refused { .. } | Note::Step { .. } => {}
        }
        self
    }

    /// The key, and from when to when it was touched.
    fn touched(&self) -> (usize, Span) {
        let life = |asked: &Asked, end: &Span| {
            let (from, to) = (asked.span.from, end.to.max(asked.span.to));
            (asked.key, Span { from, to })
        };
        match self {
            Note::Grant(grant) => life(&grant.asked, &grant.end),
            Note::Renewed { asked, end, .. }
            | Note::Released { asked, end, .. }
            | Note::Wrote { asked, end, .. } => life(asked, end),
            Note::Refused { asked, .. } => (asked.key, asked.span),
            Note::Step { key, span, .. } => (*key, *span),
        }
    }
}

#[derive(Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    pub fn push(&mut self, note: Note) {
        self.0.push(note);
    }

    pub fn summary(&self) -> String {
        let count = |wanted: fn(&Note) -> bool| self.0.iter().filter(|note| wanted(note)).count();
        format!(
            "leases: {} tenures ({} stolen), {} refused, {} renewals ({} refused), {} releases, \
             {} writes accepted, {} refused as late, {} steps of the clock, {} answers lost",
            count(|note| matches!(note, Note::Grant(grant) if grant.fence.is_some())),
            count(|note| matches!(note, Note::Grant(grant) if grant.steals)),
            count(|note| matches!(note, Note::Refused { .. })),
            count(|note| matches!(
                note,
                Note::Renewed {
                    answer: Some(Ok(())),
                    ..
                }
            )),
            count(|note| matches!(
                note,
                Note::Renewed {
                    answer: Some(Err(_)),
                    ..
                }
            )),
            count(|note| matches!(
                note,
                Note::Released {
                    answer: Some(Ok(())),
                    ..
                }
            )),
            count(|note| matches!(
                note,
                Note::Wrote {
                    answer: Some(Ok(())),
                    ..
                }
            )),
            count(|note| matches!(
                note,
                Note::Wrote {
                    answer: Some(Err(_)),
                    ..
                }
            )),
            count(|note| matches!(note, Note::Step { .. })),
            count(|note| matches!(
                note,
                Note::Grant(Grant {
                    kept: Kept::Unknown,
                    ..
                }) | Note::Renewed {
                    kept: Kept::Unknown,
                    ..
                } | Note::Released {
                    kept: Kept::Unknown,
                    ..
                } | Note::Wrote {
                    kept: Kept::Unknown,
                    ..
                }
            )),
        )
    }
}

/// A tenure, and what its holder and others did about it.
struct Tenure<'n> {
    grant: &'n Grant,
    fence: i64,
    kept: bool,
    renewals: Vec<(Span, bool)>,
    /// Before this nobody asked for its end.
    ended_not_before: Time,
    /// By then it had ended.
    ended_by: Time,
}

impl Tenure<'_> {
    fn given(&self) -> Span {
        self.grant.asked.span
    }

    /// It certainly stands from when it was given until then, and everybody sees it once its
    /// transaction has ended.
    fn stands_until(&self) -> Time {
        let certain = self.renewals.iter().filter(|(_, certain)| *certain);
        let renewed = certain.map(|(span, _)| span.from).max();
        let last = renewed.unwrap_or(0).max(self.given().from);
        (last + self.grant.ttl).min(self.ended_not_before)
    }

    /// Nobody else can have it before then.
    fn excludes_until(&self) -> Time {
        let standing = if self.kept { self.stands_until() } else { 0 };
        match self.grant.kept {
            // When the backend died is not known.
            Kept::Unknown => standing,
            _ => standing.max(self.grant.end.from),
        }
    }

    fn stands_during(&self, span: Span) -> bool {
        self.kept && self.grant.end.to <= span.from && span.to <= self.stands_until()
    }

    /// It certainly is over after that, by what was asked before `when`.
    fn over_by(&self, when: Time, steps: &[(Span, Time)]) -> Time {
        let mut over = self.given().to + self.grant.ttl;
        for (span, certain) in self.renewals.iter().filter(|(span, _)| span.from < when) {
            let until = if *certain {
                span.to + self.grant.ttl
            } else {
                Time::MAX / 2
            };
            over = over.max(until);
        }
        let stepped = steps
            .iter()
            .filter(|(span, _)| span.to >= self.given().from);
        over += stepped.map(|(_, micros)| micros).sum::<Time>();
        over += standstill(self.given().from, steps);
        over.min(self.ended_by)
    }
}

/// How long the clock of the key may have to stand still yet, because it has stepped back before.
fn standstill(when: Time, steps: &[(Span, Time)]) -> Time {
    let (mut left, mut at) = (0, 0);
    for (span, micros) in steps.iter().filter(|(span, _)| span.to < when) {
        left = Time::saturating_sub(left, span.from.saturating_sub(at)) + micros;
        at = span.from;
    }
    left.saturating_sub(when.saturating_sub(at))
}

/// Gives the number of answers that were checked, or what is wrong.
pub fn check(notes: &Notes, client: &mut Client, tenant: &str) -> Result<usize, String> {
    let log = log(client, tenant)?;
    let mut keys: Vec<usize> = notes.0.iter().map(|note| note.touched().0).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut checked = 0;
    for key in keys {
        let notes: Vec<&Note> = notes
            .0
            .iter()
            .filter(|note| note.touched().0 == key)
            .collect();
        checked += notes.len();
        let of_key = log.iter().filter(|((name, _), _)| *name == self::key(key));
        let log: HashMap<i64, &str> = of_key
            .map(|((_, fence), who)| (*fence, who.as_str()))
            .collect();
        let tenures = tenures(&notes, &log)?;
        rise(&tenures)?;
        exclude(&tenures)?;
        let steps: Vec<(Span, Time)> = notes
            .iter()
            .filter_map(|note| match note {
                Note::Step { micros, span, .. } => Some((*span, *micros)),
                _ => None,
            })
            .collect();
        answers(&notes, &tenures, &steps)?;
    }
    writes(notes, client, tenant)?;
    Ok(checked)
}

/// Key, fence and holder of every tenure there was.
fn log(client: &mut Client, tenant: &str) -> Result<HashMap<(String, i64), String>, String> {
    let sql = "SELECT key, fence, holder FROM workflow.lease_log WHERE tenant_id = $1";
    let rows = client
        .query(sql, &[&tenant])
        .map_err(|error| explain(&error))?;
    let rows = rows
        .iter()
        .map(|row| ((row.get(0), row.get(1)), row.get(2)));
    Ok(rows.collect())
}

fn tenures<'n>(notes: &[&'n Note], log: &HashMap<i64, &str>) -> Result<Vec<Tenure<'n>>, String> {
    let by_holder: HashMap<&str, i64> = log.iter().map(|(fence, who)| (*who, *fence)).collect();
    let mut tenures = Vec::new();
    let mut holders = HashSet::new();
    for note in notes {
        let Note::Grant(grant) = note else { continue };
        holders.insert(grant.holder.as_str());
        let logged = by_holder.get(grant.holder.as_str()).copied();
        let there = match (grant.kept, logged) {
            (Kept::Yes, None) => return Err(format!("{grant:?} is not in the log")),
            (Kept::No, Some(_)) => return Err(format!("{grant:?} was undone and is in the log")),
            (_, logged) => logged,
        };
        let Some(fence) = grant.fence.or(there) else {
            continue;
        };
        if there.is_some_and(|there| there != fence) {
            return Err(format!("{grant:?} is in the log under {there:?}"));
        }
        tenures.push(Tenure {
            grant,
            fence,
            kept: there.is_some(),
            renewals: Vec::new(),
            ended_not_before: Time::MAX / 2,
            ended_by: Time::MAX / 2,
        });
    }
    if let Some((fence, who)) = log.iter().find(|(_, who)| !holders.contains(**who)) {
        return Err(format!("nobody asked for the tenure {fence} of {who}"));
    }
    tenures.sort_by_key(|tenure| tenure.fence);
    for note in notes {
        let fence = match note {
            Note::Renewed { fence, .. } | Note::Released { fence, .. } => *fence,
            _ => continue,
        };
        let Some(tenure) = tenures.iter_mut().find(|tenure| tenure.fence == fence) else {
            continue;
        };
        match note {
            Note::Renewed {
                asked,
                answer,
                kept,
                ..
            } => match (answer, kept) {
                (Some(Err(_)), _) | (_, Kept::No) => {}
                (_, kept) => tenure.renewals.push((asked.span, *kept == Kept::Yes)),
            },
            Note::Released {
                asked,
                answer,
                kept,
                end,
                ..
            } if !matches!(answer, Some(Err(_))) => {
                tenure.ended_not_before = tenure.ended_not_before.min(asked.span.from);
                if *kept == Kept::Yes {
                    tenure.ended_by = tenure.ended_by.min(end.to);
                }
            }
            _ => {}
        }
    }
    // Whoever comes after ends it; whoever takes it, from when they ask.
    for later in (1..tenures.len()).rev() {
        let (earlier, later) = tenures.split_at_mut(later);
        let later = &later[0];
        for tenure in earlier.iter_mut().filter(|_| later.kept) {
            tenure.ended_by = tenure.ended_by.min(later.grant.end.to);
            if later.grant.steals {
                let asked = later.given().from;
                tenure.ended_not_before = tenure.ended_not_before.min(asked);
            }
        }
    }
    Ok(tenures)
}

fn rise(tenures: &[Tenure<'_>]) -> Result<(), String> {
    for (at, one) in tenures.iter().enumerate() {
        for other in &tenures[at + 1..] {
            if one.fence == other.fence {
                return Err(format!(
                    "one fence twice: {:?} and {:?}",
                    one.grant, other.grant
                ));
            }
            if other.given().to <= one.given().from {
                return Err(format!(
                    "a fence that fell: {:?}, then {:?}",
                    other.grant, one.grant
                ));
            }
        }
    }
    Ok(())
}

fn exclude(tenures: &[Tenure<'_>]) -> Result<(), String> {
    for (at, one) in tenures.iter().enumerate() {
        for other in &tenures[at + 1..] {
            let (until, others) = (one.excludes_until(), other.excludes_until());
            if one.given().to < others && other.given().to < until {
                let (one, other) = (one.grant, other.grant);
                return Err(format!(
                    "two tenures at once: {one:?} until {until} and {other:?} until {others}"
                ));
            }
        }
    }
    Ok(())
}

fn answers(notes: &[&Note], tenures: &[Tenure<'_>], steps: &[(Span, Time)]) -> Result<(), String> {
    let by_fence: HashMap<i64, &Tenure<'_>> = tenures
        .iter()
        .map(|tenure| (tenure.fence, tenure))
        .collect();
    for (at, note) in notes.iter().enumerate() {
        let wrong = |what: &str| Err(format!("{what}: {note:?}"));
        let (asked, fence, answer, end, kept) = match note {
            Note::Refused { asked, reason } => {
                refused(notes, at, tenures, steps, asked.span, reason)
                    .map_err(|what| format!("{what}: {note:?}"))?;
                continue;
            }
            Note::Renewed {
                asked,
                fence,
                answer: Some(answer),
                end,
                kept,
            }
            | Note::Released {
                asked,
                fence,
                answer: Some(answer),
                end,
                kept,
            }
            | Note::Wrote {
                asked,
                fence,
                answer: Some(answer),
                end,
                kept,
                ..
            } => (asked, fence, answer, end, kept),
            _ => continue,
        };
        let Some(tenure) = by_fence.get(fence) else {
            // It was answered, so it is among them.
            return wrong("a fence that was never given");
        };
        match answer {
            Ok(()) => {
                let over = tenure.over_by(asked.span.from, steps);
                if asked.span.from > over {
                    return wrong(&format!("{:?} had been over since {over}", tenure.grant));
                }
                if !tenure.kept && *kept == Kept::Yes {
                    return wrong(&format!("{:?} was undone", tenure.grant));
                }
                let mut later = tenures
                    .iter()
                    .filter(|other| other.kept && other.fence > *fence);
                if *kept == Kept::Yes
                    && let Some(later) = later.find(|other| other.grant.end.to <= end.from)
                {
                    return wrong(&format!("{:?} had been given before", later.grant));
                }
            }
            Err(reason) => {
                if !matches!(reason.as_str(), "55P03" | "busy") && tenure.stands_during(asked.span)
                {
                    return wrong(&format!("{:?} stood all the time", tenure.grant));
                }
            }
        }
    }
    Ok(())
}

/// A key that is not had is held by somebody, or somebody is at it.
fn refused(
    notes: &[&Note],
    at: usize,
    tenures: &[Tenure<'_>],
    steps: &[(Span, Time)],
    span: Span,
    reason: &str,
) -> Result<(), String> {
    // A backend that was killed may have its locks a moment longer.
    const MOMENT: Time = 1_000_000;
    let held = || {
        tenures.iter().any(|tenure| {
            tenure.given().from <= span.to && tenure.over_by(Time::MAX, steps) >= span.from
        })
    };
    let touched = || {
        notes.iter().enumerate().any(|(other, note)| {
            let (_, touched) = note.touched();
            let lost = matches!(
                note,
                Note::Grant(Grant {
                    kept: Kept::Unknown,
                    ..
                }) | Note::Renewed {
                    kept: Kept::Unknown,
                    ..
                } | Note::Released {
                    kept: Kept::Unknown,
                    ..
                } | Note::Wrote {
                    kept: Kept::Unknown,
                    ..
                }
            );
            let until = touched.to + if lost { MOMENT } else { 0 };
            other != at && touched.from <= span.to && span.from <= until
        })
    };
    match reason {
        "held" if held() => Ok(()),
        "held" => Err("held by nobody".to_owned()),
        "busy" if touched() => Ok(()),
        "busy" => Err("busy, and nobody was at it".to_owned()),
        other => Err(format!("refused because {other}")),
    }
}

/// What was written is there once under its fence, and nothing else is.
fn writes(notes: &Notes, client: &mut Client, tenant: &str) -> Result<(), String> {
    let sql = "SELECT request_id, lease_key, fence FROM workflow.history
                WHERE tenant_id = $1 AND request_id IS NOT NULL";
    let rows = client
        .query(sql, &[&tenant])
        .map_err(|error| explain(&error))?;
    let mut there: HashMap<String, (String, i64)> = HashMap::new();
    for row in &rows {
        let request: String = row.get(0);
        if there
            .insert(request.clone(), (row.get(1), row.get(2)))
            .is_some()
        {
            return Err(format!("{request} is there twice"));
        }
    }
    for note in &notes.0 {
        let Note::Wrote {
            asked,
            fence,
            request,
            answer,
            kept,
            ..
        } = note
        else {
            continue;
        };
        let written = there.remove(request);
        let said = matches!(answer, Some(Ok(())));
        let right = match (&written, kept) {
            (_, Kept::Unknown) => true,
            (Some(_), Kept::Yes) => said,
            (Some(_), Kept::No) => false,
            (None, Kept::Yes) => !said,
            (None, Kept::No) => true,
        };
        if !right {
            return Err(format!("{note:?}, and there is {written:?}"));
        }
        if written.is_some_and(|written| written != (key(asked.key), *fence)) {
            return Err(format!("{note:?} is there under another lease"));
        }
    }
    match there.keys().next() {
        None => Ok(()),
        Some(request) => Err(format!("nobody sent {request}")),
    }
}
