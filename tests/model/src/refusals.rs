//! Refusals: do the parts agree with each other, and did the model allow to say so?

use serde_json::{Value, json};
use uuid::Uuid;

use crate::applications;
use crate::check::{Checker, Wrong};
use crate::command::{Action, Command, OnRefusal};
use crate::oracle::{Node, Verdict};
use crate::over;
use crate::record::{Fault, Outcome};
use crate::view::Sight;

/// The catalogue, as far as these commands can meet it: code, reason, HTTP status.
const CATALOGUE: [(&str, &str, i64); 15] = [
    ("WF001", "stale_revision", 409),
    ("WF002", "stale_material", 409),
    ("WF003", "wrong_state", 409),
    ("WF004", "no_such_transition", 422),
    ("WF005", "not_found", 404),
    ("WF006", "task_not_open", 409),
    ("WF007", "not_authorized", 403),
    ("WF008", "request_mismatch", 422),
    ("WF010", "already_voted", 409),
    ("WF011", "guard_refused", 422),
    ("WF013", "closed", 409),
    ("WF015", "votes_required", 409),
    ("WF016", "already_claimed", 409),
    ("WF018", "already_running", 409),
    ("WF020", "material_frozen", 409),
];
const BUSY: (&str, &str, i64) = ("55P03", "busy", 503);

/// A refusal, in whichever form it came.
pub struct Refusal {
    pub code: String,
    pub detail: Value,
}

/// A refusal as an error. `None`: the error is none of the catalogue's.
pub fn raised(command: &Command, fault: &Fault) -> Result<Option<Refusal>, Wrong> {
    let ours = fault.code.starts_with("WF") || fault.code == BUSY.0;
    if !ours {
        return Ok(None);
    }
    if command.on_refusal == OnRefusal::Return && !command.is_reader() {
        return Err("raised, though on_refusal is 'return'".to_owned());
    }
    let (_, reason, _) = entry(&fault.code)?;
    if fault.constraint.as_deref() != Some(reason) {
        return Err(format!("the constraint is not {reason}"));
    }
    if !fault.message.starts_with(&format!("{reason}: ")) {
        return Err(format!("the message does not begin with {reason}"));
    }
    if fault.hint.as_ref().is_none_or(String::is_empty) {
        return Err("a refusal without a hint".to_owned());
    }
    let detail = fault.detail.as_deref().unwrap_or_default();
    if detail.contains('\n') {
        return Err("DETAIL is more than a line".to_owned());
    }
    let detail = serde_json::from_str(detail)
        .map_err(|error| format!("DETAIL is no JSON ({error}): {detail}"))?;
    Ok(Some(Refusal {
        code: fault.code.clone(),
        detail,
    }))
}

/// A refusal as an outcome.
pub fn returned(command: &Command, outcome: &Outcome) -> Result<Refusal, Wrong> {
    let raises = command.on_refusal == OnRefusal::Raise && !command.as_try;
    if raises && command.many.is_none() && !command.is_reader() {
        return Err("returned, though on_refusal is 'raise'".to_owned());
    }
    let code = outcome.code.clone().ok_or("refused without a code")?;
    let (_, reason, _) = entry(&code)?;
    if outcome.reason.as_deref() != Some(reason) {
        return Err(format!("the reason is not {reason}"));
    }
    if outcome.retryable != (code == BUSY.0) {
        return Err("retryable is wrong".to_owned());
    }
    let detail = outcome.detail.clone().ok_or("refused without a detail")?;
    let actual = &detail["actual"];
    let shown = outcome.state.as_deref() == actual["state"].as_str()
        && outcome.revision == actual["revision"].as_i64();
    let id = |key: &str| detail[key].as_str().and_then(|id| id.parse::<Uuid>().ok());
    let outcome_of_superseded = matches!(command.action, Action::Supersede { .. });
    let subject = outcome_of_superseded || shown && outcome.instance_id == id("instance_id");
    if !subject || outcome.application_id != id("application_id") {
        return Err("the columns differ from the detail".to_owned());
    }
    let material = actual["material_version"].as_i64();
    if outcome.material_version.map(i64::from) != material {
        return Err("material_version differs from the detail".to_owned());
    }
    let opened = outcome.task_ids.as_ref().is_some_and(|ids| !ids.is_empty());
    if opened || outcome.replayed {
        return Err("refused, and yet tasks were opened or it is a replay".to_owned());
    }
    Ok(Refusal { code, detail })
}

fn entry(code: &str) -> Result<(&'static str, &'static str, i64), Wrong> {
    let mut catalogue = CATALOGUE.iter().chain([&BUSY]);
    let entry = catalogue.find(|(known, _, _)| *known == code);
    entry
        .copied()
        .ok_or_else(|| format!("no command of this run can be refused with {code}"))
}

