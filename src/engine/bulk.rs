//! Many steps in one call: a lock for all of them in the order of the instances, one decision each,
//! and a statement per table.
//!
//! Everything from the locks on happens in one subtransaction. So a lock that is not had in time
//! gives back the others, and the commands whose instances are free can go on without it; and a
//! call that is to be all or nothing leaves nothing. What is refused is known before the first
//! write in any case.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uuid::Uuid;
use workflow_core::decide::{self, Instance, Movement, Plan, Transition};
use workflow_core::outcome::Outcome;
use workflow_core::refusal::{Position, Reason, Refusal};

use crate::engine::batch::{self, Change};
use crate::engine::command::{self, Command, Common};
use crate::engine::failure::{Failure, busy};
use crate::engine::instance::{self, InProgress, Wanted, placed};
use crate::engine::lease::check::{self, Kept, Presented};
use crate::engine::limits;
use crate::engine::request::{self, Fingerprint, Request};
use crate::engine::resource;
use crate::engine::world::{Acted, Material, ServerWorld};
use crate::engine::write::Scene;
use crate::pg::backend;
use crate::pg::report::Report;
use crate::pg::subtransaction;
use crate::pg::value::{Element, Jsonb, Value};
use crate::store::{self, InstanceRow, definitions, statements};

/// One command of a call.
pub struct Order {
    /// The instance.
    pub instance: Uuid,
    /// State the caller saw.
    pub from_state: String,
    /// State the caller wants.
    pub to_state: String,
    /// Revision the caller saw.
    pub expected_revision: i64,
    /// Material the caller saw.
    pub material_version: i32,
    /// Event, where several lead from one state to the other.
    pub event: Option<String>,
    /// For people who read the history.
    pub comment: Option<String>,
    /// For guards, the history and the outbox.
    pub payload: Option<Jsonb>,
    /// Request key.
    pub request_id: Option<String>,
    /// The lease under which it is done.
    pub lease: Option<Presented>,
}

impl Order {
    fn transition(&self) -> Transition<'_> {
        Transition {
            from_state: &self.from_state,
            to_state: &self.to_state,
            expected_revision: self.expected_revision,
            material_version: self.material_version,
            event: self.event.as_deref(),
        }
    }

    /// Whether the command cannot win any more.
    fn is_stale(&self, row: &InstanceRow) -> bool {
        self.expected_revision < row.instance.revision
            || self.material_version < row.instance.material_version
    }

    fn expected(&self) -> Position {
        Position {
            state: Some(self.from_state.clone()),
            revision: Some(self.expected_revision),
            material_version: Some(self.material_version),
        }
    }

    fn fingerprint(&self, common: &Common) -> Fingerprint {
        let mut fingerprint = Fingerprint::new(common.command);
        fingerprint.bytes(Some(self.instance.as_bytes()));
        fingerprint.text(Some(&self.from_state));
        fingerprint.text(Some(&self.to_state));
        fingerprint.number(Some(self.expected_revision));
        fingerprint.number(Some(self.material_version.into()));
        fingerprint.text(self.event.as_deref());
        fingerprint.text(self.comment.as_deref());
        fingerprint.json(self.payload.as_ref());
        check::seal(&mut fingerprint, self.lease.as_ref());
        command::seal(fingerprint, &common.claim, None, common.on_refusal)
    }
}

/// What became of a command.
pub enum Fate {
    /// Carried out, or replayed.
    Answered(Outcome),
    /// Refused, for this reason.
    Refused(Box<Refusal>),
    /// Would have been carried out, had not another one of an atomic call been refused.
    Withheld(Outcome),
}

/// Why the subtransaction is undone.
enum Undone {
    /// A lock was not had in time.
    TimedOut,
    /// An atomic call in which a command is refused.
    Withheld(Vec<Verdict>),
    /// Bad arguments, interfering triggers.
    Failed(Failure),
}

impl From<Failure> for Undone {
    fn from(failure: Failure) -> Undone {
        Undone::Failed(failure)
    }
}

impl From<Report> for Undone {
    fn from(report: Report) -> Undone {
        Undone::Failed(report.into())
    }
}

/// What was decided on a command, before it is known whether it is carried out.
enum Verdict {
    /// Decided by its request key: a replay.
    Replayed(Outcome),
    /// Takes this step.
    Takes(Outcome),
    /// Answers as a command before it in this call, which has the same request key.
    Repeats(Outcome),
    /// Refused; with the event that the command means, where that is known.
    Refused(Box<Refusal>, Option<String>),
}

