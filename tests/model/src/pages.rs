//! What `wf_get` shows.

use serde_json::{Value, json};

use crate::check::{Checker, Wrong};
use crate::command::{Action, Send};
use crate::instance::scenes;
use crate::machine::Guard;
use crate::oracle::{self, Node, Verdict};
use crate::record::Page;
use crate::task::Task;
use crate::view::Sight;

pub fn check(checker: &Checker<'_, '_>, page: &Page) -> Result<(), Wrong> {
    let id = page.instance_id;
    let sight = checker
        .sight(id)
        .ok_or("a page of an instance that cannot be there")?;
    let (view, record) = (&*checker.view, checker.record);
    let application = view.application(record, checker.tenant(), &page.business_key);
    let asked = match &checker.command().action {
        Action::Get { instance } => *instance == id,
        Action::Find {
            definition,
            business_key,
        } => page.definition == *definition && page.business_key == *business_key,
        _ => false,
    };
    let right = asked
        && application == Some(page.application_id)
        && sight.application == page.application_id
        && page.definition == sight.machine.name
        && page.version == sight.machine.version;
    if !right {
        return Err("the page is about something else".to_owned());
    }
    let shown = |node: &&Node| {
        page.state == node.state
            && page.revision == node.revision
            && page.material_version == node.material
    };
    let nodes = &sight.nodes;
    let content = view.content(record, sight.application, page.material_version);
    if page.material.as_ref() != content {
        return Err(format!("the page shows another material than {content:?}"));
    }
    let mut found = Err(format!("the page shows none of the visible {nodes:?}"));
    // States of one revision differ in who holds what.
    for node in nodes.iter().filter(shown) {
        found = tasks(page, node).and_then(|()| actions(checker, page, &sight, node));
        if found.is_ok() {
            break;
        }
    }
    found
}

fn tasks(page: &Page, node: &Node) -> Result<(), Wrong> {
    let shown = page.open_tasks.as_ref().and_then(Value::as_array);
    let shown = shown.ok_or("open_tasks is no list")?;
    let mut open: Vec<&Task> = node.open_tasks().map(|(_, task)| task).collect();
    open.sort_by_key(|task| task.seat.name);
    let same = |(task, shown): (&&Task, &Value)| {
        shown["seat"] == task.seat.name
            && shown["roles"] == json!(task.seat.roles)
            && shown["veto"] == task.seat.veto
            && shown["holder"].as_str() == task.holder
            && shown["delegated_by"].as_str() == task.delegated_by
            && shown["opened_revision"] == task.opened
            && task.id.is_none_or(|id| shown["task_id"] == id.to_string())
    };
    if open.len() == shown.len() && open.iter().zip(shown).all(same) {
        Ok(())
    } else {
        Err(format!("open tasks {shown:?}, the model has {open:?}"))
    }
}

/// Each event of the state is offered to those who could send it now. What would be sent along is
/// not known yet, so a guard over it is no obstacle.
fn actions(
    checker: &Checker<'_, '_>,
    page: &Page,
    sight: &Sight<'_>,
    node: &Node,
) -> Result<(), Wrong> {
    let shown = page.actions.as_ref().and_then(Value::as_array);
    let shown = shown.ok_or("actions is no list")?;
    let state = sight.machine.state(node.state).expect("one of the machine");
    let mut events: Vec<&str> = state.on.iter().map(|edge| edge.event).collect();
    events.sort_unstable();
    events.dedup();
    if events.len() != shown.len() {
        return Err(format!("{} actions, the model has {events:?}", shown.len()));
    }
    let material = page.material.as_ref().expect("compared before");
    let view = &checker.view;
    let authors = view.authors(checker.record, sight.application, node.material);
    let scenes = scenes(sight.machine, checker.command(), material, &authors);
    for event in events {
        let sent = Send {
            instance: page.instance_id,
            event: event.to_owned(),
            payload: None,
            revision: Some(node.revision),
            material: Some(node.material),
            lock_mode: None,
            wait_ms: None,
        };
        let verdicts: Vec<Verdict> = scenes
            .iter()
            .map(|scene| oracle::send(scene, node, &sent).remove(0))
            .collect();
        let target = |verdict: &Verdict| match verdict {
            Verdict::Applied(effect) => Some(effect.steps[0].to),
            Verdict::Refused("WF011") => state
                .on
                .iter()
                .find(|edge| edge.event == event && edge.guard == Some(Guard::PayloadOk))
                .map(|edge| edge.target),
            _ => None,
        };
        let offered = shown.iter().find(|action| action["event"] == event);
        let right = offered.is_some_and(|action| {
            verdicts.iter().map(target).any(|target| {
                action["allowed"] == target.is_some()
                    && action["blocker"].is_null() == target.is_some()
                    && target.is_none_or(|target| action["to_state"] == target)
            })
        });
        if !right {
            return Err(format!(
                "the action {event} is wrong: the model says {verdicts:?}"
            ));
        }
    }
    Ok(())
}

/// WF005 for a business key: no instance of the definition over it must have been there.
pub fn absent(
    checker: &Checker<'_, '_>,
    definition: &str,
    business_key: &str,
) -> Result<(), Wrong> {
    let (view, record) = (&*checker.view, checker.record);
    let Some(id) = view.application(record, checker.tenant(), business_key) else {
        return Ok(());
    };
    let instances = view.instances_of(record, id);
    let certain = |sight: &Sight<'_>| sight.machine.name == definition && !sight.maybe_absent;
    if instances.iter().any(|(_, sight)| certain(sight)) {
        return Err("WF005 for what must be there".to_owned());
    }
    Ok(())
}
