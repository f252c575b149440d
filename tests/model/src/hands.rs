//! The oracle for the commands by which a task changes hands.

use crate::command::{Hand, Verb};
use crate::oracle::{Effect, Node, Scene, Verdict, holds_one, submits};
use crate::task::{Entry, Task};

pub fn hand(scene: &Scene<'_>, node: &Node, command: &Hand) -> Verdict {
    let Some(place) = node.task(command.task) else {
        return Verdict::Refused("WF005");
    };
    let task = &node.tasks[place];
    if !task.is_open() {
        return Verdict::Refused("WF006");
    }
    match holding(scene, node, task, command) {
        Err(code) => Verdict::Refused(code),
        Ok(None) => Verdict::Applied(effect(node.clone())),
        Ok(Some((holder, delegated_by))) => {
            let mut after = node.clone();
            after.work += 1;
            let task = &mut after.tasks[place];
            task.holder = holder;
            task.delegated_by = delegated_by;
            task.leased = command.lease_ms.is_some();
            let mut effect = effect(after);
            effect.entry = Some(Entry {
                verb: command.verb.word(),
                task: place,
                revision: node.revision,
                round: node.round,
                material: node.material,
                event: None,
                in_favour: None,
                on_behalf_of: delegated_by,
                to: command.to.or(holder),
            });
            Verdict::Applied(effect)
        }
    }
}

fn effect(node: Node) -> Effect {
    Effect {
        node,
        steps: Vec::new(),
        event: None,
        opened: Vec::new(),
        task: None,
        entry: None,
        count: None,
    }
}

/// The holder and whom they act for.
type Holding = (Option<&'static str>, Option<&'static str>);

/// Who holds it afterwards; `None` leaves everything as it is.
fn holding(
    scene: &Scene<'_>,
    node: &Node,
    task: &Task,
    command: &Hand,
) -> Result<Option<Holding>, &'static str> {
    let actor = scene.actor;
    let mine = task.holder == Some(actor);
    let of_another = task.holder.is_some() && !mine;
    match command.verb {
        Verb::Claim if mine => Ok(command.lease_ms.map(|_| (Some(actor), task.delegated_by))),
        Verb::Claim if of_another => Err("WF016"),
        Verb::Claim => entitled(scene, node, task).map(|()| Some((Some(actor), None))),
        Verb::Release if mine => Ok(Some((task.delegated_by, None))),
        Verb::Release if of_another => Err("WF007"),
        Verb::Release => Ok(None),
        Verb::Assign => Ok(Some((command.to, None))),
        Verb::Delegate | Verb::Transfer if of_another => Err("WF007"),
        Verb::Delegate | Verb::Transfer => {
            if !mine {
                entitled(scene, node, task)?;
            }
            let principal = task.delegated_by.unwrap_or(actor);
            let acts = command.verb == Verb::Delegate && command.to != Some(principal);
            Ok(Some((command.to, acts.then_some(principal))))
        }
    }
}

/// Who could decide it, were it free.
fn entitled(scene: &Scene<'_>, node: &Node, task: &Task) -> Result<(), &'static str> {
    let panel = node.panel(scene.machine);
    let barred = panel.is_some_and(|panel| !panel.self_approval) && submits(scene, node);
    if barred || !holds_one(scene.roles, task.seat.roles) {
        Err("WF007")
    } else {
        Ok(())
    }
}