impl Verdict {
    /// Refused before the definition was looked into.
    fn refused(refusal: impl Into<Box<Refusal>>) -> Verdict {
        Verdict::Refused(refusal.into(), None)
    }
}

/// Carries out commands, each by itself or all or none of them; gives one fate each, in order.
pub fn run(
    command: &Command<'_>,
    common: &Common,
    orders: &[Order],
    atomic: bool,
) -> Result<Vec<Fate>, Failure> {
    let ids: BTreeSet<Uuid> = orders.iter().map(|order| order.instance).collect();
    let _progress = ids
        .iter()
        .map(|id| InProgress::enter(*id))
        .collect::<Result<Vec<_>, _>>()?;
    let keys = open_requests(command, common, orders)?;
    let attempt =
        |patient: bool| subtransaction::run(|| carry_out(command, orders, &keys, atomic, patient));
    let verdicts = match attempt(true) {
        Err(Undone::TimedOut) => attempt(false),
        result => result,
    };
    let (verdicts, withheld) = match verdicts {
        Ok(verdicts) => (verdicts, false),
        Err(Undone::Withheld(verdicts)) => (verdicts, true),
        Err(Undone::Failed(failure)) => return Err(failure),
        Err(Undone::TimedOut) => unreachable!("locks that are not waited for do not time out"),
    };
    let fates = orders.iter().zip(verdicts);
    fates
        .map(|(order, verdict)| settle(command, order, verdict, withheld))
        .collect()
}

fn settle(
    command: &Command<'_>,
    order: &Order,
    verdict: Verdict,
    withheld: bool,
) -> Result<Fate, Failure> {
    match verdict {
        Verdict::Takes(outcome) | Verdict::Repeats(outcome) if withheld => {
            Ok(Fate::Withheld(outcome))
        }
        Verdict::Replayed(outcome) | Verdict::Takes(outcome) | Verdict::Repeats(outcome) => {
            Ok(Fate::Answered(outcome))
        }
        Verdict::Refused(refusal, event) => {
            let wanted = Wanted {
                event,
                to_state: Some(&order.to_state),
                material_version: Some(order.material_version),
                mode: None,
            };
            let failure = Failure::Refused(refusal);
            match instance::explain(command.spi, &command.caller, failure, &wanted)? {
                Failure::Refused(refusal) => Ok(Fate::Refused(refusal)),
                error => Err(error),
            }
        }
    }
}

/// What the request key of a command says about it.
enum Key {
    /// There is none.
    None,
    /// Free, and now locked.
    Ours(Request),
    /// The command was carried out before.
    Replay(Box<Outcome>),
    /// It belongs to another command, or somebody else holds it.
    Refused(Box<Refusal>),
}

/// Takes the request keys in the order of their locks.
fn open_requests(
    command: &Command<'_>,
    common: &Common,
    orders: &[Order],
) -> Result<Vec<Key>, Failure> {
    let mut keys: Vec<Key> = orders.iter().map(|_| Key::None).collect();
    let mut keyed: Vec<(usize, &str)> = orders
        .iter()
        .enumerate()
        .filter_map(|(at, order)| Some((at, order.request_id.as_deref()?)))
        .collect();
    keyed.sort_by_cached_key(|(_, key)| request::lock_order(&command.caller, key));
    let budget = command.budget.keeping_transaction();
    for (at, key) in keyed {
        let fingerprint = orders[at].fingerprint(common);
        let opened = request::open(command.spi, &command.caller, key, fingerprint, &budget);
        keys[at] = match opened {
            Ok((_, Some(outcome))) => Key::Replay(Box::new(outcome)),
            Ok((request, None)) => Key::Ours(request),
            Err(Failure::Refused(refusal)) => Key::Refused(refusal),
            Err(error) => return Err(error),
        };
    }
    Ok(keys)
}

