//! What a command could have seen: committed states that were visible at some moment of its
//! snapshot, and on top of them what its own transaction had done before it.

use std::collections::HashMap;

use serde_json::Value;
use uuid::Uuid;

use crate::instance::Instance;
use crate::machine::Machine;
use crate::model::Model;
use crate::oracle::{Node, Step};
use crate::record::{At, Record, Span};
use crate::round::Round;

/// Where an instance may have stood.
pub struct Sight<'a> {
    pub application: Uuid,
    pub machine: &'a Machine,
    pub nodes: Vec<Node>,
    /// Whether it may not have been there at all.
    pub maybe_absent: bool,
    /// Whether these are uncommitted states of the own transaction.
    pub own: bool,
}

/// Something the own transaction did.
struct Pending<T> {
    seq: u32,
    undone: Option<u32>,
    what: T,
}

impl<T> Pending<T> {
    fn holds_at(&self, seq: u32) -> bool {
        self.seq < seq && self.undone.is_none_or(|undone| undone > seq)
    }
}

struct PendingInstance<'a> {
    id: Uuid,
    tenant: usize,
    application: Uuid,
    machine: &'a Machine,
    /// Where it may stand now, each with the steps that led there.
    states: Vec<(Node, Vec<Step>)>,
    /// Whether it may not have been there when a supersede passed.
    maybe_absent: bool,
    actor: &'static str,
}

struct PendingMaterial {
    application: Uuid,
    tenant: usize,
    business_key: Option<(usize, String)>,
    version: i32,
    content: Value,
    author: &'static str,
}

/// The sight of one transaction, filled as its commands are looked at in order.
pub struct View<'a> {
    pub round: &'a Round<'a>,
    pub model: &'a Model<'a>,
    pub transaction: usize,
    /// To which application an instance belongs, as far as anybody learned it.
    pub applications: &'a HashMap<Uuid, Uuid>,
    instances: Vec<Pending<PendingInstance<'a>>>,
    materials: Vec<Pending<PendingMaterial>>,
    requests: Vec<Pending<At>>,
}

/// A history row as a winner shows it.
pub struct Won {
    pub step: Step,
    pub actor: &'static str,
}

impl<'a> View<'a> {
    pub fn new(
        round: &'a Round<'a>,
        model: &'a Model<'a>,
        applications: &'a HashMap<Uuid, Uuid>,
        transaction: usize,
    ) -> View<'a> {
        View {
            applications,
            round,
            model,
            transaction,
            instances: Vec::new(),
            materials: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// When the command's snapshot was taken.
    pub fn window(&self, record: &Record) -> Span {
        self.round.transactions[self.transaction].snapshot(record)
    }

    /// Whether what `made` did could be visible.
    fn possible(&self, made: At, window: Span) -> bool {
        made.transaction != self.transaction && self.round.end(made).from <= window.to
    }

    /// Whether what `made` did must have been visible.
    pub fn certain(&self, made: At, window: Span) -> bool {
        made.transaction != self.transaction && self.round.end(made).to < window.from
    }

    /// An instance as this command may have found it. `None`: it cannot have been there for this
    /// tenant.
    pub fn instance(&self, record: &Record, tenant: usize, id: Uuid) -> Option<Sight<'a>> {
        let own = self
            .instances
            .iter()
            .rfind(|pending| pending.what.id == id && pending.holds_at(record.seq));
        if let Some(Pending { what, .. }) = own {
            return (what.tenant == tenant).then(|| Sight {
                application: what.application,
                machine: what.machine,
                nodes: what.states.iter().map(|(node, _)| node.clone()).collect(),
                maybe_absent: what.maybe_absent,
                own: true,
            });
        }
        let instance = self.model.instances.get(&id)?;
        if instance.tenant != tenant {
            return None;
        }
        let window = self.window(record);
        let nodes = self.committed(instance, window);
        if nodes.is_empty() {
            return None;
        }
        Some(Sight {
            application: instance.application,
            machine: instance.machine,
            nodes,
            maybe_absent: !self.certain(instance.placed[0].made, window),
            own: false,
        })
    }

