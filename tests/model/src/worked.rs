//! Whether what workers were handed and told agrees with the contract: tenures of a job do not overlap,
//! fences rise, attempts count one by one, nothing is written under a fence that somebody has passed,
//! every refusal has its reason, and nothing is lost.

use std::collections::HashMap;

use postgres::Client;
use uuid::Uuid;

use crate::call::explain;
use crate::jobs::{ATTEMPTS, TENANT};

/// A job in the hands of a worker. Times are microseconds.
#[derive(Clone, Debug)]
pub struct Taken {
    pub instance: Uuid,
    pub revision: i64,
    pub material_version: i32,
    pub attempt: i32,
    pub fence: i64,
    pub expires_at: i64,
    /// When the worker had it.
    pub after: i64,
}

/// What a worker may say of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Finish,
    Fail,
    GiveBack,
    Extend,
}

/// What it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Applied {
        state: String,
        exhausted: bool,
        expires_at: Option<i64>,
    },
    Refused(String),
}

/// A call about a job.
#[derive(Clone, Debug)]
pub struct Settled {
    pub instance: Uuid,
    pub fence: i64,
    pub verb: Verb,
    pub answer: Answer,
    pub before: i64,
    pub after: i64,
}

impl Settled {
    fn is_applied(&self) -> bool {
        matches!(self.answer, Answer::Applied { .. })
    }

    /// Whether it ended the tenure.
    fn ends(&self) -> bool {
        self.is_applied() && self.verb != Verb::Extend
    }
}

/// What the workers noted.
#[derive(Default)]
pub struct Notes {
    pub taken: Vec<Taken>,
    pub settled: Vec<Settled>,
}

/// A row of the history.
struct Step {
    revision: i64,
    step: String,
    event: Option<String>,
    material_version: i32,
    fence: Option<i64>,
}

impl Step {
    fn enters(&self) -> bool {
        self.step != "supersede"
    }
}

/// One job with all that is known of it.
struct Job<'a> {
    taken: Vec<&'a Taken>,
    settled: HashMap<i64, Vec<&'a Settled>>,
    steps: Vec<Step>,
}

impl Job<'_> {
    fn of(&self, fence: i64) -> &[&Settled] {
        self.settled.get(&fence).map_or(&[], Vec::as_slice)
    }

    /// The call that ended a tenure.
    fn end(&self, fence: i64) -> Option<&&Settled> {
        self.of(fence).iter().find(|settled| settled.ends())
    }

    /// When the lease of a tenure ran out, had nobody ended it.
    fn expiry(&self, taken: &Taken) -> i64 {
        let mut prolonged = self.of(taken.fence).iter().filter_map(|s| match s.answer {
            Answer::Applied { expires_at, .. } => expires_at,
            Answer::Refused(_) => None,
        });
        prolonged.next_back().unwrap_or(taken.expires_at)
    }

    /// Revision of the entry that was in force at a revision.
    fn visit(&self, revision: i64) -> i64 {
        let entries = self
            .steps
            .iter()
            .filter(|step| step.enters() && step.revision <= revision);
        entries.map(|step| step.revision).max().unwrap_or(0)
    }
}

/// Gives the number of takes; an error says what is wrong.
pub fn check(client: &mut Client, notes: &Notes) -> Result<usize, String> {
    let mut jobs: HashMap<Uuid, Job<'_>> = HashMap::new();
    let rows = client
        .query(
            "SELECT instance_id, revision, step::text, event, material_version, fence
               FROM workflow.history WHERE tenant_id = $1 ORDER BY instance_id, revision",
            &[&TENANT],
        )
        .map_err(|error| explain(&error))?;
    for row in &rows {
        let job = jobs.entry(row.get(0)).or_insert_with(|| Job {
            taken: Vec::new(),
            settled: HashMap::new(),
            steps: Vec::new(),
        });
        job.steps.push(Step {
            revision: row.get(1),
            step: row.get(2),
            event: row.get(3),
            material_version: row.get(4),
            fence: row.get(5),
        });
    }
    for taken in &notes.taken {
        let job = jobs.get_mut(&taken.instance);
        let job = job.ok_or_else(|| format!("{taken:?}: there is no such job"))?;
        job.taken.push(taken);
    }
    for settled in &notes.settled {
        let job = jobs.get_mut(&settled.instance).expect("it was taken");
        job.settled.entry(settled.fence).or_default().push(settled);
    }
    for (id, job) in &mut jobs {
        job.taken.sort_by_key(|taken| taken.fence);
        let job = &*job;
        tenures(job)
            .and_then(|()| attempts(job))
            .and_then(|()| steps(job))
            .and_then(|()| refusals(job))
            .map_err(|what| format!("job {id}: {what}"))?;
    }
    Ok(notes.taken.len())
}

