//! `wf_define`, `wf_validate`, `wf_export`: definitions in and out.

use uuid::Uuid;
use workflow_core::definition::{self, Definition, Draw, Finding, Severity, State};
use workflow_core::refusal::{Reason, Refusal};

use crate::api::transition::check_version;
use crate::engine::command::{self, Command, Common, OnRefusal, checked, read_claim};
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::limits::{self, Limit};
use crate::engine::request::Fingerprint;
use crate::pg::call::Call;
use crate::pg::entry::{Answer, Cell};
use crate::pg::guard;
use crate::pg::report::Report;
use crate::pg::value::{Jsonb, Time, Value};
use crate::pg::wait::{KeyLock, LockKind};
use crate::store::{definitions, statements};

/// `wf_define`
pub fn define(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_define");
    let spec = call.jsonb("spec").required()?;
    let activate = call.bool("activate").required()?;
    let common = Common::read("wf_define", call, None, None)?;
    if common.on_refusal == OnRefusal::Return {
        return Err(Report::invalid("wf_define has no outcome to return")
            .hint("wf_validate(spec) lists what is wrong with a spec, as rows."));
    }
    let mut published = None;
    command::run(common, Fingerprint::new("wf_define"), |command| {
        published = Some(publish(command, &spec, activate)?);
        Ok(Default::default())
    })?;
    let (name, version) = published.expect("published, or refused");
    Ok(Answer::Row(vec![Cell::Text(name), Cell::Int(version)]))
}

fn publish(command: &Command<'_>, spec: &Jsonb, activate: bool) -> Result<(String, i32), Failure> {
    let (machine, findings) = examine(spec)?;
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let errors: Vec<&Finding> = errors.collect();
    if let Some(first) = errors.first() {
        let message = format!("{}: {}", pointer(&first.path), first.message);
        let list: Vec<serde_json::Value> = errors
            .iter()
            .map(|f| serde_json::json!({"path": f.path, "message": f.message}))
            .collect();
        return Err(Refusal::new(Reason::InvalidDefinition, message)
            .with("path", first.path.clone())
            .with("findings", list)
            .into());
    }
    let machine = machine.expect("without an error there is a machine");
    check_limits(command, &machine)?;
    let name = machine.name;
    // Two versions of one name are numbered one after the other.
    KeyLock::new(LockKind::Definition, &command.caller.tenant, &name).take(&command.budget)?;
    let key = [command.tenant(), Value::Text(&name), Value::Jsonb(spec)];
    if let Some(row) = command.spi.one(&statements::SAME_DEFINITION, &key) {
        return Ok((name, row.int(0)?));
    }
    if activate {
        deactivate(command, &name)?;
    }
    let row = command.spi.one(
        &statements::INSERT_DEFINITION,
        &[
            command.tenant(),
            Value::Uuid(Uuid::now_v7()),
            Value::Text(&name),
            Value::Jsonb(spec),
            Value::Bool(activate),
            Value::Time(Time::now()),
            Value::Text(&command.caller.actor),
        ],
    );
    let row = row.ok_or_else(|| trigger_interfered("a trigger kept a definition out"))?;
    Ok((name, row.int(0)?))
}

/// `wf_activate`
pub fn activate(call: &Call) -> Result<Answer, Report> {
    Common::begin("wf_activate");
    let name = checked("definition", call.text("definition")?.required()?)?;
    let version = check_version("version", call.int("version").required()?)?;
    let common = Common::read("wf_activate", call, None, None)?;
    if common.on_refusal == OnRefusal::Return {
        return Err(Report::invalid("wf_activate has no outcome to return"));
    }
    command::run(common, Fingerprint::new("wf_activate"), |command| {
        KeyLock::new(LockKind::Definition, &command.caller.tenant, &name).take(&command.budget)?;
        let version = Value::Int(version);
        let key = [command.tenant(), Value::Text(&name), version];
        let row = command.spi.one(&statements::OWN_DEFINITION, &key);
        let row = row.ok_or_else(|| Refusal::not_found("definition"))?;
        if !row.bool(0)? {
            deactivate(command, &name)?;
            let activated = command.spi.run(&statements::ACTIVATE_DEFINITION, &key);
            if activated.count() != 1 {
                return Err(trigger_interfered("a trigger kept a definition inactive"));
            }
        }
        Ok(Default::default())
    })?;
    Ok(Answer::Row(vec![Cell::Text(name), Cell::Int(version)]))
}

