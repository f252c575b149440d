//! A gate with a queue in front of it, made for many sessions on few processors.
//!
//! A lock of PostgreSQL's that is released is handed to the one who waits first, who must be woken
//! before anything goes on: between any two holders lies a switch of processes, and on a busy machine
//! the wait for one (a lock convoy). So nobody queues for the gate itself. They queue for a place before
//! it, in order of arrival; only the first of them watches the gate, by waiting for the end of the
//! transaction that holds it, and then tries it like anybody who has just arrived. Whoever is running at
//! that moment goes on at once. One who has been overtaken a few times is handed the gate in the end.

use std::hint;

use super::wait::{Budget, KeyLock, LockKind, TimedOut};

/// How often the first in the queue is overtaken at most.
const OVERTAKEN: u32 = 2;
/// A holder whose transaction has just ended is about to release the gate.
const SPINS: u32 = 1000;

/// The gate of one key of one tenant, held to the end of the transaction.
pub struct Turnstile {
    gate: KeyLock,
    queue: KeyLock,
}

impl Turnstile {
    /// The turnstile of a key.
    pub fn new(tenant: &str, key: &[u8]) -> Turnstile {
        Turnstile {
            gate: KeyLock::of_bytes(LockKind::Gate, tenant, key),
            queue: KeyLock::of_bytes(LockKind::GateQueue, tenant, key),
        }
    }

    /// Goes through, if nobody is inside.
    pub fn try_pass(&self) -> bool {
        self.gate.try_take()
    }

    /// Where the gate stands in the order in which several are passed.
    pub fn order(&self) -> (u32, u32) {
        self.gate.order()
    }

    /// How many sessions wait.
    pub fn waiting(&self) -> u64 {
        self.queue.wanted_by()
    }

    /// Goes through, after a wait within the budget.
    pub fn pass(&self, budget: &Budget) -> Result<(), TimedOut> {
        budget.wait(|| {
            self.queue.wait();
            self.pass_as_first();
            self.queue.release();
        })
    }

    fn pass_as_first(&self) {
        for _ in 0..OVERTAKEN {
            if self.gate.try_take() {
                return;
            }
            if !self.gate.await_holder() {
                for _ in 0..SPINS {
                    hint::spin_loop();
                }
            }
        }
        self.gate.wait();
    }
}