pub fn check(checker: &Checker<'_, '_>, refusal: &Refusal) -> Result<(), Wrong> {
    let (code, reason, status) = entry(&refusal.code)?;
    let detail = &refusal.detail;
    let coherent = detail["code"] == code
        && detail["reason"] == reason
        && detail["http_status"] == status
        && detail["retryable"] == (code == BUSY.0);
    if !coherent {
        return Err(format!(
            "the detail does not say {code} {reason} {status}: {detail}"
        ));
    }
    match code {
        "55P03" => return crate::faults::busy(checker, detail),
        "WF008" => return mismatch(checker),
        _ => checker.key_is_free()?,
    }
    match &checker.command().action {
        Action::Start(start) => applications::start_refused(checker, start, refusal),
        Action::Supersede {
            application,
            expected,
            ..
        } => applications::supersede_refused(checker, *application, *expected, refusal),
        Action::Find {
            definition,
            business_key,
        } => crate::pages::absent(checker, definition, business_key),
        _ => instance_refused(checker, refusal),
    }
}

fn mismatch(checker: &Checker<'_, '_>) -> Result<(), Wrong> {
    let command = checker.command();
    let key = command.request.as_ref().ok_or("WF008 without a key")?;
    let owner = checker.view.request(checker.record, checker.tenant(), key);
    let (owner, _) = owner.ok_or("WF008 for a key that nobody can have used")?;
    if checker.view.round.command(owner).is_same(command) {
        return Err(format!("WF008 for the very command of {owner:?}"));
    }
    Ok(())
}

/// A command about one instance.
fn instance_refused(checker: &Checker<'_, '_>, refusal: &Refusal) -> Result<(), Wrong> {
    let id = checker.view.round.instance(checker.command());
    let sight = id.and_then(|id| checker.sight(id));
    let said =
        |verdict: &Verdict| matches!(verdict, Verdict::Refused(code) if *code == refusal.code);
    if refusal.code == "WF005" {
        return match sight {
            Some(sight)
                if !sight.maybe_absent
                    && !sight
                        .nodes
                        .iter()
                        .any(|node| checker.verdicts(&sight, node).iter().any(said)) =>
            {
                Err("WF005 for what must be there".to_owned())
            }
            _ if refusal.detail.get("actual").is_some() => {
                Err("WF005 shows what it must not know".to_owned())
            }
            _ => Ok(()),
        };
    }
    let id = id.ok_or("refused about a task of nobody")?;
    let sight = sight.ok_or("refused about an instance that cannot be there")?;
    about(&refusal.detail, id, sight.application)?;
    let nodes = seen(&sight, &refusal.detail)?;
    let says = |node: &&Node| checker.verdicts(&sight, node).iter().any(said);
    let mut found = Err(String::new());
    for node in nodes.iter().filter(|node| says(node)) {
        found = over::ended(checker, refusal, node);
        if found.is_ok() {
            break;
        }
    }
    if found.is_err() && !over::torn(checker, &sight, refusal, nodes[0]) {
        let says: Vec<_> = nodes
            .iter()
            .map(|node| (node, checker.verdicts(&sight, node)))
            .collect();
        return found.map_err(|what| format!("refused, where the model says {says:?} {what}"));
    }
    let node = nodes[0];
    expectations(checker, &refusal.detail, node)?;
    not_too_old(checker, refusal, &sight, id, node)?;
    winner(checker, refusal, id, node)
}

pub fn about(detail: &Value, instance: Uuid, application: Uuid) -> Result<(), Wrong> {
    let same = detail["instance_id"] == instance.to_string()
        && detail["application_id"] == application.to_string();
    if same {
        Ok(())
    } else {
        Err("the detail is about another instance or application".to_owned())
    }
}

/// The visible states that the detail may show as the actual one: they differ in their work.
pub fn seen<'s>(sight: &'s Sight<'_>, detail: &Value) -> Result<Vec<&'s Node>, Wrong> {
    let actual = &detail["actual"];
    let shown = |node: &&Node| {
        actual["state"] == node.state
            && actual["revision"] == node.revision
            && actual["material_version"] == node.material
    };
    let found: Vec<&Node> = sight.nodes.iter().filter(shown).collect();
    if found.is_empty() {
        let nodes = &sight.nodes;
        return Err(format!(
            "the detail shows {actual}, which was not visible; visible were {nodes:?}"
        ));
    }
    Ok(found)
}

