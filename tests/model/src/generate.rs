//! Draws the next command: mostly one that could succeed, often one that is too late, sometimes one
//! that is wrong in every other way.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::board::{Board, Known, Position};
use crate::command::{Action, Command, Identity, OnRefusal, Send, Start, Transition};
use crate::machine::{Edge, Guard, Machine};
use crate::rng::Rng;

pub const PEOPLE: [(&str, &[&str]); 4] = [
    ("ann", &["reviewer", "chief", "author"]),
    ("bob", &["chief", "reviewer"]),
    ("cyd", &["reviewer", "author"]),
    ("dot", &[]),
];

const DEFINITIONS: [&str; 5] = ["review", "threshold", "pendulum", "council", "council"];

/// What one session draws from.
pub struct Generator<'a> {
    pub rng: Rng,
    pub tenants: &'a [String],
    pub board: &'a Board<'a>,
    /// Makes the request keys of a session its own until others repeat them.
    pub keys: String,
    pub drawn: u64,
}

/// The person a transaction acts for, where `wf_as` says so once.
#[derive(Clone)]
pub struct Acting {
    pub tenant: usize,
    pub identity: Identity,
}

impl<'a> Generator<'a> {
    /// Somebody of some tenant.
    pub fn person(&mut self, as_arguments: bool) -> Acting {
        let tenant = usize::from(self.rng.chance(30));
        let (actor, roles) = PEOPLE[self.rng.weighted(&[45, 25, 20, 10])];
        Acting {
            tenant,
            identity: Identity {
                tenant: self.tenants[tenant].clone(),
                actor,
                roles,
                as_arguments,
            },
        }
    }

    /// The next command, on behalf of `acting` or of somebody new, and its tenant.
    pub fn next(&mut self, acting: Option<&Acting>) -> (usize, Command) {
        if acting.is_none()
            && self.rng.chance(7)
            && let Some(repeated) = self.repeat()
        {
            return repeated;
        }
        let acting = acting.cloned().unwrap_or_else(|| self.person(true));
        let action = self.action(acting.tenant);
        let on_refusal = if self.rng.chance(65) {
            OnRefusal::Return
        } else {
            OnRefusal::Raise
        };
        let mut command = Command {
            as_try: false,
            many: None,
            on_refusal,
            request: None,
            identity: acting.identity,
            action,
        };
        if matches!(command.action, Action::Transition(_)) {
            command.as_try = on_refusal == OnRefusal::Return && self.rng.chance(60);
        }
        self.give_key(acting.tenant, &mut command);
        (acting.tenant, command)
    }

    /// A request key, now and then.
    pub fn give_key(&mut self, tenant: usize, command: &mut Command) {
        if command.takes_key() && command.identity.as_arguments && self.rng.chance(25) {
            self.drawn += 1;
            command.request = Some(format!("{}-{}", self.keys, self.drawn));
            // Known before it is sent, so that others use the key at the same time.
            self.board
                .with(tenant, |tenant| tenant.learn_request(command));
        }
    }

    /// A command under a key that was used before: the same one, or with something changed.
    fn repeat(&mut self) -> Option<(usize, Command)> {
        let at = usize::from(self.rng.chance(30));
        let known = self.board.with(at, |tenant| {
            (!tenant.requests.is_empty()).then(|| self.rng.pick_from(&tenant.requests).clone())
        });
        let mut command = known?;
        match self.rng.below(10) {
            0 => command.on_refusal = flip(command.on_refusal),
            1 => command.identity.actor = "eve",
            2 => command.action = self.action(at),
            3 => alter(&mut command.action),
            // The same command in its other spelling.
            4 => command.as_try = !command.as_try,
            // Another command, though it says the same.
            5 => command.many = command.many.is_none().then_some(false),
            _ => {}
        }
        match &mut command.action {
            Action::Transition(transition) if command.many.is_some() => transition.wait_ms = None,
            _ => command.many = None,
        }
        command.as_try = command.as_try
            && command.on_refusal == OnRefusal::Return
            && command.many.is_none()
            && matches!(command.action, Action::Transition(_));
        command.takes_key().then_some((at, command))
    }

