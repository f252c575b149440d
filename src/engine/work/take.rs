//! Handing out work.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use uuid::Uuid;
use workflow_core::decide::{self, Offer};
use workflow_core::lease::{Standing, Written};
use workflow_core::refusal::{Reason, Refusal};

use super::pace::Pace;
use super::rescue::{self, Expired};
use super::{lease_key, remove};
use crate::engine::command::Command;
use crate::engine::failure::{Failure, trigger_interfered};
use crate::engine::instance::InProgress;
use crate::engine::lease::{End, Lease, fences, log_end, secret};
use crate::engine::world::{Material, ServerWorld};
use crate::pg::backend;
use crate::pg::cluster;
use crate::pg::report::Report;
use crate::pg::value::{Element, Jsonb, Time, Value};
use crate::store::definitions::{self, Published};
use crate::store::statements;

/// Instances that one search puts into a queue.
const SEARCH: i32 = 1000;
/// Most items of one look.
const LOOK: i32 = 1000;

/// Which work is wanted.
pub struct Wanted<'a> {
    /// Name of the definition.
    pub definition: &'a str,
    /// Where the instances stand.
    pub state: &'a str,
    /// What the work is finished with.
    pub event: &'a str,
    /// Who wants it, for people.
    pub worker: &'a str,
    /// How many.
    pub limit: i32,
    /// For how long.
    pub lease_ms: i32,
}

/// Work in the hands of a worker.
pub struct Work {
    /// The instance.
    pub instance: Uuid,
    /// Name of its application.
    pub business_key: String,
    /// Its revision.
    pub revision: i64,
    /// Its material.
    pub material_version: i32,
    /// The material's content.
    pub material: Jsonb,
    /// The instance's own data.
    pub context: Option<Jsonb>,
    /// Which attempt this is.
    pub attempt: i32,
    /// The lease.
    pub lease_key: String,
    /// Its number.
    pub fence: i64,
    /// When it ends.
    pub expires_at: Time,
}

/// An item that is locked, together with its instance.
struct Candidate {
    instance: Uuid,
    entered_revision: i64,
    available_at: Time,
    attempt: i32,
    in_work: bool,
    of_material: Option<i32>,
    definition: Uuid,
    material_version: i32,
    is_over: bool,
}

/// An item that will be handed out, with its last lease.
struct Chosen {
    instance: Uuid,
    entered_revision: i64,
    attempt: i32,
    before: Option<Lease>,
}

/// A place in a queue.
#[derive(Clone, Copy)]
struct Position(Time, Uuid);

const FRONT: Position = Position(Time::BEFORE_ALL, Uuid::nil());

/// Hands out work, the longest waiting first. Never waits.
pub fn take(command: &Command<'_>, wanted: &Wanted<'_>) -> Result<Vec<Work>, Failure> {
    let active = definitions::find(command.spi, &command.caller.tenant, wanted.definition, None)?
        .ok_or_else(|| Refusal::not_found("definition"))?;
    let mut round = Round {
        command,
        wanted,
        offers: HashMap::new(),
        chosen: Vec::new(),
        pace: Pace::of(&command.caller.tenant, wanted.definition, wanted.state),
        progress: Vec::new(),
    };
    let offer = round.offer_of(&active)?;
    let front = round.pace.front();
    if let Some(front) = front {
        round.look(Position(front, Uuid::nil()))?;
    }
    if !round.is_full() {
        round.look(FRONT)?;
    }
    if !round.is_full() && round.search(&active)? {
        round.look(FRONT)?;
    }
    if round.chosen.is_empty() {
        return refuse(&active, wanted, offer).map(|()| Vec::new());
    }
    hand_out(command, wanted, &round.chosen)
}

/// Why there is nothing for the caller, if that is not for want of work.
fn refuse(active: &Published, wanted: &Wanted<'_>, offer: Offer) -> Result<(), Failure> {
    let (state, event) = (wanted.state, wanted.event);
    match offer {
        Offer::Open => Ok(()),
        Offer::Nothing => {
            let message = format!("{} has no event {event} in a state {state}", active.name);
            Err(Refusal::new(Reason::NoSuchTransition, message).into())
        }
        Offer::NotForActor => {
            let message = format!("the event {event} is for others");
            Err(Refusal::new(Reason::NotAuthorized, message).into())
        }
    }
}

struct Round<'a, 'c> {
    command: &'a Command<'c>,
    wanted: &'a Wanted<'a>,
    offers: HashMap<Uuid, Offer>,
    chosen: Vec<Chosen>,
    pace: Pace,
    /// What was chosen is in progress to the end of the call.
    progress: Vec<InProgress>,
}

impl Round<'_, '_> {
    fn is_full(&self) -> bool {
        self.chosen.len() as i32 >= self.wanted.limit
    }

