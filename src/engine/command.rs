//! The frame of every command: who calls, the request key, what becomes of a refusal.

use std::ffi::CString;

use serde_json::Map;
use uuid::Uuid;
use workflow_core::outcome::Outcome;
use workflow_core::refusal::Refusal;

use crate::engine::bulk::Fate;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::identity::{Caller, Claim, check_name};
use crate::engine::request::{self, Fingerprint, Request};
use crate::pg::backend;
use crate::pg::call::Call;
use crate::pg::installation::{self, AsOwner};
use crate::pg::report::{self, Report};
use crate::pg::spi::Spi;
use crate::pg::transaction;
use crate::pg::value::{Time, Value};
use crate::pg::wait::Budget;
use crate::settings;
use crate::store::statements;

/// What becomes of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefusal {
    /// An error: the caller's transaction is rolled back.
    Raise,
    /// An answer, stored in `workflow.refusals`.
    Return,
}

impl OnRefusal {
    fn parse(word: &str) -> Result<OnRefusal, Report> {
        match word {
            "raise" => Ok(OnRefusal::Raise),
            "return" => Ok(OnRefusal::Return),
            _ => Err(Report::invalid("on_refusal must be raise or return")),
        }
    }
}

/// The arguments that every command has.
pub struct Common {
    /// Name of the SQL function, as refusals and fingerprints know it.
    pub command: &'static str,
    /// What becomes of a refusal.
    pub on_refusal: OnRefusal,
    /// Who is said to call.
    pub claim: Claim,
    /// Total time to wait for locks, in milliseconds; `None`: `workflow.wait_ms`.
    pub wait_ms: Option<i32>,
    /// Request key, where the command has one.
    pub request_id: Option<String>,
}

impl Common {
    /// Reads the trailing arguments of a command. Raises 25006 before anything else is looked at.
    pub fn begin(command: &'static str) {
        let name = CString::new(format!("{command}()")).expect("a name without NUL");
        backend::require_writable(&name);
    }

    /// Reads the trailing arguments: `on_refusal` and identity.
    pub fn read(
        command: &'static str,
        call: &Call,
        wait_ms: Option<i32>,
        request_id: Option<String>,
    ) -> Result<Common, Report> {
        let on_refusal = OnRefusal::parse(&call.text("on_refusal")?.required()?)?;
        Common::with(command, on_refusal, call, wait_ms, request_id)
    }

    /// The same for a function whose name says what becomes of a refusal.
    pub fn with(
        command: &'static str,
        on_refusal: OnRefusal,
        call: &Call,
        wait_ms: Option<i32>,
        request_id: Option<String>,
    ) -> Result<Common, Report> {
        let claim = read_claim(call)?;
        if wait_ms.is_some_and(|wait_ms| wait_ms < 0) {
            return Err(Report::invalid("wait_ms must not be negative"));
        }
        if let Some(key) = &request_id {
            request::check_key(key)?;
        }
        Ok(Common {
            command,
            on_refusal,
            claim,
            wait_ms,
            request_id,
        })
    }
}

/// Reads the identity arguments, the last four of every function.
pub fn read_claim(call: &Call) -> Result<Claim, Report> {
    Ok(Claim {
        tenant: call.text("tenant")?.optional(),
        actor: call.text("actor")?.optional(),
        roles: call.texts("roles")?.optional(),
        token: call.text("identity_token")?.optional(),
    })
}

/// A command while it runs.
pub struct Command<'a> {
    /// Name of the SQL function.
    pub name: &'static str,
    /// Its statements run here, as the owner of the tables.
    pub spi: &'a Spi,
    /// On whose behalf.
    pub caller: Caller,
    /// How long it may wait.
    pub budget: Budget,
    /// Its request key.
    pub request: Option<Request>,
}

impl<'a> Command<'a> {
    /// A command of time or of the background worker: it never waits, and nobody sent it.
    pub fn unattended(name: &'static str, spi: &'a Spi, caller: Caller) -> Command<'a> {
        Command {
            name,
            spi,
            caller,
            budget: Budget::new(0, false),
            request: None,
        }
    }
}

impl Command<'_> {
    /// The tenant, as an argument.
    pub fn tenant(&self) -> Value<'_> {
        Value::Text(&self.caller.tenant)
    }

    /// The request key, as an argument.
    pub fn request_key(&self) -> Value<'_> {
        Value::optional(self.request.as_ref(), |request| Value::Text(request.key()))
    }
}