    fn action(&mut self, tenant: usize) -> Action {
        let Some(known) = self.instance(tenant) else {
            return self.start(tenant);
        };
        if !known.tasks.is_empty() && self.rng.chance(50) {
            return self.work(&known);
        }
        match self.rng.weighted(&[42, 24, 7, 7, 5, 6, 9, 3]) {
            0 => Action::Transition(self.transition(&known)),
            1 => Action::Send(self.send(&known)),
            2 => self.supersede(tenant, &known),
            3 => self.start(tenant),
            4 => Action::Lock {
                instance: self.named(tenant, known.instance),
                wait_ms: self.wait_ms(),
            },
            5 => Action::Check(self.transition(&known)),
            6 => Action::Get {
                instance: self.named(tenant, known.instance),
            },
            _ => Action::Find {
                definition: self.rng.pick::<&str>(&DEFINITIONS),
                business_key: self.business_key(),
            },
        }
    }

    /// Two in three times the instance that everybody looks at.
    pub fn instance(&mut self, tenant: usize) -> Option<Known<'a>> {
        let rng = &mut self.rng;
        self.board.with(tenant, |tenant| {
            if tenant.instances.is_empty() {
                None
            } else if rng.chance(65) {
                tenant.instances.back().cloned()
            } else {
                Some(rng.pick_from(&tenant.instances).clone())
            }
        })
    }

    /// The id, or now and then one of nobody or of another tenant.
    pub fn named(&mut self, tenant: usize, instance: Uuid) -> Uuid {
        match self.rng.below(60) {
            0 => Uuid::new_v4(),
            1 => {
                let other = self.board.with(1 - tenant, |other| {
                    other.instances.back().map(|known| known.instance)
                });
                other.unwrap_or(instance)
            }
            _ => instance,
        }
    }

    fn wait_ms(&mut self) -> Option<i32> {
        match self.rng.below(10) {
            0 | 1 => Some(0),
            2 | 3 => Some(1 + self.rng.below(30) as i32),
            4 => Some(2000),
            _ => None,
        }
    }

    fn business_key(&mut self) -> String {
        match self.rng.below(12) {
            0 => format!("{}-own-{}", self.keys, self.drawn),
            n => format!("case-{}", n % 3),
        }
    }

    fn material(&mut self) -> Value {
        let amount = match self.rng.below(9) {
            0 => json!(5),
            1 | 2 => json!(500),
            3 | 4 => json!(20_000),
            5 => json!(50),
            6 => json!("20000"),
            7 => return json!({"note": "no amount"}),
            _ => json!(self.rng.below(30_000)),
        };
        json!({"amount": amount})
    }

    fn start(&mut self, tenant: usize) -> Action {
        let definition = *self.rng.pick::<&str>(&DEFINITIONS);
        let material = match self.rng.below(10) {
            0..=3 => None,
            4..=7 => self.board.with(tenant, |tenant| {
                tenant.applications.last().and_then(|known| known.2.clone())
            }),
            _ => Some(self.material()),
        };
        let material = if self
            .board
            .with(tenant, |tenant| tenant.instances.is_empty())
        {
            Some(material.unwrap_or_else(|| json!({"amount": 500})))
        } else {
            material
        };
        let version = match self.rng.below(6) {
            0 => Some(1),
            1 => Some(2),
            2 if self.rng.chance(20) => Some(7),
            _ => None,
        };
        Action::Start(Start {
            definition,
            business_key: self.business_key(),
            material,
            version,
        })
    }

    fn supersede(&mut self, tenant: usize, known: &Known<'_>) -> Action {
        let application = self.named(tenant, known.application);
        let believed = self.board.with(tenant, |tenant| {
            tenant
                .applications
                .iter()
                .find(|(id, _, _)| *id == application)
                .map(|(_, version, _)| *version)
        });
        let expected = believed.unwrap_or(1)
            + match self.rng.below(12) {
                0 => 1,
                1 => -1,
                _ => 0,
            };
        Action::Supersede {
            application,
            expected: expected.max(1),
            material: self.material(),
        }
    }

    /// Mostly the newest position, else an older one.
    pub fn position(&mut self, known: &Known<'_>) -> Position {
        if self.rng.chance(80) {
            known.positions.back().expect("never empty").clone()
        } else {
            self.rng.pick_from(&known.positions).clone()
        }
    }

    /// An edge of the state, rarely one that ends the instance.
    pub fn edge(&mut self, machine: &Machine, state: &str) -> Option<Edge> {
        let state = machine.state(state)?;
        let ends = |edge: &Edge| machine.state(edge.target).is_some_and(|to| to.last);
        let weights: Vec<usize> = state
            .on
            .iter()
            .map(|edge| if ends(edge) { 1 } else { 6 })
            .collect();
        (!weights.is_empty()).then(|| state.on[self.rng.weighted(&weights)].clone())
    }

    pub fn payload(&mut self, edge: Option<&Edge>) -> Option<Value> {
        let asked = edge.is_some_and(|edge| edge.guard == Some(Guard::PayloadOk));
        match self.rng.below(if asked { 5 } else { 12 }) {
            0 => Some(json!({"ok": false})),
            1 => Some(json!({"ok": "true"})),
            2 => Some(json!({})),
            3 | 4 => Some(json!({"ok": true})),
            _ => None,
        }
    }

    pub fn transition(&mut self, known: &Known<'_>) -> Transition {
        let position = self.position(known);
        let machine = known.machine;
        // A form of another state, now and then.
        let from = if self.rng.chance(6) {
            self.rng.pick(&machine.states).name.to_owned()
        } else {
            position.state
        };
        let edge = self.edge(machine, &from);
        let to = match &edge {
            Some(edge) if !self.rng.chance(4) => edge.target.to_owned(),
            _ => self.rng.pick(&machine.states).name.to_owned(),
        };
        let event = match self.rng.below(20) {
            0 => Some("NOSUCH".to_owned()),
            1 => Some("SWING".to_owned()),
            2..=7 => None,
            _ => edge.as_ref().map(|edge| edge.event.to_owned()),
        };
        let revision = match self.rng.below(40) {
            0 => i64::MAX,
            1 => position.revision + 1 + self.rng.below(3) as i64,
            2 => position.revision - 1,
            _ => position.revision,
        };
        let material = match self.rng.below(25) {
            0 => position.material + 1,
            1 => (position.material - 1).max(1),
            _ => position.material,
        };
        let comment = self.rng.chance(20).then(|| "as discussed".to_owned());
        Transition {
            instance: known.instance,
            from,
            to,
            revision,
            material,
            event,
            comment,
            payload: self.payload(edge.as_ref()),
            wait_ms: self.wait_ms(),
        }
    }

    fn send(&mut self, known: &Known<'_>) -> Send {
        let position = self.position(known);
        let edge = self.edge(known.machine, &position.state);
        let event = match &edge {
            Some(edge) if !self.rng.chance(10) => edge.event,
            _ => self
                .rng
                .pick(&["NOTE", "TOUCH", "PUSH", "APPROVE", "GRADE", "NOSUCH"]),
        };
        let decides = edge.as_ref().is_some_and(|edge| edge.decision.is_some());
        let looked = self.rng.chance(if decides { 90 } else { 35 });
        let material = if looked { 90 } else { 8 };
        Send {
            instance: known.instance,
            event: event.to_owned(),
            payload: self.payload(edge.as_ref()),
            revision: looked.then_some(position.revision),
            material: self.rng.chance(material).then_some(position.material),
            lock_mode: match self.rng.below(6) {
                0 | 1 => Some("optimistic"),
                2 | 3 => Some("pessimistic"),
                _ => None,
            },
            wait_ms: self.wait_ms(),
        }
    }
}

fn flip(on_refusal: OnRefusal) -> OnRefusal {
    match on_refusal {
        OnRefusal::Raise => OnRefusal::Return,
        OnRefusal::Return => OnRefusal::Raise,
    }
}

/// The smallest change that makes another command.
fn alter(action: &mut Action) {
    match action {
        Action::Transition(transition) => transition.comment = Some("changed".to_owned()),
        Action::Send(send) => send.payload = Some(json!({"changed": true})),
        Action::Decide(decide) => decide.comment = Some("changed".to_owned()),
        Action::Start(start) => start.business_key.push('!'),
        Action::Supersede { material, .. } => *material = json!({"amount": 1, "changed": true}),
        _ => {}
    }
}