/// They follow each other in the order of their fences.
fn tenures(job: &Job<'_>) -> Result<(), String> {
    for pair in job.taken.windows(2) {
        let (one, next) = (pair[0], pair[1]);
        if one.fence == next.fence {
            return Err(format!("{one:?} and {next:?} have one fence"));
        }
        let over = job.end(one.fence).map_or(job.expiry(one), |end| end.before);
        if next.after < over {
            return Err(format!(
                "{next:?} began before {over}, when {one:?} could end"
            ));
        }
    }
    Ok(())
}

fn attempts(job: &Job<'_>) -> Result<(), String> {
    let mut before: Option<(&Taken, i32)> = None;
    for taken in &job.taken {
        let counted = match before {
            Some((last, counted))
                if last.material_version == taken.material_version
                    && job.visit(last.revision) == job.visit(taken.revision) =>
            {
                counted
            }
            _ => 0,
        };
        if taken.attempt != counted + 1 {
            return Err(format!("{taken:?} comes after {counted} attempts"));
        }
        if taken.attempt > ATTEMPTS {
            return Err(format!("{taken:?} is one attempt too many"));
        }
        let given_back = job
            .end(taken.fence)
            .is_some_and(|s| s.verb == Verb::GiveBack);
        before = Some((taken, taken.attempt - i32::from(given_back)));
    }
    Ok(())
}

/// What is in the history was done by those who were told so, and by nobody who had been passed.
fn steps(job: &Job<'_>) -> Result<(), String> {
    let mut told: Vec<i64> = Vec::new();
    for settled in job.settled.values().flatten() {
        if settled.verb != Verb::Finish || !settled.is_applied() {
            continue;
        }
        told.push(settled.fence);
        let passed = job
            .taken
            .iter()
            .find(|taken| taken.fence > settled.fence && taken.after < settled.before);
        if let Some(taken) = passed {
            return Err(format!("{settled:?} was accepted after {taken:?}"));
        }
    }
    let done = job
        .steps
        .iter()
        .filter(|step| step.event.as_deref() == Some("DONE"));
    let mut done: Vec<i64> = done.filter_map(|step| step.fence).collect();
    told.sort_unstable();
    done.sort_unstable();
    if told != done || done.len() > 1 {
        return Err(format!("told finished {told:?}, in the history {done:?}"));
    }
    for step in job.steps.iter().filter(|step| step.step == "exhaust") {
        let visit = job.visit(step.revision - 1);
        let last = job
            .taken
            .iter()
            .rfind(|taken| job.visit(taken.revision) == visit);
        let spent = last.is_some_and(|taken| {
            taken.attempt == ATTEMPTS
                && taken.material_version == step.material_version
                && job
                    .end(taken.fence)
                    .is_none_or(|end| end.verb == Verb::Fail)
        });
        if !spent {
            return Err(format!(
                "exhausted by revision {} after {last:?}",
                step.revision
            ));
        }
    }
    Ok(())
}

/// Every refusal has its reason.
fn refusals(job: &Job<'_>) -> Result<(), String> {
    for taken in &job.taken {
        for (number, settled) in job.of(taken.fence).iter().enumerate() {
            let reason = match &settled.answer {
                Answer::Applied {
                    state, exhausted, ..
                } => match settled.verb {
                    Verb::Finish => state == "DONE",
                    Verb::Fail => {
                        *exhausted == (state == "BROKEN") || state == "DONE" || !exhausted
                    }
                    Verb::GiveBack | Verb::Extend => true,
                },
                Answer::Refused(code) => match code.as_str() {
                    "WF009" => {
                        settled.after >= job.expiry(taken)
                            || job.of(taken.fence)[..number].iter().any(|s| s.ends())
                    }
                    "WF002" => job
                        .steps
                        .iter()
                        .any(|step| step.material_version > taken.material_version),
                    "WF001" => job
                        .steps
                        .iter()
                        .any(|step| step.revision > taken.revision && step.enters()),
                    "55P03" => true,
                    _ => false,
                },
            };
            if !reason {
                return Err(format!("{settled:?} about {taken:?}"));
            }
        }
    }
    Ok(())
}