/// Takes the name's active version, if it has one, out of use for new instances.
fn deactivate(command: &Command<'_>, name: &str) -> Result<(), Failure> {
    let key = [command.tenant(), Value::Text(name)];
    let active = command.spi.one(&statements::COUNT_ACTIVE, &key);
    let active = active.map(|row| row.bigint(0)).transpose()?.unwrap_or(0);
    let deactivated = command.spi.run(&statements::DEACTIVATE_DEFINITION, &key);
    if deactivated.count() != active as u64 {
        return Err(trigger_interfered("a trigger kept a definition active"));
    }
    Ok(())
}

/// WF019 if a state has more seats or timers than the tenant may have.
fn check_limits(command: &Command<'_>, machine: &Definition) -> Result<(), Failure> {
    let most = |count: fn(&State) -> usize| machine.states.iter().map(count).max().unwrap_or(0);
    let seats = most(|state| state.task.as_ref().map_or(0, |task| task.seats.len()));
    let (spi, tenant) = (command.spi, &command.caller.tenant);
    limits::check(spi, tenant, Limit::Seats, seats)?;
    limits::check(spi, tenant, Limit::Timers, most(|state| state.after.len()))
}

/// Everything there is to say about a spec, guards included, and its machine if it has one.
fn examine(spec: &Jsonb) -> Result<(Option<Definition>, Vec<Finding>), Report> {
    let spec = match serde_json::from_str(&spec.to_json()?) {
        Ok(spec) => spec,
        Err(error) => {
            let message = format!("the document cannot be read: {error}");
            let finding = Finding {
                severity: Severity::Error,
                path: String::new(),
                message,
            };
            return Ok((None, vec![finding]));
        }
    };
    let (machine, mut findings) = definition::parse(&spec);
    let Some(machine) = machine else {
        return Ok((None, findings));
    };
    for state in &machine.states {
        for edge in state.edges.iter().chain(&state.always) {
            let guard = edge.guard.as_ref();
            let guard = guard.map(|guard| (guard, format!("{}/guard", edge.path)));
            for (path, place) in guard
                .into_iter()
                .chain(edge.draws.iter().flat_map(Draw::paths))
            {
                if let Err(message) = guard::check(path) {
                    findings.push(Finding {
                        severity: Severity::Error,
                        path: place,
                        message,
                    });
                }
            }
        }
    }
    Ok((Some(machine), findings))
}

/// A JSON pointer for people: the whole document has the empty one.
fn pointer(path: &str) -> &str {
    if path.is_empty() {
        "the definition"
    } else {
        path
    }
}

/// `wf_validate`
pub fn validate(call: &Call) -> Result<Answer, Report> {
    let spec = call.jsonb("spec").required()?;
    let claim = read_claim(call)?;
    let findings = command::read(&claim, |_, _| Ok(examine(&spec)?.1))?;
    let rows = findings.into_iter().map(|finding| {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        vec![
            Cell::Text(severity.into()),
            Cell::Text(finding.path),
            Cell::Text(finding.message),
        ]
    });
    Ok(Answer::Rows(rows.collect()))
}

/// `wf_export`
pub fn export(call: &Call) -> Result<Answer, Report> {
    let name = checked("definition", call.text("definition")?.required()?)?;
    let version = call.int("version").optional();
    let claim = read_claim(call)?;
    let spec = command::read(&claim, |spi, caller| {
        definitions::find_spec(spi, &caller.tenant, &name, version)?
            .ok_or_else(|| Refusal::not_found("definition").into())
    })?;
    Ok(Answer::Scalar(Cell::Jsonb(spec)))
}