/// Runs a command and answers for it.
pub fn run(
    common: Common,
    fingerprint: Fingerprint,
    body: impl FnOnce(&Command<'_>) -> Result<Outcome, Failure>,
) -> Result<Outcome, Report> {
    let spi = Spi::connect(false);
    let _owner = AsOwner::switch(installation::owner(&spi)?);
    let mut caller = None;
    let result = attempt(&spi, &common, fingerprint, &mut caller, body);
    match result {
        Ok(outcome) => Ok(outcome),
        Err(Failure::Error(report)) => Err(report),
        Err(Failure::Refused(refusal)) => {
            log_refusal(common.command, caller.as_ref(), &refusal);
            match (common.on_refusal, &caller) {
                (OnRefusal::Return, Some(caller)) => {
                    store_refusal(&spi, common.command, caller, &refusal)?;
                    Ok(Outcome::refused(&refusal))
                }
                (OnRefusal::Return, None) => Ok(Outcome::refused(&refusal)),
                (OnRefusal::Raise, _) => Err(Report::from(&*refusal)),
            }
        }
    }
}

/// Runs a call of many commands and answers for each of them. A refusal of one command is an answer;
/// `on_refusal` says what becomes of one that concerns the whole call.
pub fn run_many(
    common: Common,
    count: usize,
    body: impl FnOnce(&Command<'_>, &Common) -> Result<Vec<Fate>, Failure>,
) -> Result<Vec<Outcome>, Report> {
    let spi = Spi::connect(false);
    let _owner = AsOwner::switch(installation::owner(&spi)?);
    let mut caller = None;
    let mut outcomes = Vec::with_capacity(count);
    let fingerprint = Fingerprint::new(common.command);
    let result = attempt(&spi, &common, fingerprint, &mut caller, |command| {
        for fate in body(command, &common)? {
            outcomes.push(match fate {
                Fate::Answered(outcome) | Fate::Withheld(outcome) => outcome,
                Fate::Refused(refusal) => {
                    keep_refusal(command, &refusal)?;
                    Outcome::refused(&refusal)
                }
            });
        }
        Ok(Outcome::default())
    });
    match result {
        Ok(_) => Ok(outcomes),
        Err(Failure::Error(report)) => Err(report),
        Err(Failure::Refused(refusal)) => {
            log_refusal(common.command, caller.as_ref(), &refusal);
            if common.on_refusal == OnRefusal::Raise {
                return Err(Report::from(&*refusal));
            }
            if let Some(caller) = &caller {
                store_refusal(&spi, common.command, caller, &refusal)?;
            }
            Ok(vec![Outcome::refused(&refusal); count])
        }
    }
}

fn attempt(
    spi: &Spi,
    common: &Common,
    fingerprint: Fingerprint,
    known_caller: &mut Option<Caller>,
    body: impl FnOnce(&Command<'_>) -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    spi.allow_direct(settings::direct());
    let caller = Caller::identify(spi, &common.claim)?;
    let shares = ["wf_define", "wf_activate", "wf_limit_set"].contains(&common.command);
    if caller.tenant == super::identity::SHARED_TENANT && !shares {
        return Err(Report::invalid("tenant * is for definitions and limits only").into());
    }
    let wait_ms = common.wait_ms.unwrap_or_else(settings::wait_ms);
    let budget = Budget::new(wait_ms, common.on_refusal == OnRefusal::Return);
    let mut command = Command {
        name: common.command,
        spi,
        caller,
        budget,
        request: None,
    };
    let result = (|| {
        if let Some(key) = &common.request_id {
            let fingerprint = seal(
                fingerprint,
                &common.claim,
                common.wait_ms,
                common.on_refusal,
            );
            let (request, replay) =
                request::open(spi, &command.caller, key, fingerprint, &command.budget)?;
            if let Some(outcome) = replay {
                return Ok(outcome);
            }
            command.request = Some(request);
        }
        let outcome = body(&command)?;
        if let Some(request) = &command.request {
            request.keep(spi, &command.caller, command.name, &outcome)?;
        }
        Ok(outcome)
    })();
    *known_caller = Some(command.caller);
    result
}

/// Adds the arguments that every command has to the fingerprint of its own.
pub fn seal(
    mut fingerprint: Fingerprint,
    claim: &Claim,
    wait_ms: Option<i32>,
    on_refusal: OnRefusal,
) -> Fingerprint {
    fingerprint.texts(claim.roles.as_deref());
    fingerprint.number(wait_ms.map(i64::from));
    fingerprint.number(Some((on_refusal == OnRefusal::Return).into()));
    fingerprint
}

/// Runs a command that answers with a set, in which each row has its own fate.
pub fn run_each<T>(
    common: Common,
    body: impl FnOnce(&Command<'_>) -> Result<Vec<T>, Failure>,
) -> Result<Vec<T>, Report> {
    let spi = Spi::connect(false);
    let _owner = AsOwner::switch(installation::owner(&spi)?);
    let mut caller = None;
    let mut rows = Vec::new();
    let result = attempt(
        &spi,
        &common,
        Fingerprint::new(common.command),
        &mut caller,
        |command| {
            rows = body(command)?;
            Ok(Outcome::default())
        },
    );
    match result {
        Ok(_) => Ok(rows),
        Err(Failure::Error(report)) => Err(report),
        Err(Failure::Refused(refusal)) => {
            log_refusal(common.command, caller.as_ref(), &refusal);
            Err(Report::from(&*refusal))
        }
    }
}

/// Keeps the refusal of a part of a command, as if it had been a command of its own.
pub fn keep_refusal(command: &Command<'_>, refusal: &Refusal) -> Result<(), Report> {
    log_refusal(command.name, Some(&command.caller), refusal);
    store_refusal(command.spi, command.name, &command.caller, refusal)
}

/// Runs a reader on behalf of its caller. Readers see the calling query's snapshot.
pub fn read<T>(
    claim: &Claim,
    body: impl FnOnce(&Spi, &Caller) -> Result<T, Failure>,
) -> Result<T, Report> {
    let spi = Spi::connect(true);
    let _owner = AsOwner::switch(installation::owner(&spi)?);
    let result = Caller::identify(&spi, claim).and_then(|caller| body(&spi, &caller));
    result.map_err(|failure| match failure {
        Failure::Error(report) => report,
        Failure::Refused(refusal) => Report::from(&*refusal),
    })
}

/// Verifies a token and reads on behalf of its person, who is the caller for the rest of the
/// transaction.
pub fn authenticate<T>(
    token: String,
    body: impl FnOnce(&Spi, &Caller) -> Result<T, Failure>,
) -> Result<T, Report> {
    let claim = Claim {
        token: Some(token),
        ..Claim::default()
    };
    read(&claim, |spi, caller| {
        if let Some(proven) = caller.token() {
            transaction::remember(proven.clone());
        }
        body(spi, caller)
    })
}

/// The same for what row-level security and views ask: a caller who is not proved is nobody.
pub fn read_of_known<T>(body: impl FnOnce(&Caller) -> T) -> Result<Option<T>, Report> {
    let spi = Spi::connect(true);
    let _owner = AsOwner::switch(installation::owner(&spi)?);
    match Caller::identify(&spi, &Claim::default()) {
        Ok(caller) => Ok(Some(body(&caller))),
        Err(Failure::Refused(_)) => Ok(None),
        Err(Failure::Error(report)) => Err(report),
    }
}

fn store_refusal(
    spi: &Spi,
    command: &str,
    caller: &Caller,
    refusal: &Refusal,
) -> Result<(), Report> {
    let entry = refusal.reason.entry();
    let detail = refusal.detail().to_string();
    let written = spi.insert(
        &statements::INSERT_REFUSAL,
        &[
            Value::Text(&caller.tenant),
            Value::Uuid(Uuid::now_v7()),
            Value::Time(Time::now()),
            Value::Text(command),
            Value::Text(entry.code.as_str()),
            Value::Text(entry.slug),
            Value::optional(refusal.instance_id, Value::Uuid),
            Value::optional(refusal.application_id, Value::Uuid),
            Value::optional(refusal.task_id, Value::Uuid),
            Value::Text(&caller.actor),
            Value::Json(&detail),
        ],
    );
    if !written && let Failure::Error(report) = trigger_interfered("a trigger kept a refusal out") {
        return Err(report);
    }
    Ok(())
}

/// One structured line: what DETAIL says, and who called; never material or comments.
fn log_refusal(command: &str, caller: Option<&Caller>, refusal: &Refusal) {
    if !settings::log_refusals() {
        return;
    }
    let mut line = Map::new();
    line.insert("command".into(), command.into());
    if let Some(caller) = caller {
        line.insert("tenant".into(), caller.tenant.as_str().into());
        line.insert("actor".into(), caller.actor.as_str().into());
    }
    if let serde_json::Value::Object(detail) = refusal.detail() {
        line.extend(detail);
    }
    report::log(&format!(
        "workflow refusal: {}",
        serde_json::Value::Object(line)
    ));
}

/// A name that a caller gives to something of its own.
pub fn checked(name: &str, value: String) -> Result<String, Report> {
    check_name(name, &value)?;
    Ok(value)
}

/// The name of a state or event as a caller gives it: whether there is one is for the definition to
/// say, but none is longer than this.
pub fn bounded(name: &str, value: String) -> Result<String, Report> {
    if value.len() > 200 {
        return Err(Report::invalid(format!(
            "{name} must not be longer than 200 bytes"
        )));
    }
    Ok(value)
}
