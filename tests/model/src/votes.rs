//! The oracle for `wf_decide`.

use crate::command::Decide;
use crate::machine::Edge;
use crate::oracle::{
    Effect, Node, Scene, Verdict, along, barred, choose, holds_one, outdated, state,
};
use crate::task::{Entry, Given};

/// All that may be said. Two questions are open in the contract: whether a role of the edge is
/// missed before the guards are asked or after, and whether a task that was outdated is named so
/// before the revision that outdated it.
pub fn decide(scene: &Scene<'_>, node: &Node, command: &Decide) -> Vec<Verdict> {
    if command.revision < 1 || command.material < 1 {
        return vec![Verdict::Invalid];
    }
    let Some(place) = node.task(command.task) else {
        return vec![Verdict::Refused("WF005")];
    };
    if !scene.machine.has_event(&command.event) {
        return vec![Verdict::Refused("WF004")];
    }
    let task = &node.tasks[place];
    let counts = node.present().any(|(index, _)| index == place);
    let panel = node.panel(scene.machine);
    if counts && let Some(panel) = panel {
        let may = task.entrusted_to(scene.actor) || holds_one(scene.roles, task.seat.roles);
        if !may || barred(scene, node, panel, task.delegated_by) {
            return vec![Verdict::Refused("WF007")];
        }
    }
    let mut verdicts = Vec::new();
    let stale = outdated(node, Some(command.revision), Some(command.material));
    if task.ended.as_ref().is_some_and(|e| e.status != "COMPLETED") && stale != Some("WF002") {
        verdicts.push(Verdict::Refused("WF006"));
    }
    if let Some(code) = stale {
        verdicts.push(Verdict::Refused(code));
        return verdicts;
    }
    let Some(panel) = panel.filter(|_| counts) else {
        verdicts.push(Verdict::Refused("WF006"));
        return verdicts;
    };
    let here = &state(scene.machine, node.state).on;
    let mut branches = here.iter().filter(|edge| edge.event == command.event);
    let Some(named) = branches.next() else {
        return vec![Verdict::Refused("WF003")];
    };
    if !holds_one(scene.roles, named.roles) {
        verdicts.push(Verdict::Refused("WF007"));
    }
    if task.holder.is_some_and(|holder| holder != scene.actor) {
        return vec![Verdict::Refused("WF007")];
    }
    if !task.is_open() || panel.one_vote_each && has_voted(scene, node, place) {
        verdicts.push(Verdict::Refused("WF010"));
        return verdicts;
    }
    verdicts.push(match choose(scene, node, &command.event) {
        None => Verdict::Refused("WF011"),
        Some(edge) if !holds_one(scene.roles, edge.roles) => Verdict::Refused("WF007"),
        Some(edge) => vote(scene, node, place, edge),
    });
    verdicts
}

/// One vote for a person, be it their own or given for them.
fn has_voted(scene: &Scene<'_>, node: &Node, place: usize) -> bool {
    let people = [Some(scene.actor), node.tasks[place].delegated_by];
    let voices = node.present().filter_map(|(_, task)| task.given());
    voices
        .filter(|given| given.in_favour.is_some())
        .flat_map(|given| [Some(given.actor), given.on_behalf_of])
        .flatten()
        .any(|person| people.contains(&Some(person)))
}

fn vote(scene: &Scene<'_>, node: &Node, place: usize, edge: &Edge) -> Verdict {
    let panel = node.panel(scene.machine).expect("asked before");
    let several = node.present().count() > 1;
    let on_behalf_of = node.tasks[place].delegated_by;
    let side = match edge.decision {
        Some("approve") => Some(true),
        Some("reject") => Some(false),
        _ => None,
    };
    let said = node.said(side.map(|side| (place, side)), None);
    let mut given = Given {
        event: edge.event.to_owned(),
        actor: scene.actor,
        on_behalf_of,
        in_favour: side.filter(|_| several),
        work: node.work,
    };
    let mut after = node.clone();
    if side.is_none() || panel.certain(&said).is_some() {
        after.complete(place, node.revision + 1, given);
        after.close_open("SUPERSEDED", node.revision + 1);
        let mut verdict = along(scene, after, edge, Some((place, on_behalf_of)));
        if let Verdict::Applied(effect) = &mut verdict {
            effect.count = side.map(|_| panel.count(&said));
        }
        return verdict;
    }
    after.work += 1;
    given.work = after.work;
    given.in_favour = side;
    after.complete(place, node.revision, given);
    Verdict::Applied(Effect {
        entry: Some(Entry {
            verb: "vote",
            task: place,
            revision: node.revision,
            round: node.round,
            material: node.material,
            event: Some(edge.event.to_owned()),
            in_favour: side,
            on_behalf_of,
            to: None,
        }),
        node: after,
        steps: Vec::new(),
        event: Some(edge.event.to_owned()),
        opened: Vec::new(),
        task: Some((place, on_behalf_of)),
        count: Some(panel.count(&said)),
    })
}
