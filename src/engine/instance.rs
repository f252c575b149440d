//! One instance under one command: read, decide, move, and again if somebody was faster.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use uuid::Uuid;
use workflow_core::decide::Plan;
use workflow_core::definition::LockMode;
use workflow_core::refusal::{Position, Reason, Refusal, Winner};

use crate::engine::command::Command;
use crate::engine::contention::{Heat, Key};
use crate::engine::failure::{Failure, busy, trigger_interfered};
use crate::engine::gate::{self, Passage, Way};
use crate::engine::identity::Caller;
use crate::engine::lease::check::Presented;
use crate::engine::limits;
use crate::engine::resource;
use crate::engine::world::{Material, ServerWorld};
use crate::engine::write;
use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::spi::Spi;
use crate::pg::value::{Jsonb, Value};
use crate::pg::wait;
use crate::store::definitions::{self, Published};
use crate::store::{self, InstanceRow, statements};

/// How often a command that may be decided anew is decided.
const ATTEMPTS: i32 = 3;
/// A revision that outdated the caller's less than this ago was a race, not an old page.
const RACE_MS: i64 = 100;
/// How often a command is decided anew when only `work` has moved, before it gives way.
const WORK_ATTEMPTS: i32 = 100;

/// What a decision does to the instance's row.
pub trait Effect {
    /// The steps it takes; `None` if it leaves the revision as it is.
    fn plan(&self) -> Option<&Plan>;

    /// Whether anything is written at all.
    fn writes(&self) -> bool {
        true
    }
}

impl Effect for Plan {
    fn plan(&self) -> Option<&Plan> {
        Some(self)
    }
}

/// What was decided and done.
pub struct Moved<T> {
    /// The row before.
    pub before: InstanceRow,
    /// Its definition.
    pub definition: Rc<Published>,
    /// What was decided.
    pub decision: T,
    /// How often it was decided.
    pub attempts: i32,
}

/// Reads an instance with its definition, without a lock. WF005 if there is none for this tenant.
pub fn read(command: &Command<'_>, id: Uuid) -> Result<(InstanceRow, Rc<Published>), Failure> {
    let row = store::read_instance(command.spi, &command.caller.tenant, id)?
        .ok_or_else(|| Refusal::not_found("instance"))?;
    let definition = definitions::pinned(command.spi, &command.caller.tenant, row.definition_id)?;
    Ok((row, definition))
}

/// Locks an instance's row to the end of the transaction, within the budget.
fn lock(command: &Command<'_>, id: Uuid, heat: &mut Heat<'_>) -> Result<(), Failure> {
    let key = [command.tenant(), Value::Uuid(id)];
    if command
        .spi
        .run(&statements::TRY_LOCK_INSTANCE, &key)
        .count()
        > 0
    {
        return Ok(());
    }
    heat.row_taken();
    let waited = command
        .budget
        .wait(|| command.spi.run(&statements::LOCK_INSTANCE, &key).count());
    if waited.is_err() {
        let mut refusal = busy("a lock was not had in time", 1);
        refusal.retry_after_ms = Some(heat.gave_up(0));
        return Err(refusal.into());
    }
    Ok(())
}

/// Locks the row of an instance that was read, with a refusal that says which one is busy.
pub fn lock_known(command: &Command<'_>, row: &InstanceRow) -> Result<(), Failure> {
    let key = Key::instance(&command.caller.tenant, row.instance.id);
    let mut heat = Heat::of(key, false);
    lock(command, row.instance.id, &mut heat)
        .map_err(|failure| about(failure, row, &Approach::default(), 1))
}

/// Passes the gates of instances that were read, where they are contended.
pub fn enter_gates(
    command: &Command<'_>,
    instances: &[(InstanceRow, Rc<Published>)],
) -> Result<(), Failure> {
    let gated = instances.iter().filter_map(|(row, definition)| {
        let (way, heat) = gate::way(command, row.instance.id, None, &definition.machine);
        (way != Way::Optimistic).then_some((row.instance.id, heat))
    });
    gate::enter_all(command, gated)
}

