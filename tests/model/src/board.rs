//! What the sessions of a round believe. It is fed by answers, also by those of transactions that
//! are still open or will be rolled back, so beliefs are at times stale, at times ahead: both are
//! what real clients hold in their hands.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::Value;
use uuid::Uuid;

use crate::command::Command;
use crate::machine::Machine;

/// How many instances and keys are remembered: few, so that sessions meet.
const INSTANCES: usize = 6;
const POSITIONS: usize = 6;
const REQUESTS: usize = 8;
const TASKS: usize = 12;

/// Where an instance is thought to stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    pub state: String,
    pub revision: i64,
    pub material: i32,
}

#[derive(Clone)]
pub struct Known<'a> {
    pub instance: Uuid,
    pub application: Uuid,
    pub machine: &'a Machine,
    /// The latest one last.
    pub positions: VecDeque<Position>,
    /// Tasks by which it was asked, the latest ones last.
    pub tasks: VecDeque<Uuid>,
}

/// What is known of one tenant.
#[derive(Clone, Default)]
pub struct Tenant<'a> {
    pub instances: VecDeque<Known<'a>>,
    /// Applications with the material thought to be in force.
    pub applications: Vec<(Uuid, i32, Option<Value>)>,
    pub requests: VecDeque<Command>,
}

pub struct Board<'a>(Vec<Mutex<Tenant<'a>>>);

impl<'a> Board<'a> {
    pub fn new(tenants: usize) -> Board<'a> {
        Board((0..tenants).map(|_| Mutex::default()).collect())
    }

    /// A look at a tenant.
    pub fn with<T>(&self, tenant: usize, look: impl FnOnce(&mut Tenant<'a>) -> T) -> T {
        look(&mut self.0[tenant].lock().expect("no session panics here"))
    }
}

impl<'a> Tenant<'a> {
    pub fn learn_instance(
        &mut self,
        instance: Uuid,
        application: Uuid,
        machine: &'a Machine,
        position: Position,
    ) {
        if self
            .instances
            .iter()
            .any(|known| known.instance == instance)
        {
            return;
        }
        if self.instances.len() == INSTANCES {
            self.instances.pop_front();
        }
        self.instances.push_back(Known {
            instance,
            application,
            machine,
            positions: VecDeque::from([position]),
            tasks: VecDeque::new(),
        });
    }

    pub fn learn_position(&mut self, instance: Uuid, position: Position) {
        let known = self
            .instances
            .iter_mut()
            .find(|known| known.instance == instance);
        if let Some(known) = known
            && known.positions.back() != Some(&position)
        {
            if known.positions.len() == POSITIONS {
                known.positions.pop_front();
            }
            known.positions.push_back(position);
        }
    }

    pub fn learn_task(&mut self, instance: Uuid, task: Uuid) {
        let mut instances = self.instances.iter_mut();
        let Some(known) = instances.find(|known| known.instance == instance) else {
            return;
        };
        if !known.tasks.contains(&task) {
            if known.tasks.len() == TASKS {
                known.tasks.pop_front();
            }
            known.tasks.push_back(task);
        }
    }

    pub fn learn_material(&mut self, application: Uuid, version: i32, content: Option<&Value>) {
        let known = self
            .applications
            .iter_mut()
            .find(|(id, _, _)| *id == application);
        match known {
            Some((_, newest, kept)) => {
                if version != *newest {
                    *kept = None;
                }
                *newest = version;
                if content.is_some() {
                    *kept = content.cloned();
                }
            }
            None => self
                .applications
                .push((application, version, content.cloned())),
        }
    }

    pub fn learn_request(&mut self, command: &Command) {
        if self.requests.len() == REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back(command.clone());
    }
}
