//! What `wf_get` shows.

use serde_json::Value;

use crate::check::{Checker, Wrong};
use crate::command::{Action, Send};
use crate::machine::Guard;
use crate::oracle::{self, Node, Scene, Verdict};
use crate::record::Page;
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
    let node = nodes.iter().find(shown);
    let node = node.ok_or_else(|| format!("the page shows none of the visible {nodes:?}"))?;
    let content = view.content(record, sight.application, node.material);
    if page.material.as_ref() != content {
        return Err(format!("the page shows another material than {content:?}"));
    }
    tasks(checker, page, &sight, node)?;
    actions(checker, page, &sight, node)
}

fn tasks(
    checker: &Checker<'_, '_>,
    page: &Page,
    sight: &Sight<'_>,
    node: &Node,
) -> Result<(), Wrong> {
    let open = page.open_tasks.as_ref().and_then(Value::as_array);
    let open = open.ok_or("open_tasks is no list")?;
    let seat = sight.machine.state(node.state).and_then(|state| state.seat);
    let seats: Vec<&str> = seat.iter().map(|seat| seat.name).collect();
    let shown: Vec<&str> = open
        .iter()
        .filter_map(|task| task["seat"].as_str())
        .collect();
    if seats != shown {
        return Err(format!("open tasks {shown:?}, the model has {seats:?}"));
    }
    let known = checker.view.model.instances.get(&page.instance_id);
    let known = known.filter(|_| !sight.own);
    if let Some(task) = known.and_then(|instance| instance.open_task(node.revision))
        && let Some(id) = task.id
        && open[0]["task_id"] != id.to_string()
    {
        return Err(format!("the open task is not {id}"));
    }
    Ok(())
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
    let scene = Scene {
        machine: sight.machine,
        material,
        payload: None,
        roles: checker.command().identity.roles,
    };
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
        let verdict = oracle::send(&scene, node, &sent).remove(0);
        let target = match &verdict {
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
            action["allowed"] == target.is_some()
                && action["blocker"].is_null() == target.is_some()
                && target.is_none_or(|target| action["to_state"] == target)
        });
        if !right {
            return Err(format!(
                "the action {event} is wrong: the model says {verdict:?}"
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