/// Locks, reads, decides, writes.
fn carry_out(
    command: &Command<'_>,
    orders: &[Order],
    keys: &[Key],
    atomic: bool,
    patient: bool,
) -> Result<Vec<Verdict>, Undone> {
    let wanted: Vec<usize> = (0..orders.len())
        .filter(|at| matches!(keys[*at], Key::None | Key::Ours(_)))
        .collect();
    let leases = keep(command, orders, &wanted, patient)?;
    let held_by_others = lock(command, orders, &wanted, patient)?;
    let ids: BTreeSet<Uuid> = wanted.iter().map(|at| orders[*at].instance).collect();
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let read = || store::read_instances(command.spi, &command.caller.tenant, &ids);
    let mut bench = Bench::new(command, read()?, &leases, held_by_others.clone());
    let mut verdicts = bench.judge_all(orders, keys)?;
    if bench.movements().next().is_some() {
        // What is taken is known by now; whether there is enough, only under the locks.
        let balances = resource::hold(command, bench.movements())?;
        bench = Bench::new(command, read()?, &leases, held_by_others);
        bench.balances = Some(balances);
        verdicts = bench.judge_all(orders, keys)?;
    }
    let refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused(..));
    if atomic && verdicts.iter().any(refused) {
        return Err(Undone::Withheld(bench.withhold(verdicts)));
    }
    for wave in &bench.waves {
        batch::carry_out(command, wave)?;
    }
    batch::keep_requests(command, &bench.kept)?;
    Ok(verdicts)
}

/// Keeps new tenures away from the leases that commands present, in the order of their keys.
fn keep<'o>(
    command: &Command<'_>,
    orders: &'o [Order],
    wanted: &[usize],
    patient: bool,
) -> Result<Leases<'o>, Undone> {
    let presented = wanted.iter().filter_map(|at| orders[*at].lease.as_ref());
    let presented: BTreeSet<&Presented> = presented.collect();
    let (spi, tenant) = (command.spi, command.caller.tenant.as_str());
    let mut leases = HashMap::with_capacity(presented.len());
    for lease in presented {
        let mut kept = lease.try_keep(spi, tenant)?;
        if kept == Kept::Busy && patient {
            let budget = command.budget.without_subtransaction();
            let waited = budget.wait(|| lease.wait_to_keep(spi, tenant));
            waited.map_err(|_| Undone::TimedOut)?;
            kept = Kept::Here;
        }
        leases.insert(lease, kept);
    }
    Ok(leases)
}

/// Locks the instances of commands that can still win; gives those that were not waited for.
fn lock(
    command: &Command<'_>,
    orders: &[Order],
    wanted: &[usize],
    patient: bool,
) -> Result<HashSet<Uuid>, Undone> {
    // Several commands on one instance each expect what the one before leaves.
    let mut expected: BTreeMap<Uuid, (i64, i32)> = BTreeMap::new();
    for order in wanted.iter().map(|at| &orders[*at]) {
        let (revision, material) = expected.entry(order.instance).or_default();
        *revision = order.expected_revision.max(*revision);
        *material = order.material_version.max(*material);
    }
    let column = |kind, value: fn((&Uuid, &(i64, i32))) -> Value<'static>| {
        Value::Array(kind, expected.iter().map(value).collect())
    };
    let key = [
        command.tenant(),
        column(Element::Uuid, |(id, _)| Value::Uuid(*id)),
        column(Element::Bigint, |(_, (revision, _))| {
            Value::Bigint(*revision)
        }),
        column(Element::Int, |(_, (_, material))| Value::Int(*material)),
        Value::Bool(backend::keeps_snapshot()),
    ];
    if patient {
        let budget = command.budget.without_subtransaction();
        let locked = || command.spi.run(&statements::LOCK_INSTANCES, &key).count();
        budget.wait(locked).map_err(|_| Undone::TimedOut)?;
        return Ok(HashSet::new());
    }
    let mut others: HashSet<Uuid> = expected.keys().copied().collect();
    let ours = command.spi.run(&statements::TRY_LOCK_INSTANCES, &key);
    for row in ours.rows() {
        others.remove(&row.uuid(0)?);
    }
    Ok(others)
}

/// What became of the leases that the commands present.
type Leases<'o> = HashMap<&'o Presented, Kept>;

/// The rows as they will be, while the commands are decided one after another.
struct Bench<'a> {
    command: &'a Command<'a>,
    rows: HashMap<Uuid, InstanceRow>,
    leases: &'a Leases<'a>,
    held_by_others: HashSet<Uuid>,
    /// What is left of the resources that are held, once they are.
    balances: Option<HashMap<String, i64>>,
    /// Changes of different instances each, in the order in which they must be written.
    waves: Vec<Vec<Change<'a>>>,
    /// How many commands of this call move an instance so far.
    steps_of: HashMap<Uuid, usize>,
    /// Which command of this call was decided under a key.
    keys_used: HashMap<&'a str, usize>,
    kept: Vec<(&'a str, &'a [u8], String)>,
}

