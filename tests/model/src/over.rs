//! What a refusal says about a task that is over.

use crate::check::{Checker, Wrong};
use crate::oracle::Node;
use crate::refusals::Refusal;
use crate::view::Sight;

/// How a task ended is read after the instance, without a lock: WF006 may know it from a later state
/// than the one that it shows.
pub fn torn(checker: &Checker<'_, '_>, sight: &Sight<'_>, refusal: &Refusal, shown: &Node) -> bool {
    let later = |node: &&Node| (node.revision, node.work) > (shown.revision, shown.work);
    let mut nodes = sight.nodes.iter().filter(later);
    refusal.code == "WF006" && nodes.any(|node| ended(checker, refusal, node).is_ok())
}

/// WF006 says how the task ended, and by which revision.
pub fn ended(checker: &Checker<'_, '_>, refusal: &Refusal, node: &Node) -> Result<(), Wrong> {
    let task = checker.command().task();
    if let Some(id) = task
        && refusal.detail["task_id"] != id.to_string()
    {
        return Err("the detail is about another task".to_owned());
    }
    if refusal.code != "WF006" {
        return Ok(());
    }
    let task = task.and_then(|id| Some(&node.tasks[node.task(id)?]));
    let ended = task.and_then(|task| task.ended.as_ref());
    let told = ended.is_some_and(|ended| {
        refusal.detail["task_status"] == ended.status
            && refusal.detail["closed_revision"] == ended.revision
    });
    if told {
        Ok(())
    } else {
        Err(format!("WF006 does not say how the task ended: {ended:?}"))
    }
}