    /// Looks through the queue from a place on, until there is enough or nothing more.
    fn look(&mut self, from: Position) -> Result<(), Failure> {
        let mut place = from;
        let mut size = self.wanted.limit - self.chosen.len() as i32;
        let now = Time::now();
        let mut spent = Duration::ZERO;
        let mut first = None;
        while !self.is_full() {
            let started = Instant::now();
            let candidates = self.lock(now, place, size)?;
            spent += started.elapsed();
            if first.is_none() {
                first = candidates.first().map(|candidate| candidate.available_at);
                if from.0 == Time::BEFORE_ALL {
                    self.pace.looked(spent, first);
                }
            }
            let found = candidates.len() as i32;
            for candidate in candidates {
                place = Position(candidate.available_at, candidate.instance);
                if !self.is_full() {
                    self.consider(candidate)?;
                }
            }
            if found < size {
                return Ok(());
            }
            size = size.saturating_mul(2).min(LOOK);
        }
        Ok(())
    }

    fn lock(&self, now: Time, after: Position, size: i32) -> Result<Vec<Candidate>, Report> {
        let locked = self.command.spi.run(
            &statements::LOCK_AVAILABLE_WORK,
            &[
                self.command.tenant(),
                Value::Text(self.wanted.definition),
                Value::Text(self.wanted.state),
                Value::Time(now),
                Value::Time(after.0),
                Value::Uuid(after.1),
                Value::Int(size),
            ],
        );
        let candidates = locked.rows().map(|row| {
            let entered_revision = row.bigint(1)?;
            Ok(Candidate {
                instance: row.uuid(0)?,
                entered_revision,
                available_at: row.time(2)?,
                attempt: row.int(3)?,
                in_work: row.opt_text(4)?.is_some(),
                of_material: row.opt_int(5)?,
                definition: row.uuid(6)?,
                material_version: row.int(8)?,
                is_over: row.bigint(7)? != entered_revision || row.bool(9)?,
            })
        });
        candidates.collect()
    }

    /// Chooses an item, unless there is something about it.
    fn consider(&mut self, candidate: Candidate) -> Result<(), Failure> {
        let command = self.command;
        // A trigger of the user's may call us while its instance is being moved.
        let Ok(progress) = InProgress::enter(candidate.instance) else {
            return Ok(());
        };
        if candidate.is_over {
            return remove(command, candidate.instance, candidate.entered_revision);
        }
        let tenant = &command.caller.tenant;
        let definition = definitions::pinned(command.spi, tenant, candidate.definition)?;
        if self.offer_of(&definition)? != Offer::Open {
            return Ok(());
        }
        let name = lease_key(candidate.instance);
        let key = crate::engine::lease::Key { tenant, key: &name };
        let mut before = key.read(command.spi)?;
        if before.is_some() {
            if !key.lock(command.spi, &statements::TRY_LOCK_LEASE) {
                return Ok(());
            }
            before = key.read(command.spi)?;
        }
        if let Some(lease) = &before
            && let Standing::Held(_) = lease.standing()
        {
            // Nobody needs to look before it ends.
            return self.postpone(&candidate, lease.ends_at());
        }
        let same_material = candidate.of_material == Some(candidate.material_version);
        let attempts = if same_material { candidate.attempt } else { 0 };
        let machine = &definition.machine;
        let retry = machine
            .state(self.wanted.state)
            .and_then(|state| machine.states[state].retry.as_ref());
        if candidate.in_work && retry.is_some_and(|retry| retry.is_exhausted(attempts)) {
            drop(progress);
            if let Some(lease) = &before {
                let expired = Expired {
                    instance: candidate.instance,
                    fence: lease.fence,
                };
                rescue::rescue(&rescue::as_timer(command), &expired)?;
            }
            return Ok(());
        }
        self.progress.push(progress);
        self.chosen.push(Chosen {
            instance: candidate.instance,
            entered_revision: candidate.entered_revision,
            attempt: attempts.saturating_add(1),
            before,
        });
        Ok(())
    }

    fn postpone(&self, candidate: &Candidate, until: Time) -> Result<(), Failure> {
        let item = [
            self.command.tenant(),
            Value::Uuid(candidate.instance),
            Value::Bigint(candidate.entered_revision),
            Value::Time(until),
        ];
        let postponed = self.command.spi.run(&statements::POSTPONE_WORK, &item);
        if postponed.count() != 1 {
            return Err(trigger_interfered("a trigger kept work as it was"));
        }
        Ok(())
    }

    /// What a version of the definition offers to the caller.
    fn offer_of(&mut self, definition: &Rc<Published>) -> Result<Offer, Failure> {
        if let Some(known) = self.offers.get(&definition.id) {
            return Ok(*known);
        }
        let (spi, caller) = (self.command.spi, &self.command.caller);
        // Roles of edges need no material.
        let nothing = Material::Stored {
            application: Uuid::nil(),
            version: 0,
        };
        let mut world = ServerWorld::new(spi, caller, nothing, None);
        let (state, event) = (self.wanted.state, self.wanted.event);
        let offer = decide::offer(&definition.machine, state, event, &mut world);
        let offer = world.finish(Ok::<_, Failure>(offer))?;
        self.offers.insert(definition.id, offer);
        Ok(offer)
    }