fn expectations(checker: &Checker<'_, '_>, detail: &Value, node: &Node) -> Result<(), Wrong> {
    let (expected, target) = match &checker.command().action {
        Action::Transition(command) | Action::Check(command) => (
            json!({"state": command.from, "revision": command.revision,
                   "material_version": command.material}),
            Some(&command.to),
        ),
        Action::Send(command) => {
            let mut expected = serde_json::Map::new();
            if let Some(revision) = command.revision {
                expected.insert("revision".to_owned(), json!(revision));
            }
            if let Some(material) = command.material {
                expected.insert("material_version".to_owned(), json!(material));
            }
            (Value::Object(expected), None)
        }
        Action::Decide(command) => (
            json!({"revision": command.revision, "material_version": command.material}),
            None,
        ),
        Action::Reseat(command) => (json!({"revision": command.revision}), None),
        _ => return Ok(()),
    };
    let none = json!({});
    if detail.get("expected").unwrap_or(&none) != &expected {
        return Err(format!(
            "the detail does not show what was expected: {expected}"
        ));
    }
    if let Some(target) = target
        && detail["already_in_target"] != (target == node.state)
    {
        return Err("already_in_target is wrong".to_owned());
    }
    Ok(())
}

/// With a kept snapshot, a revision or material from after it must lead to 40001 and not to a false
/// refusal. A reader locks nothing, and so it cannot know better.
fn not_too_old(
    checker: &Checker<'_, '_>,
    refusal: &Refusal,
    sight: &Sight<'_>,
    id: Uuid,
    node: &Node,
) -> Result<(), Wrong> {
    let isolation = checker.view.round.transaction(checker.at).isolation;
    if checker.command().is_reader() || !isolation.keeps_snapshot() || sight.own {
        return Ok(());
    }
    let expected = &refusal.detail["expected"];
    let ahead = match refusal.code.as_str() {
        "WF001" => expected["revision"].as_i64() > Some(node.revision),
        "WF002" => expected["material_version"].as_i64() > Some(i64::from(node.material)),
        _ => false,
    };
    let placed = &checker.view.model.instances[&id].placed;
    let mut later = placed
        .iter()
        .filter(|next| next.node.revision > node.revision);
    let known = later.find(|next| checker.view.certain(next.made, checker.record.span));
    match known {
        Some(next) if ahead => Err(format!(
            "refused from an old snapshot; {:?} had been committed before the call",
            next.node
        )),
        _ => Ok(()),
    }
}

fn winner(
    checker: &Checker<'_, '_>,
    refusal: &Refusal,
    id: Uuid,
    node: &Node,
) -> Result<(), Wrong> {
    let detail = &refusal.detail;
    let (revision, event, to, material) = match &checker.command().action {
        Action::Transition(command) | Action::Check(command) => (
            Some(command.revision),
            named_event(checker, id, command),
            Some(command.to.as_str()),
            Some(command.material),
        ),
        Action::Send(command) => {
            let event = Some(command.event.clone());
            (command.revision, event, None, command.material)
        }
        Action::Decide(command) => (
            Some(command.revision),
            Some(command.event.clone()),
            None,
            Some(command.material),
        ),
        Action::Reseat(command) => (Some(command.revision), None, None, None),
        _ => (None, None, None, None),
    };
    let behind = revision.filter(|revision| *revision < node.revision);
    let Some(shown) = detail.get("winner").filter(|winner| !winner.is_null()) else {
        return match behind {
            Some(_) if refusal.code == "WF001" => Err("WF001 does not say who won".to_owned()),
            _ => Ok(()),
        };
    };
    let revision = behind.ok_or("a winner, though nobody was faster")? + 1;
    let actor = checker.command().identity.actor;
    let found = checker.view.won(checker.record, id, revision);
    let right = found.iter().any(|won| {
        let same = won.actor == actor
            && won.step.event.is_some()
            && won.step.event == event.as_deref()
            && to.is_none_or(|to| to == won.step.to)
            && material == Some(won.step.material);
        shown["revision"] == won.step.revision
            && shown["event"].as_str() == won.step.event
            && shown["to_state"] == won.step.to
            && shown["actor"] == won.actor
            && shown["same_command"] == same
    });
    if right {
        Ok(())
    } else {
        let steps: Vec<_> = found.iter().map(|won| (&won.step, won.actor)).collect();
        Err(format!("the winner is wrong; the model knows {steps:?}"))
    }
}

/// The event a transition means: the one it names, or the only one between its states.
fn named_event(
    checker: &Checker<'_, '_>,
    id: Uuid,
    command: &crate::command::Transition,
) -> Option<String> {
    let sight = checker.sight(id)?;
    let state = sight.machine.state(&command.from)?;
    let mut events = state
        .on
        .iter()
        .filter(|edge| edge.target == command.to)
        .map(|edge| edge.event);
    match &command.event {
        Some(event) => events.any(|known| known == event).then(|| event.clone()),
        None => events.next().map(str::to_owned),
    }
}
