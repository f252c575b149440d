//! The ways to take one step of a case.

use std::time::Duration;

use postgres::{Client, Statement};
use uuid::Uuid;

use crate::server::Result;

/// How a step ended.
pub enum Step {
    /// It was taken.
    Done,
    /// Nothing happened; it may be taken after this time.
    Busy(Duration),
}

/// A connection of somebody who takes steps.
pub trait Session {
    /// Takes a step of a case.
    fn step(&mut self, case: Uuid) -> Result<Step>;
}

/// A way to take steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A client's transaction of six statements, with the row locked by `FOR UPDATE`.
    ClientForUpdate,
    /// One call of a PL/pgSQL function that updates the row, with no queue in front of it.
    ServerUpdate,
    /// `wf_send` in this lock mode.
    Workflow(&'static str),
}

impl Peer {
    /// For the report.
    pub fn name(self) -> String {
        match self {
            Peer::ClientForUpdate => "client FOR UPDATE, 6 statements".to_owned(),
            Peer::ServerUpdate => "PL/pgSQL function, ungated".to_owned(),
            Peer::Workflow(mode) => format!("wf_send, {mode}"),
        }
    }

    /// Prepares what it sends.
    pub fn session(self, mut client: Client) -> Result<Box<dyn Session>> {
        Ok(match self {
            Peer::ClientForUpdate => Box::new(ForUpdate {
                lock: client.prepare(
                    "SELECT state, revision, material_version FROM peer_case WHERE id = $1 FOR UPDATE",
                )?,
                update: client.prepare(
                    "UPDATE peer_case SET revision = $2, updated_at = clock_timestamp() WHERE id = $1",
                )?,
                history: client.prepare(
                    "INSERT INTO peer_history (case_id, revision, from_state, to_state, event, actor, material_version)
                     VALUES ($1, $2, $3, $3, 'NOTE', 'ann', $4)",
                )?,
                outbox: client.prepare(
                    "INSERT INTO peer_outbox (case_id, type, payload)
                     VALUES ($1, 'NOTE', jsonb_build_object('revision', $2::bigint, 'state', $3::text))",
                )?,
                client,
            }),
            Peer::ServerUpdate => Box::new(Call {
                call: client.prepare("SELECT peer_step($1, 'NOTE', 'ann')")?,
                client,
            }),
            Peer::Workflow(mode) => Box::new(Send {
                send: client.prepare(
                    "SELECT applied, code, retry_after_ms FROM wf_send(instance => $1, event => 'NOTE',
                            lock_mode => $2, actor => 'ann', on_refusal => 'return')",
                )?,
                mode,
                client,
            }),
        })
    }
}

struct ForUpdate {
    client: Client,
    lock: Statement,
    update: Statement,
    history: Statement,
    outbox: Statement,
}

impl Session for ForUpdate {
    fn step(&mut self, case: Uuid) -> Result<Step> {
        let mut transaction = self.client.transaction()?;
        let row = transaction.query_one(&self.lock, &[&case])?;
        let (state, revision, version): (String, i64, i32) = (row.get(0), row.get(1), row.get(2));
        let next = revision + 1;
        transaction.execute(&self.update, &[&case, &next])?;
        transaction.execute(&self.history, &[&case, &next, &state, &version])?;
        transaction.execute(&self.outbox, &[&case, &next, &state])?;
        transaction.commit()?;
        Ok(Step::Done)
    }
}

struct Call {
    client: Client,
    call: Statement,
}

impl Session for Call {
    fn step(&mut self, case: Uuid) -> Result<Step> {
        self.client.query_one(&self.call, &[&case])?;
        Ok(Step::Done)
    }
}

/// A session of the extension.
pub struct Send {
    client: Client,
    send: Statement,
    mode: &'static str,
}

impl Session for Send {
    fn step(&mut self, case: Uuid) -> Result<Step> {
        let row = self.client.query_one(&self.send, &[&case, &self.mode])?;
        let (applied, code): (bool, Option<String>) = (row.get(0), row.get(1));
        match (applied, code.as_deref()) {
            (true, _) => Ok(Step::Done),
            (false, Some("55P03")) => {
                let after: i32 = row.get(2);
                Ok(Step::Busy(Duration::from_millis(after as u64)))
            }
            (false, code) => Err(format!("wf_send answered {code:?}").into()),
        }
    }
}