impl<'a> Bench<'a> {
    fn new(
        command: &'a Command<'a>,
        rows: HashMap<Uuid, InstanceRow>,
        leases: &'a Leases<'a>,
        held_by_others: HashSet<Uuid>,
    ) -> Bench<'a> {
        Bench {
            command,
            rows,
            leases,
            held_by_others,
            balances: None,
            waves: Vec::new(),
            steps_of: HashMap::new(),
            keys_used: HashMap::new(),
            kept: Vec::new(),
        }
    }

    fn judge_all(&mut self, orders: &'a [Order], keys: &'a [Key]) -> Result<Vec<Verdict>, Undone> {
        let mut verdicts = Vec::with_capacity(orders.len());
        for (order, key) in orders.iter().zip(keys) {
            let verdict = self
                .judge(order, key, &verdicts)
                .map_err(|failure| numbered(failure, verdicts.len() + 1))?;
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    /// Everything that the commands move.
    fn movements(&self) -> impl Iterator<Item = &Movement> {
        let changes = self.waves.iter().flatten();
        changes.flat_map(|change| change.plan.movements())
    }

    /// Takes what a step moves from what is left, or refuses the step.
    fn draw(&mut self, order: &Order, row: &InstanceRow, plan: &Plan) -> Result<(), Failure> {
        let Some(balances) = self.balances.as_mut().filter(|_| plan.moves_resources()) else {
            return Ok(());
        };
        decide::settle(plan.movements(), |key| balances.get(key).copied())
            .map_err(|refusal| placed(refusal.into(), row, &order.expected(), 1))?;
        for movement in plan.movements() {
            if let Some(balance) = balances.get_mut(&movement.resource) {
                *balance += movement.quantity;
            }
        }
        Ok(())
    }

    fn judge(
        &mut self,
        order: &'a Order,
        key: &'a Key,
        before: &[Verdict],
    ) -> Result<Verdict, Failure> {
        match key {
            Key::Replay(outcome) => return Ok(Verdict::Replayed((**outcome).clone())),
            Key::Refused(refusal) => return Ok(Verdict::refused(refusal.clone())),
            Key::Ours(request) => {
                if let Some(at) = self.keys_used.get(request.key()) {
                    return self.same_key(request, &before[*at]);
                }
            }
            Key::None => {}
        }
        let Some(row) = self.rows.get(&order.instance) else {
            return Ok(Verdict::refused(Refusal::not_found("instance")));
        };
        let lease = order
            .lease
            .as_ref()
            .and_then(|lease| self.leases.get(lease));
        let is_held = self.held_by_others.contains(&order.instance) || lease == Some(&Kept::Busy);
        if is_held && !order.is_stale(row) {
            let shown = busy("a lock was not had in time", 1);
            let mut refusal = row.instance.refuse(Reason::Busy, shown.message);
            refusal.retry_after_ms = shown.retry_after_ms;
            refusal.expected = order.expected();
            refusal.attempts = 1;
            return Ok(Verdict::refused(refusal));
        }
        let definition = row.definition_id;
        match self.decide(order, row.clone(), key) {
            Ok(outcome) => {
                if let Key::Ours(request) = key {
                    self.keys_used.insert(request.key(), before.len());
                    self.kept
                        .push((request.key(), request.fingerprint(), image(&outcome)?));
                }
                Ok(Verdict::Takes(outcome))
            }
            Err(Failure::Refused(mut refusal)) => {
                refusal.attempts = 1;
                let (spi, tenant) = (self.command.spi, &self.command.caller.tenant);
                let definition = definitions::pinned(spi, tenant, definition)?;
                let event = decide::event_of(&definition.machine, &order.transition());
                Ok(Verdict::Refused(refusal, event))
            }
            Err(error) => Err(error),
        }
    }

    /// A key that a command before this one in the call was decided under.
    fn same_key(&self, request: &Request, first: &Verdict) -> Result<Verdict, Failure> {
        let same = self.kept.iter().any(|(key, fingerprint, _)| {
            *key == request.key() && *fingerprint == request.fingerprint()
        });
        match first {
            Verdict::Takes(outcome) if same => {
                let mut outcome = outcome.clone();
                outcome.replayed = true;
                Ok(Verdict::Repeats(outcome))
            }
            _ => Ok(Verdict::refused(request::mismatch(request.key()))),
        }
    }

    /// Nothing is carried out: what would have been answers where its instance stands, which is where
    /// the first change of it would have begun.
    fn withhold(&self, verdicts: Vec<Verdict>) -> Vec<Verdict> {
        let befores = self.waves.first().into_iter().flatten();
        let standing: HashMap<Uuid, &Instance> = befores
            .map(|change| (change.before.instance.id, &change.before.instance))
            .collect();
        let withheld = |mut outcome: Outcome| {
            if let Some(instance) = outcome.instance_id.and_then(|id| standing.get(&id)) {
                outcome.state = Some(instance.state.clone());
                outcome.revision = Some(instance.revision);
                outcome.material_version = Some(instance.material_version);
            }
            outcome.applied = false;
            outcome.replayed = false;
            outcome.event = None;
            outcome.task_ids.clear();
            outcome
        };
        let verdicts = verdicts.into_iter().map(|verdict| match verdict {
            Verdict::Takes(outcome) => Verdict::Takes(withheld(outcome)),
            Verdict::Repeats(outcome) => Verdict::Repeats(withheld(outcome)),
            other => other,
        });
        verdicts.collect()
    }

    /// Who has decided about an instance in this call so far. Its steps are not written before all
    /// of its commands are decided.
    fn acted(&self, instance: Uuid) -> Vec<Acted> {
        let changes = self.waves.iter().flatten();
        let own = changes.filter(|change| change.before.instance.id == instance);
        own.map(|change| Acted {
            state: change.before.instance.state.clone(),
            people: change.deciders(self.command),
        })
        .collect()
    }

    /// Decides a command and lets its instance stand where it leads.
    fn decide(
        &mut self,
        order: &'a Order,
        row: InstanceRow,
        key: &'a Key,
    ) -> Result<Outcome, Failure> {
        let command = self.command;
        let definition =
            definitions::pinned(command.spi, &command.caller.tenant, row.definition_id)?;
        let material = Material::Stored {
            application: row.instance.application_id,
            version: row.instance.material_version,
        };
        let payload = order.payload.as_ref();
        limits::check_document(command, payload)?;
        let lease = order.lease.as_ref();
        let lost = match lease.and_then(|lease| self.leases.get(lease)) {
            Some(Kept::Lost(why)) => Some(why.as_str()),
            _ => None,
        };
        let mut world = ServerWorld::new(command.spi, &command.caller, material, payload)
            .about(order.instance)
            .after(self.acted(order.instance))
            .under(lease, lost);
        let machine = &definition.machine;
        let decision = decide::transition(machine, &row.instance, &order.transition(), &mut world);
        let plan = world.finish(decision)?;
        self.draw(order, &row, &plan)?;
        let opened: Vec<Uuid> = (0..decide::opens(machine, &plan))
            .map(|_| Uuid::now_v7())
            .collect();
        let after = InstanceRow {
            instance: row.instance.after(machine, &plan, &opened),
            entered_revision: plan.entered_revision.unwrap_or(row.entered_revision),
            ..row.clone()
        };
        self.rows.insert(order.instance, after);
        let outcome = Scene::of(&row, &definition).outcome(&plan, opened.clone(), 1);
        let wave = self.steps_of.entry(order.instance).or_default();
        if *wave == self.waves.len() {
            self.waves.push(Vec::new());
        }
        self.waves[*wave].push(Change {
            before: row,
            definition,
            plan,
            opened,
            comment: order.comment.as_deref(),
            payload,
            request_id: match key {
                Key::Ours(request) => Some(request.key()),
                _ => None,
            },
            lease,
        });
        *wave += 1;
        Ok(outcome)
    }
}

fn image(outcome: &Outcome) -> Result<String, Report> {
    serde_json::to_string(outcome).map_err(|error| Report::invalid(format!("outcome: {error}")))
}

/// An error that one command of the call is to blame for names it.
fn numbered(failure: Failure, ordinal: usize) -> Failure {
    match failure {
        Failure::Error(report) => Failure::Error(about(report, ordinal)),
        refused => refused,
    }
}

/// Says which command of a call an error is about.
pub fn about(report: Report, ordinal: usize) -> Report {
    Report {
        message: format!("command {ordinal}: {}", report.message),
        ..report
    }
}
