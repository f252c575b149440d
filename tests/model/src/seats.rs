//! The oracle for the commands that change who must speak, or take the question back.

use crate::command::{Change, Reseat};
use crate::oracle::{Node, Scene, Verdict, choose, outdated, submits};
use crate::path::Path;
use crate::task::Ended;

pub fn reseat(scene: &Scene<'_>, node: &Node, command: &Reseat) -> Verdict {
    if command.revision < 1 {
        return Verdict::Invalid;
    }
    if command.change == Change::Withdraw && !submits(scene, node, scene.actor) {
        return Verdict::Refused("WF007");
    }
    if let Some(code) = outdated(node, Some(command.revision), None) {
        return Verdict::Refused(code);
    }
    match &command.change {
        Change::Withdraw => withdraw(scene, node),
        _ if node.panel(scene.machine).is_none() => Verdict::Refused("WF003"),
        Change::Add(seat) => {
            if node.present().any(|(_, task)| task.seat.name == seat.name) {
                return Verdict::Invalid;
            }
            let mut path = Path::new(scene, node.clone());
            path.step("seat", Some(node.state), node.state, None);
            let opened = path.node.open(*seat);
            path.task = Some((opened, None));
            path.finish(vec![opened])
        }
        Change::Remove(name) => remove(scene, node, name),
    }
}

fn withdraw(scene: &Scene<'_>, node: &Node) -> Verdict {
    let judged = node.judged == node.material;
    if judged || node.present().any(|(_, task)| !task.is_open()) {
        return Verdict::Refused("WF010");
    }
    let mut before = node.clone();
    before.close_open("CANCELLED", node.revision + 1);
    let mut path = Path::new(scene, before);
    path.step("cancel", Some(node.state), node.state, None);
    path.node.closed = true;
    path.finish(Vec::new())
}

fn remove(scene: &Scene<'_>, node: &Node, name: &str) -> Verdict {
    let found = node.present().find(|(_, task)| task.seat.name == name);
    let Some((place, task)) = found else {
        return Verdict::Refused("WF005");
    };
    if !task.is_open() {
        return Verdict::Refused("WF010");
    }
    let panel = node.panel(scene.machine).expect("asked before");
    let said = node.said(None, Some(place));
    if said.is_empty() || panel.needed(said.len()) > said.len() {
        return Verdict::Invalid;
    }
    let mut before = node.clone();
    before.tasks[place].ended = Some(Ended {
        status: "CANCELLED",
        revision: node.revision + 1,
        given: None,
    });
    let certain = panel.certain(&said);
    if certain.is_some() {
        before.close_open("SUPERSEDED", node.revision + 2);
    }
    let mut path = Path::new(scene, before);
    path.task = Some((place, None));
    path.step("seat", Some(node.state), node.state, None);
    let Some(side) = certain else {
        return path.finish(Vec::new());
    };
    // By the last vote of the side that has it.
    let votes = node.present().filter_map(|(_, task)| task.given());
    let last = votes
        .filter(|given| given.in_favour == Some(side))
        .max_by_key(|given| given.work);
    let event = &last.expect("a side that has it has spoken").event;
    let Some(edge) = choose(scene, node, event) else {
        return Verdict::Refused("WF011");
    };
    path.step("edge", Some(node.state), edge.target, Some(edge));
    path.enter();
    path.settle()
}
