//! Steps follow each other: after an entry the `always` edges of the state entered are tried.

use super::draws;
use super::{Instance, Plan, Rejection, Standing, Step, StepKind, Truth, World};
use crate::definition::{Definition, Edge, StateId};
use crate::refusal::{Reason, Refusal};

/// A plan in the making.
pub(super) struct Chain<'a> {
    definition: &'a Definition,
    instance: &'a Instance,
    steps: Vec<Step>,
    revision: i64,
    round: i32,
    entered_revision: Option<i64>,
}

impl<'a> Chain<'a> {
    pub(super) fn new(definition: &'a Definition, instance: &'a Instance) -> Chain<'a> {
        Chain {
            definition,
            instance,
            steps: Vec::new(),
            revision: instance.revision,
            round: instance.round,
            entered_revision: None,
        }
    }

    /// The first step of an instance.
    pub(super) fn start(&mut self) {
        self.start_in(self.definition.initial);
    }

    /// The first step of an instance that stands somewhere already.
    pub(super) fn start_in(&mut self, state: StateId) {
        self.push(StepKind::Start, None, state, None);
        self.enter();
    }

    /// The step into this machine from another version of it. `anew`: the state is entered, and not
    /// only carried over.
    pub(super) fn migrate(&mut self, state: StateId, anew: bool) {
        self.push(StepKind::Migrate, None, state, None);
        if anew {
            self.enter();
        }
    }

    /// A step along an edge.
    pub(super) fn follow(
        &mut self,
        from: StateId,
        edge: &Edge,
        world: &mut impl World,
    ) -> Result<(), Rejection> {
        let movements = if edge.draws.is_empty() {
            Vec::new()
        } else {
            let standing = Standing {
                state: &self.definition.states[from].name,
                revision: self.revision,
                round: self.round,
            };
            draws::resolve(self.instance, &edge.draws, &standing, world)?
        };
        self.push(StepKind::Edge, Some(from), edge.target, Some(edge));
        if let Some(step) = self.steps.last_mut() {
            step.movements = movements;
        }
        self.enter();
        Ok(())
    }

    /// The same in the place of those who are asked.
    pub(super) fn overrule(
        &mut self,
        from: StateId,
        edge: &Edge,
        world: &mut impl World,
    ) -> Result<(), Rejection> {
        self.follow(from, edge, world)?;
        if let Some(step) = self.steps.last_mut() {
            step.kind = StepKind::Override;
        }
        Ok(())
    }

    /// New material, with or without a move.
    pub(super) fn supersede(&mut self, from: StateId, back_to: Option<StateId>) {
        self.push(
            StepKind::Supersede,
            Some(from),
            back_to.unwrap_or(from),
            None,
        );
        if back_to.is_some() {
            self.enter();
        }
    }

    /// An administrative step into another state.
    pub(super) fn administer(&mut self, kind: StepKind, from: StateId, to: StateId) {
        self.push(kind, Some(from), to, None);
        self.enter();
    }

    /// An administrative step that stays where it is.
    pub(super) fn stay(&mut self, kind: StepKind, here: StateId) {
        self.push(kind, Some(here), here, None);
    }

    fn push(&mut self, kind: StepKind, from: Option<StateId>, to: StateId, edge: Option<&Edge>) {
        self.revision += 1;
        self.steps.push(Step {
            kind,
            from,
            to,
            event: edge
                .filter(|edge| !edge.event.is_empty())
                .map(|edge| edge.event.clone()),
            decision: edge.and_then(|edge| edge.decision),
            round: self.round.max(1),
            publish: edge.is_none_or(|edge| edge.publish),
            movements: Vec::new(),
        });
    }

    fn enter(&mut self) {
        self.round += 1;
        self.entered_revision = Some(self.revision);
    }

    /// Follows `always` edges to a state where none is true. Validation has refused cycles of them,
    /// so this ends.
    pub(super) fn settle(mut self, world: &mut impl World) -> Result<Plan, Rejection> {
        while self.entered_revision == Some(self.revision) {
            let here = self.steps[self.steps.len() - 1].to;
            let state = &self.definition.states[here];
            let standing = Standing {
                state: &state.name,
                revision: self.revision,
                round: self.round,
            };
            let always = state.always.iter();
            match first_true(self.instance, always, &standing, world)? {
                Some(edge) => self.follow(here, edge, world)?,
                None => break,
            }
        }
        Ok(self.finish())
    }

    /// The plan as far as it goes.
    pub(super) fn finish(self) -> Plan {
        Plan {
            steps: self.steps,
            revision: self.revision,
            round: self.round,
            entered_revision: self.entered_revision,
        }
    }
}

/// The first branch whose guard is true. Unknown refuses: a threshold must not fail open because an
/// amount is missing.
pub(super) fn first_true<'e>(
    instance: &Instance,
    branches: impl Iterator<Item = &'e Edge>,
    at: &Standing<'_>,
    world: &mut impl World,
) -> Result<Option<&'e Edge>, Rejection> {
    for edge in branches {
        let truth = edge
            .guard
            .as_deref()
            .map_or(Truth::True, |guard| world.test(guard, at));
        match truth {
            Truth::True => return Ok(Some(edge)),
            Truth::False => {}
            Truth::Unknown => return Err(guard_refused(instance, edge, "unknown").into()),
        }
    }
    Ok(None)
}

/// The refusal of a guard that was `verdict` (false or unknown).
pub(super) fn guard_refused(instance: &Instance, edge: &Edge, verdict: &str) -> Refusal {
    let guard = edge.guard.as_deref().unwrap_or_default();
    let message = format!("the guard {guard} is {verdict}");
    instance
        .refuse(Reason::GuardRefused, message)
        .with("guard", guard)
        .with("path", format!("{}/guard", edge.path))
        .with("verdict", verdict)
}