/// How a command goes about an instance.
#[derive(Default)]
pub struct Approach {
    /// The lock mode, where the caller names one.
    pub mode: Option<LockMode>,
    /// What the caller expects. With a revision a lost race is an answer, not a reason to try again.
    pub expected: Position,
}

impl Approach {
    /// Whether the command cannot win any more: it is refused without touching the row.
    fn is_stale(&self, row: &InstanceRow) -> bool {
        self.expected
            .revision
            .is_some_and(|revision| revision < row.instance.revision)
            || self
                .expected
                .material_version
                .is_some_and(|version| version < row.instance.material_version)
    }

    /// Whether the caller has seen a later state than the one that was read.
    fn knows_more_than(&self, row: &InstanceRow) -> bool {
        self.expected
            .revision
            .is_some_and(|revision| revision > row.instance.revision)
            || self
                .expected
                .material_version
                .is_some_and(|version| version > row.instance.material_version)
    }
}

/// Decides on an instance and moves it, under the condition that it still is as it was read.
pub fn change<T: Effect>(
    command: &Command<'_>,
    id: Uuid,
    approach: &Approach,
    payload: Option<&Jsonb>,
    decide: impl FnMut(&Published, &InstanceRow, &mut ServerWorld<'_>) -> Result<T, Failure>,
) -> Result<Moved<T>, Failure> {
    change_under(command, id, approach, None, payload, decide)
}

/// The same under a lease, which is kept from before the first lock on the instance, and checked
/// with each decision.
pub fn change_under<T: Effect>(
    command: &Command<'_>,
    id: Uuid,
    approach: &Approach,
    lease: Option<&Presented>,
    payload: Option<&Jsonb>,
    mut decide: impl FnMut(&Published, &InstanceRow, &mut ServerWorld<'_>) -> Result<T, Failure>,
) -> Result<Moved<T>, Failure> {
    limits::check_document(command, payload)?;
    let mut attempts = 1;
    let (mut row, mut definition) = read(command, id)?;
    // The snapshot may be older than what the caller has seen: then the lock raises 40001, where a
    // refusal would be false.
    let snapshot_is_older = backend::keeps_snapshot() && approach.knows_more_than(&row);
    let (mut way, mut heat) = gate::way(command, id, approach.mode, &definition.machine);
    if approach.is_stale(&row) {
        way = Way::Optimistic;
    }
    let mut locked = snapshot_is_older || way == Way::Pessimistic;
    let mut inside = false;
    if way != Way::Optimistic {
        let passage = gate::enter(command, id, &mut heat)
            .map_err(|failure| about(failure, &row, approach, attempts))?;
        inside = passage == Passage::Inside;
    }
    let mut over = None;
    if let Some(lease) = lease.filter(|_| !approach.is_stale(&row)) {
        over = lease
            .keep(command)
            .map_err(|failure| about(failure, &row, approach, attempts))?;
    }
    if locked {
        lock(command, id, &mut heat).map_err(|failure| about(failure, &row, approach, attempts))?;
    }
    // What was read before a lock is old, however soon it was had.
    if inside || locked {
        (row, definition) = read(command, id)?;
    }
    loop {
        let material = Material::Stored {
            application: row.instance.application_id,
            version: row.instance.material_version,
        };
        let mut world = ServerWorld::new(command.spi, &command.caller, material, payload)
            .about(id)
            .under(lease, over.as_deref());
        let decision = decide(&definition, &row, &mut world);
        let decision = world
            .finish(decision)
            .map_err(|failure| numbered(failure, attempts))?;
        if let Some(plan) = decision.plan().filter(|plan| plan.moves_resources()) {
            let placed = |failure| placed(failure, &row, &approach.expected, attempts);
            // Gates come before rows, and the instance's row before those of resources.
            resource::refuse_settled(command, plan.movements()).map_err(placed)?;
            resource::queue(command, plan.movements()).map_err(placed)?;
            if !locked {
                lock(command, id, &mut heat)
                    .map_err(|failure| about(failure, &row, approach, attempts))?;
                locked = true;
                let (now, pinned) = read(command, id)?;
                let unchanged = now.unchanged(&row);
                (row, definition) = (now, pinned);
                if !unchanged {
                    heat.raced();
                    attempts += 1;
                    continue;
                }
            }
            resource::reserve(command, plan.movements())
                .map_err(|failure| self::placed(failure, &row, &approach.expected, attempts))?;
        }
        if !decision.writes() || write::move_instance(command, &definition, &row, &decision) {
            heat.succeeded();
            return Ok(Moved {
                before: row,
                definition,
                decision,
                attempts,
            });
        }

        let (now, pinned) = read(command, id)?;
        let unchanged = now.unchanged(&row);
        if unchanged && locked {
            return Err(trigger_interfered(
                "a trigger kept the instance from moving",
            ));
        }
        heat.raced();
        // Whoever holds locks does not sleep on them.
        let holds = inside || backend::holds_locks();
        if unchanged || (!locked && holds) {
            lock(command, id, &mut heat)
                .map_err(|failure| about(failure, &now, approach, attempts))?;
            locked = true;
            (row, definition) = read(command, id)?;
        } else {
            lost(command, approach, &row, &now, attempts, &mut heat)
                .map_err(|failure| about(failure, &now, approach, attempts))?;
            (row, definition) = (now, pinned);
        }
        attempts += 1;
    }
}

/// Somebody was faster: whether to decide again.
fn lost(
    command: &Command<'_>,
    approach: &Approach,
    before: &InstanceRow,
    now: &InstanceRow,
    attempts: i32,
    heat: &mut Heat<'_>,
) -> Result<(), Failure> {
    let revision_moved = now.instance.revision != before.instance.revision;
    if revision_moved && approach.expected.revision.is_some() {
        // The next decision answers why the race was lost.
        return Ok(());
    }
    let limit = if revision_moved {
        ATTEMPTS
    } else {
        WORK_ATTEMPTS
    };
    if attempts >= limit {
        let mut refusal = busy("other commands were faster each time", attempts);
        refusal.retry_after_ms = Some(heat.gave_up(0));
        return Err(refusal.into());
    }
    if revision_moved {
        back_off(command, attempts, heat)
    } else {
        Ok(())
    }
}

/// Exponential backoff with full jitter, from the time that a command takes, within the budget.
fn back_off(command: &Command<'_>, attempts: i32, heat: &mut Heat<'_>) -> Result<(), Failure> {
    const LEAST: Duration = Duration::from_millis(2);
    const MOST: Duration = Duration::from_millis(100);
    let base = Duration::from_micros(heat.service_us()).clamp(LEAST, MOST);
    let ceiling = base * 2u32.pow(attempts.min(10) as u32);
    let delay = ceiling.mul_f64(backend::jitter());
    if delay > command.budget.remaining() {
        let mut refusal = busy(
            "other commands were faster, and the time to wait is over",
            attempts,
        );
        refusal.retry_after_ms = Some(heat.gave_up(0));
        return Err(refusal.into());
    }
    wait::sleep(delay);
    Ok(())
}

/// A command that did not get the row says which one.
fn about(failure: Failure, row: &InstanceRow, approach: &Approach, attempts: i32) -> Failure {
    match failure {
        Failure::Refused(refusal) if refusal.reason == Reason::Busy => {
            let mut shown = row.instance.refuse(Reason::Busy, refusal.message);
            shown.retry_after_ms = refusal.retry_after_ms;
            shown.expected = approach.expected.clone();
            shown.attempts = attempts;
            shown.into()
        }
        other => other,
    }
}

/// A refusal about something beside the instance says where the instance stands.
pub fn placed(failure: Failure, row: &InstanceRow, expected: &Position, attempts: i32) -> Failure {
    match failure {
        Failure::Refused(mut refusal) => {
            refusal.instance_id = Some(row.instance.id);
            refusal.application_id = Some(row.instance.application_id);
            refusal.actual = row.instance.position();
            refusal.expected = expected.clone();
            refusal.attempts = attempts;
            Failure::Refused(refusal)
        }
        error => error,
    }
}

fn numbered(failure: Failure, attempts: i32) -> Failure {
    match failure {
        Failure::Refused(mut refusal) => {
            refusal.attempts = attempts;
            Failure::Refused(refusal)
        }
        error => error,
    }
}

/// What a refused caller wanted, to see whether the winner wanted the same.
pub struct Wanted<'a> {
    /// The event, where it is known.
    pub event: Option<String>,
    /// The target, where it is known.
    pub to_state: Option<&'a str>,
    /// The material.
    pub material_version: Option<i32>,
    /// The lock mode, where the caller names one.
    pub mode: Option<LockMode>,
}

/// Adds to a refusal who was faster, if the caller knew an earlier revision.
pub fn explain(
    spi: &Spi,
    caller: &Caller,
    failure: Failure,
    wanted: &Wanted<'_>,
) -> Result<Failure, Report> {
    let Failure::Refused(mut refusal) = failure else {
        return Ok(failure);
    };
    if refusal.reason == Reason::Busy {
        // Nobody was faster yet; and after a wait that timed out no statement may run.
        return Ok(Failure::Refused(refusal));
    }
    let known = refusal.expected.revision.zip(refusal.actual.revision);
    if let Some((expected, actual)) = known
        && expected < actual
        && let Some(instance) = refusal.instance_id
    {
        let winner = winner(spi, caller, instance, expected + 1, wanted)?;
        // A dry run is nobody's attempt.
        if refusal.attempts == 1 && !spi.only_reads() {
            count_late(spi, caller, instance, wanted.mode, winner.as_ref())?;
        }
        refusal.winner = winner.map(|(winner, _)| winner);
    }
    Ok(Failure::Refused(refusal))
}

/// Counts a command that was outdated before its first attempt: a race if that has only just
/// happened. One that lost an attempt has been counted there.
fn count_late(
    spi: &Spi,
    caller: &Caller,
    instance: Uuid,
    forced: Option<LockMode>,
    winner: Option<&(Winner, i64)>,
) -> Result<(), Report> {
    let Some(row) = store::read_instance(spi, &caller.tenant, instance)? else {
        return Ok(());
    };
    let definition = definitions::pinned(spi, &caller.tenant, row.definition_id)?;
    let mode = gate::mode(forced, &definition.machine);
    let key = Key::instance(&caller.tenant, instance);
    let mut heat = Heat::of(key, mode == LockMode::Adaptive);
    match winner {
        Some((_, age_ms)) if *age_ms < RACE_MS => heat.raced(),
        _ => heat.stale(),
    }
    Ok(())
}

/// The command that made a revision, and how long ago that was, in ms.
fn winner(
    spi: &Spi,
    caller: &Caller,
    instance: Uuid,
    revision: i64,
    wanted: &Wanted<'_>,
) -> Result<Option<(Winner, i64)>, Report> {
    let key = [
        Value::Text(&caller.tenant),
        Value::Uuid(instance),
        Value::Bigint(revision),
        Value::Oid(caller.session_role),
    ];
    let Some(row) = spi.one(&statements::WINNER, &key) else {
        return Ok(None);
    };
    let (event, to_state, actor) = (row.opt_text(1)?, row.text(2)?, row.text(4)?);
    let same_command = actor == caller.actor
        && event.is_some()
        && event == wanted.event
        && wanted.to_state.is_none_or(|state| state == to_state)
        && wanted.material_version == Some(row.int(5)?);
    let winner = Winner {
        revision: row.bigint(0)?,
        event,
        to_state,
        at: row.text(3)?,
        same_command,
        actor: row.bool(6)?.then_some(actor),
    };
    Ok(Some((winner, row.bigint(7)?)))
}

thread_local! {
    static IN_PROGRESS: RefCell<HashSet<Uuid>> = RefCell::default();
}

/// Marks an instance as being worked on in this backend, until dropped.
pub struct InProgress(Uuid);

impl InProgress {
    /// 27000 if a trigger of the user's re-enters an instance whose command is not finished.
    pub fn enter(id: Uuid) -> Result<InProgress, Failure> {
        IN_PROGRESS.with_borrow_mut(|instances| {
            if !instances.insert(id) {
                let message = "a trigger called a command on an instance already in progress";
                return Err(trigger_interfered(message));
            }
            Ok(InProgress(id))
        })
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        IN_PROGRESS.with_borrow_mut(|instances| instances.remove(&self.0));
    }
}
