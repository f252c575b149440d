//! Waiting for locks within a budget, and the locks of our own.
//!
//! PostgreSQL's `lock_timeout` counts each wait anew. A budget counts all of them together: while a
//! wait is on, its timer stands at what is left. Running out is an ERROR inside PostgreSQL; where
//! the caller wants an answer instead, the wait runs in a subtransaction in which nothing is written.

use std::os::raw::c_int;
use std::time::{Duration, Instant};

use pgrx::pg_sys;
use pgrx::{PgSqlErrorCode, PgTryBuilder};
use sha2::{Digest, Sha256};

use super::subtransaction;
use super::{backend, installation};

/// How long a command may still wait.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    started: Instant,
    total: Duration,
    subtransaction: bool,
}

/// The budget was spent before the lock was had.
#[derive(Clone, Copy, Debug)]
pub struct TimedOut;

impl Budget {
    /// A budget that begins now. `keep_transaction`: running out must leave the transaction usable.
    pub fn new(total_ms: i32, keep_transaction: bool) -> Budget {
        Budget {
            started: Instant::now(),
            total: Duration::from_millis(total_ms.max(0) as u64),
            subtransaction: keep_transaction,
        }
    }

    /// The same budget where running out must leave the transaction usable.
    pub fn keeping_transaction(&self) -> Budget {
        Budget {
            subtransaction: true,
            ..*self
        }
    }

    /// The same budget for waits in a subtransaction of the caller's, who undoes it after `TimedOut`.
    pub fn without_subtransaction(&self) -> Budget {
        Budget {
            subtransaction: false,
            ..*self
        }
    }

    /// What is left; zero once it is spent.
    pub fn remaining(&self) -> Duration {
        self.total.saturating_sub(self.started.elapsed())
    }

    /// Runs `block`, which may wait for a lock, for no longer than is left. After `TimedOut` from a
    /// budget that does not keep the transaction, the caller must raise.
    pub fn wait<T>(&self, block: impl FnOnce() -> T) -> Result<T, TimedOut> {
        let remaining = self.remaining();
        if remaining.is_zero() {
            return Err(TimedOut);
        }
        if self.subtransaction {
            subtransaction::run(|| timed(remaining, block))
        } else {
            timed(remaining, block)
        }
    }
}

/// Sleeps, but wakes for cancel and termination.
pub fn sleep(duration: Duration) {
    let until = Instant::now() + duration;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        // SAFETY: waits on the backend's own latch; interrupts are serviced in between.
        unsafe {
            let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
            pg_sys::WaitLatch(
                pg_sys::MyLatch,
                events as i32,
                left.as_millis().max(1) as _,
                pg_sys::PG_WAIT_EXTENSION,
            );
            pg_sys::ResetLatch(pg_sys::MyLatch);
            pgrx::check_for_interrupts!();
        }
    }
}

const LOCK_TIMEOUT: c_int = 2;

// Declared as functions that do not unwind: none of them raises for a timer that exists.
unsafe extern "C" {
    fn enable_timeout_after(id: c_int, delay_ms: c_int);
    fn disable_timeout(id: c_int, keep_indicator: bool);
    fn get_timeout_indicator(id: c_int, reset_indicator: bool) -> bool;
}

/// PostgreSQL's lock-timeout timer, set once for all waits until it is dropped. The caller's own
/// `lock_timeout` stays in force where it is the shorter one.
struct Timer {
    callers_timeout: c_int,
}

impl Timer {
    fn start(remaining: Duration) -> Option<Timer> {
        let remaining = remaining.as_millis().clamp(1, c_int::MAX as u128) as c_int;
        // SAFETY: LockTimeout is a plain setting of this backend; while it is 0, waits leave the
        // timer alone.
        unsafe {
            let callers_timeout = pg_sys::LockTimeout;
            if callers_timeout > 0 && callers_timeout <= remaining {
                return None;
            }
            pg_sys::LockTimeout = 0;
            enable_timeout_after(LOCK_TIMEOUT, remaining);
            Some(Timer { callers_timeout })
        }
    }

