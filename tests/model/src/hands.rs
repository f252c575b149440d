//! The oracle for the commands by which a task changes hands.

use crate::command::{Hand, Verb};
use crate::oracle::{Effect, Node, Scene, Verdict, barred, holds_one};
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
        Ok(Some(held)) => {
            // Who hands on what was delegated to them acts for the delegator.
            let mine = task.holder == Some(scene.actor);
            let on_behalf_of = task.delegated_by.filter(|_| mine);
            let mut after = node.clone();
            after.work += 1;
            let task = &mut after.tasks[place];
            task.holder = held.holder;
            task.delegated_by = held.delegated_by;
            task.claimed = held.claimed;
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
                on_behalf_of,
                to: command.to.or(held.holder),
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

/// Who holds a task, for whom, and whether it began with a claim.
struct Holding {
    holder: Option<&'static str>,
    delegated_by: Option<&'static str>,
    claimed: bool,
}

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
    let held = |holder, delegated_by, claimed| {
        Ok(Some(Holding {
            holder,
            delegated_by,
            claimed,
        }))
    };
    match command.verb {
        // What others gave to the holder does not run out.
        Verb::Claim if mine && (command.lease_ms.is_none() || task.entrusted_to(actor)) => Ok(None),
        Verb::Claim if mine => held(Some(actor), None, true),
        Verb::Claim if of_another => Err("WF016"),
        Verb::Claim => {
            entitled(scene, node, task)?;
            held(Some(actor), None, true)
        }
        Verb::Release if mine => held(task.delegated_by, None, task.claimed),
        Verb::Release if of_another => Err("WF007"),
        Verb::Release => Ok(None),
        Verb::Assign => held(command.to, None, false),
        Verb::Delegate | Verb::Transfer if of_another => Err("WF007"),
        Verb::Delegate | Verb::Transfer => {
            let panel = node.panel(scene.machine);
            if !mine {
                entitled(scene, node, task)?;
            } else if panel.is_some_and(|panel| barred(scene, node, panel, task.delegated_by)) {
                return Err("WF007");
            }
            if command.verb == Verb::Transfer {
                return held(command.to, None, false);
            }
            let principal = task.delegated_by.unwrap_or(actor);
            let acts = command.to != Some(principal);
            held(command.to, acts.then_some(principal), task.claimed || !mine)
        }
    }
}

/// Who could decide it, were it free.
fn entitled(scene: &Scene<'_>, node: &Node, task: &Task) -> Result<(), &'static str> {
    let panel = node.panel(scene.machine);
    if panel.is_some_and(|panel| barred(scene, node, panel, None))
        || !holds_one(scene.roles, task.seat.roles)
    {
        Err("WF007")
    } else {
        Ok(())
    }
}