    fn committed(&self, instance: &Instance<'_>, window: Span) -> Vec<Node> {
        let placed = &instance.placed;
        let visible = placed.iter().enumerate().filter(|(index, here)| {
            let next = placed.get(index + 1);
            self.possible(here.made, window)
                && next.is_none_or(|next| {
                    next.made.transaction != here.made.transaction
                        && !self.certain(next.made, window)
                })
        });
        visible.map(|(_, here)| here.node.clone()).collect()
    }

    /// Instances of an application that may have been there.
    pub fn instances_of(&self, record: &Record, application: Uuid) -> Vec<(Uuid, Sight<'a>)> {
        let mut ids: Vec<Uuid> = self
            .model
            .applications
            .get(&application)
            .map(|application| application.instances.clone())
            .unwrap_or_default();
        for pending in &self.instances {
            if pending.what.application == application && !ids.contains(&pending.what.id) {
                ids.push(pending.what.id);
            }
        }
        let tenant = self.round.library.tenant(&record.command.identity.tenant);
        ids.into_iter()
            .filter_map(|id| Some((id, self.instance(record, tenant, id)?)))
            .collect()
    }

    /// Material versions that may have been in force; empty: no such application can have been
    /// there. And whether it may not have been.
    pub fn materials(&self, record: &Record, tenant: usize, id: Uuid) -> (Vec<i32>, bool) {
        let own = self
            .materials
            .iter()
            .rfind(|pending| pending.what.application == id && pending.holds_at(record.seq));
        if let Some(Pending { what, .. }) = own {
            return if what.tenant == tenant {
                (vec![what.version], false)
            } else {
                (Vec::new(), true)
            };
        }
        let Some(application) = self.model.applications.get(&id) else {
            return (Vec::new(), true);
        };
        if application.tenant != tenant {
            return (Vec::new(), true);
        }
        let window = self.window(record);
        let versions = &application.versions;
        let visible = versions.iter().enumerate().filter(|(index, here)| {
            let next = versions.get(index + 1);
            self.possible(here.made, window)
                && next.is_none_or(|next| {
                    next.made.transaction != here.made.transaction
                        && !self.certain(next.made, window)
                })
        });
        let visible = visible.map(|(index, _)| index as i32 + 1).collect();
        (visible, !self.certain(versions[0].made, window))
    }

    /// The application of a business key, if there can have been one.
    pub fn application(&self, record: &Record, tenant: usize, business_key: &str) -> Option<Uuid> {
        let key = (tenant, business_key.to_owned());
        let own = self.materials.iter().rfind(|pending| {
            pending.what.business_key.as_ref() == Some(&key) && pending.holds_at(record.seq)
        });
        own.map(|pending| pending.what.application)
            .or_else(|| self.model.business_keys.get(&key).copied())
    }

    /// A material's content as this command sees it.
    pub fn content(&self, record: &Record, application: Uuid, version: i32) -> Option<&Value> {
        let own = self.materials.iter().rfind(|pending| {
            pending.what.application == application
                && pending.what.version == version
                && pending.holds_at(record.seq)
        });
        own.map(|pending| &pending.what.content)
            .or_else(|| self.model.applications.get(&application)?.content(version))
    }