    /// Stops the timer. If it went off at the very end, its interrupt is still pending: it is let
    /// through as what it is, not as a cancel by the user.
    fn stop(self) {
        // SAFETY: the timer was started here.
        unsafe {
            disable_timeout(LOCK_TIMEOUT, true);
            if get_timeout_indicator(LOCK_TIMEOUT, false) {
                pgrx::check_for_interrupts!();
                get_timeout_indicator(LOCK_TIMEOUT, true);
            }
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: restores the caller's setting; stopping a stopped timer does nothing.
        unsafe {
            pg_sys::LockTimeout = self.callers_timeout;
            disable_timeout(LOCK_TIMEOUT, true);
        }
    }
}

fn timed<T>(remaining: Duration, block: impl FnOnce() -> T) -> Result<T, TimedOut> {
    let Some(timer) = Timer::start(remaining) else {
        return Ok(block());
    };
    let mut block = Some(block);
    PgTryBuilder::new(std::panic::AssertUnwindSafe(|| {
        let block = block.take().expect("runs once");
        let result = block();
        timer.stop();
        Ok(result)
    }))
    .catch_when(PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE, |_| {
        Err(TimedOut)
    })
    .execute()
}

/// What a lock of our own protects. The number separates the kinds.
#[derive(Clone, Copy, Debug)]
pub enum LockKind {
    /// A request key while its command runs.
    Request = 1,
    /// A business key while its application is created.
    BusinessKey = 2,
    /// A definition's name while a version is published.
    Definition = 3,
    /// A member while their row is written.
    Member = 4,
    /// The number of a tenant's open instances, where there is a limit.
    OpenInstances = 5,
    /// An instance that many want, before its row is touched.
    Gate = 16,
    /// A lease key while it is taken.
    Lease = 48,
    /// The numbers of leases while they leap.
    Fences = 50,
    /// The first place in the queue before it.
    GateQueue = 17,
    /// A message while the transaction that carries it out is open.
    Message = 32,
    /// The list of a tenant's consumers, while it changes; shared by those who rest on it.
    Consumers = 33,
    /// The name of a resource while it is made.
    ResourceName = 49,
}

/// A transaction-level advisory lock in a space that SQL functions cannot reach (they use 1 and 2
/// in the tag's last field). Two keys may share a lock, which costs a wait and nothing else.
pub struct KeyLock(pg_sys::LOCKTAG);

/// Last field of our tags, `objsubid` in pg_locks.
const TAG_SPACE: u16 = 0x5746;
const ADVISORY: u8 = pg_sys::LockTagType::LOCKTAG_ADVISORY as u8;

impl KeyLock {
    /// The lock of one key of one tenant.
    pub fn new(kind: LockKind, tenant: &str, key: &str) -> KeyLock {
        KeyLock::of_bytes(kind, tenant, key.as_bytes())
    }

    /// The lock of a key that is not a text.
    pub fn of_bytes(kind: LockKind, tenant: &str, key: &[u8]) -> KeyLock {
        // Everybody sees the number in pg_locks; without the salt nobody can tell which key it is.
        let digest = Sha256::new()
            .chain_update(installation::salt().as_bytes())
            .chain_update([kind as u8])
            .chain_update(tenant.as_bytes())
            .chain_update([0])
            .chain_update(key)
            .finalize();
        let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| digest[at + byte]));
        KeyLock(pg_sys::LOCKTAG {
            locktag_field1: backend::database().to_u32(),
            locktag_field2: word(0),
            locktag_field3: word(4),
            locktag_field4: TAG_SPACE,
            locktag_type: ADVISORY,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        })
    }

    /// Takes the lock to the end of the transaction, within the budget.
    pub fn take(&self, budget: &Budget) -> Result<(), TimedOut> {
        if self.acquire(true) {
            return Ok(());
        }
        budget.wait(|| {
            self.acquire(false);
        })
    }

    /// Takes the lock to the end of the transaction, if nobody holds it.
    pub fn try_take(&self) -> bool {
        self.acquire(true)
    }

    /// Takes the lock, for however long that takes.
    pub fn wait(&self) {
        self.acquire(false);
    }

    /// Gives the lock back before the end of the transaction.
    pub fn release(&self) {
        // SAFETY: the complete tag of a lock that this transaction has taken.
        unsafe { pg_sys::LockRelease(&self.0, pg_sys::ExclusiveLock as i32, false) };
    }

    /// Waits until a transaction that holds the lock has ended, without asking for the lock. False if
    /// there is none (any more).
    pub fn await_holder(&self) -> bool {
        let mut count = 0;
        // SAFETY: gives a palloc'd list of `count` transactions.
        unsafe {
            let mode = pg_sys::ExclusiveLock as i32;
            let holders = pg_sys::GetLockConflicts(&self.0, mode, &mut count);
            if count > 0 {
                pg_sys::VirtualXactLock(*holders, true);
            }
            pg_sys::pfree(holders.cast());
        }
        count > 0
    }

    /// Where the lock stands in the order in which several of a kind are taken.
    pub fn order(&self) -> (u32, u32) {
        (self.0.locktag_field2, self.0.locktag_field3)
    }

    /// How many sessions wait for the lock or hold it.
    pub fn wanted_by(&self) -> u64 {
        // SAFETY: looks the complete tag up in the lock table.
        unsafe { pg_sys::LockWaiterCount(&self.0) as u64 }
    }

    /// Shares the lock to the end of the transaction, if nobody has or awaits it for themselves.
    pub fn try_share(&self) -> bool {
        self.acquire_as(pg_sys::ShareLock, true)
    }

    /// Gives a lock back that was taken in vain, before the transaction ends.
    pub fn give_back(&self) {
        // SAFETY: the tag is complete, and the lock was taken in this mode by this transaction.
        unsafe { pg_sys::LockRelease(&self.0, pg_sys::ExclusiveLock as i32, false) };
    }

    fn acquire(&self, only_if_free: bool) -> bool {
        self.acquire_as(pg_sys::ExclusiveLock, only_if_free)
    }

    fn acquire_as(&self, mode: u32, only_if_free: bool) -> bool {
        // SAFETY: the tag is complete; a transaction-level lock is released with the transaction.
        let result = unsafe { pg_sys::LockAcquire(&self.0, mode as i32, false, only_if_free) };
        result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }
}
