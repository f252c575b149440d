//! The tenants of a round and the definitions they see.

use crate::machine::Machine;
use crate::machines;

/// The definitions of a run. Shared ones are published once; the second tenant of every round has a
/// `review` of its own.
pub struct Library {
    shared: Vec<Machine>,
    own: Machine,
    tenants: Vec<String>,
}

impl Library {
    pub fn new(tenants: Vec<String>) -> Library {
        Library {
            shared: vec![
                machines::review(&["reviewer"]),
                machines::threshold(),
                machines::pendulum(1),
                machines::pendulum(2),
                machines::council(),
            ],
            own: machines::review(&["chief"]),
            tenants,
        }
    }

    pub fn tenants(&self) -> &[String] {
        &self.tenants
    }

    /// Index of a tenant.
    pub fn tenant(&self, name: &str) -> usize {
        self.tenants
            .iter()
            .position(|tenant| tenant == name)
            .expect("a tenant of the round")
    }

    /// What is published for all tenants, in order of publication: the first of a name is active.
    pub fn shared(&self) -> &[Machine] {
        &self.shared
    }

    /// What the second tenant publishes for itself.
    pub fn own(&self) -> &Machine {
        &self.own
    }

    /// What a tenant gets by a name, and a version if it names one.
    pub fn find(&self, tenant: usize, name: &str, version: Option<i32>) -> Option<&Machine> {
        let version = version.unwrap_or(1);
        let own = (tenant == 1 && self.own.name == name).then_some(&self.own);
        own.into_iter()
            .chain(&self.shared)
            .find(|machine| machine.name == name && machine.version == version)
    }
}