    /// Who may have written a material, as this command sees it.
    pub fn authors(&self, record: &Record, application: Uuid, version: i32) -> Vec<&'static str> {
        let own = self.materials.iter().filter(|pending| {
            pending.what.application == application
                && pending.what.version == version
                && pending.holds_at(record.seq)
        });
        let mut authors: Vec<&'static str> = own.clone().map(|own| own.what.author).collect();
        // What a start names may have been there before.
        if own.clone().all(|own| own.what.business_key.is_some())
            && let Some(known) = self.model.applications.get(&application)
            && let Some(known) = known.version(version)
        {
            authors.extend(&known.authors);
        }
        authors
    }

    /// The history rows that a revision may have.
    pub fn won(&self, record: &Record, id: Uuid, revision: i64) -> Vec<Won> {
        let own = self
            .instances
            .iter()
            .filter(|pending| pending.what.id == id && pending.holds_at(record.seq))
            .flat_map(|pending| {
                let states = pending.what.states.iter();
                states.map(move |(_, steps)| (steps, pending.what.actor))
            })
            .flat_map(|(steps, actor)| steps.iter().map(move |step| (step, actor)))
            .filter(|(step, _)| step.revision == revision)
            .map(|(step, actor)| Won {
                step: step.clone(),
                actor,
            });
        // Where the own transaction may have begun at several revisions, the row may be of either.
        let rows = self.model.instances.get(&id).map(|instance| &instance.rows);
        let row = rows.and_then(|rows| rows.get(usize::try_from(revision).ok()?.checked_sub(1)?));
        let committed = row.map(|row| Won {
            step: row.step.clone(),
            actor: self.round.command(row.made).identity.actor,
        });
        own.chain(committed).collect()
    }

    /// The command that owns a request key, if this one can have seen it; and whether it must have.
    pub fn request(&self, record: &Record, tenant: usize, key: &str) -> Option<(At, bool)> {
        let own = self.requests.iter().rfind(|pending| {
            self.round.command(pending.what).request.as_deref() == Some(key)
                && self.round.tenant(pending.what) == tenant
                && pending.holds_at(record.seq)
        });
        if let Some(pending) = own {
            return Some((pending.what, true));
        }
        let owner = *self.model.requests.get(&(tenant, key.to_owned()))?;
        let window = self.window(record);
        self.possible(owner, window)
            .then(|| (owner, self.certain(owner, window)))
    }

    /// Remembers where this command left an instance.
    pub fn moved(
        &mut self,
        record: &Record,
        id: Uuid,
        application: Uuid,
        machine: &'a Machine,
        states: Vec<(Node, Vec<Step>)>,
        maybe_absent: bool,
    ) {
        self.instances.push(Pending {
            seq: record.seq,
            undone: record.undone.map(|(seq, _)| seq),
            what: PendingInstance {
                id,
                tenant: self.round.library.tenant(&record.command.identity.tenant),
                application,
                machine,
                states,
                maybe_absent,
                actor: record.command.identity.actor,
            },
        });
    }

    /// Remembers that this command brought a material into force.
    pub fn brought(
        &mut self,
        record: &Record,
        application: Uuid,
        business_key: Option<(usize, String)>,
        version: i32,
        content: Value,
    ) {
        self.materials.push(Pending {
            seq: record.seq,
            undone: record.undone.map(|(seq, _)| seq),
            what: PendingMaterial {
                application,
                tenant: self.round.library.tenant(&record.command.identity.tenant),
                business_key,
                version,
                content,
                author: record.command.identity.actor,
            },
        });
    }

    /// Remembers that this command took its request key.
    pub fn took_key(&mut self, record: &Record, at: At) {
        self.requests.push(Pending {
            seq: record.seq,
            undone: record.undone.map(|(seq, _)| seq),
            what: at,
        });
    }

    /// Where a committed command left each instance it touched, with its steps.
    pub fn left(&self, at: At) -> Vec<(&'a Instance<'a>, Node, Vec<Step>)> {
        let touched = self.model.made.get(&at).into_iter().flatten();
        let left = touched.map(|id| {
            let instance = &self.model.instances[id];
            let mut placed = instance.placed.iter();
            let placed = placed.find(|placed| placed.made == at);
            let rows = instance.rows.iter().filter(|row| row.made == at);
            let steps = rows.map(|row| row.step.clone()).collect();
            (instance, placed.expect("made by it").node.clone(), steps)
        });
        left.collect()
    }
}