    /// Puts instances into the queue that stand in the state and are not in it: those of states that
    /// do not say that machines do their work. Whether there were any.
    fn search(&self, active: &Published) -> Result<bool, Failure> {
        if !self.pace.may_search() {
            return Ok(false);
        }
        let command = self.command;
        let started = Instant::now();
        let machine = &active.machine;
        let has_queue = machine
            .state(self.wanted.state)
            .is_some_and(|state| machine.states[state].is_machine_work());
        // Nobody else sees them before the transaction ends.
        let missing = self.wanted.limit - self.chosen.len() as i32;
        let most = if backend::in_transaction_block() {
            missing
        } else {
            missing.max(SEARCH)
        };
        let state = [
            command.tenant(),
            Value::Text(self.wanted.definition),
            Value::Text(self.wanted.state),
            Value::Int(most),
        ];
        let found = command.spi.run(&statements::LOCK_UNQUEUED_WORK, &state);
        let ids: Result<Vec<Uuid>, Report> = found.rows().map(|row| row.uuid(0)).collect();
        let ids = ids?;
        let mut queued = 0;
        if !ids.is_empty() {
            let state = Value::Text(self.wanted.state);
            let them = [command.tenant(), state, Value::Uuids(&ids)];
            queued = command.spi.run(&statements::QUEUE_WORK, &them).count();
        }
        if ids.len() < most as usize {
            self.pace.searched(started.elapsed(), has_queue);
        }
        Ok(queued > 0)
    }
}

/// Grants the leases and marks the items; all of them are ours.
fn hand_out(
    command: &Command<'_>,
    wanted: &Wanted<'_>,
    chosen: &[Chosen],
) -> Result<Vec<Work>, Failure> {
    let run = cluster::run();
    fences::rise(command.spi, &run)?;
    let names: Vec<String> = chosen.iter().map(|one| lease_key(one.instance)).collect();
    let mut now = Time::now();
    let mut leap = 1;
    for (one, name) in chosen.iter().zip(&names) {
        let Some(before) = &one.before else { continue };
        now = now.max(before.now());
        if before.tenure.written == Written::Elsewhere {
            leap = fences::LEAP;
        }
        if let Some(end) = End::of(before) {
            let key = crate::engine::lease::Key {
                tenant: &command.caller.tenant,
                key: name,
            };
            log_end(command.spi, key, before, &end)?;
        }
    }
    let expires_at = now.after(Duration::from_millis(wanted.lease_ms as u64));
    let tokens: Result<Vec<Uuid>, Report> = chosen.iter().map(|_| secret()).collect();
    let provisional = cluster::in_transaction_block();
    let granted = command.spi.run(
        &statements::GRANT_WORK,
        &[
            command.tenant(),
            Value::Bigint(fences::base(run.timeline)),
            Value::Text(wanted.worker),
            Value::Time(now),
            Value::Time(expires_at),
            Value::Int(wanted.lease_ms),
            Value::Bigint(run.cluster),
            Value::Bigint(run.epoch),
            Value::Bigint(leap),
            Value::Bool(provisional),
            Value::Texts(&names),
            Value::Uuids(&tokens?),
            Value::Text(&command.caller.actor),
        ],
    );
    if granted.count() != chosen.len() as u64 {
        return Err(trigger_interfered("a trigger kept a lease out"));
    }
    let mut fences = HashMap::with_capacity(chosen.len());
    for row in granted.rows() {
        fences.insert(row.text(0)?, row.bigint(1)?);
    }
    if provisional {
        // The caller knows the numbers before the commit, which may never come.
        cluster::flush_log();
    }
    cluster::commit_durably();
    let column = |element, value: &dyn Fn((&Chosen, &String)) -> Value<'static>| {
        Value::Array(element, chosen.iter().zip(&names).map(value).collect())
    };
    let taken = command.spi.run(
        &statements::TAKE_WORK,
        &[
            command.tenant(),
            Value::Text(wanted.worker),
            Value::Time(expires_at),
            column(Element::Uuid, &|(one, _)| Value::Uuid(one.instance)),
            column(Element::Bigint, &|(one, _)| {
                Value::Bigint(one.entered_revision)
            }),
            column(Element::Int, &|(one, _)| Value::Int(one.attempt)),
            column(Element::Bigint, &|(_, name)| {
                Value::optional(fences.get(name).copied(), Value::Bigint)
            }),
        ],
    );
    if taken.count() != chosen.len() as u64 {
        return Err(trigger_interfered("a trigger kept work from a worker"));
    }
    let places: HashMap<Uuid, usize> = chosen
        .iter()
        .enumerate()
        .map(|(place, one)| (one.instance, place))
        .collect();
    let work = taken.rows().map(|row| {
        let instance = row.uuid(0)?;
        Ok(Work {
            instance,
            business_key: row.text(1)?,
            revision: row.bigint(2)?,
            material_version: row.int(3)?,
            material: row.jsonb(4)?,
            context: row.opt_jsonb(5)?,
            attempt: row.int(6)?,
            lease_key: lease_key(instance),
            fence: row.bigint(7)?,
            expires_at,
        })
    });
    let mut work: Vec<Work> = work.collect::<Result<_, Report>>()?;
    work.sort_by_key(|one| places.get(&one.instance).copied());
    Ok(work)
}
