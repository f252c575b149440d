//! Which cluster this is, and which run of it.

use pgrx::pg_sys;

use super::backend;

/// A run of a cluster: from its start, on its timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The system identifier: the same in all copies of a cluster, another one after `initdb`.
    pub cluster: i64,
    /// Another number after each start and each promotion.
    pub epoch: i64,
    /// The timeline, from 1; rises with each promotion and each recovery to a point in time.
    pub timeline: u32,
}

/// The present run. During recovery nothing is written, and the run that will be is not known yet.
pub fn run() -> Run {
    // SAFETY: looks at shared memory and plain variables of this backend.
    let (cluster, started, timeline) = unsafe {
        let timeline = if pg_sys::RecoveryInProgress() {
            0
        } else {
            pg_sys::GetWALInsertionTimeLine()
        };
        (
            pg_sys::GetSystemIdentifier() as i64,
            pg_sys::PgStartTime,
            timeline,
        )
    };
    let mut bytes = started.to_be_bytes().to_vec();
    bytes.extend_from_slice(&timeline.to_be_bytes());
    Run {
        cluster,
        epoch: backend::hash(&bytes, 0) as i64,
        timeline,
    }
}

/// Whether what the running statement writes can still be undone by the caller.
pub fn in_transaction_block() -> bool {
    // SAFETY: looks at the state of this backend's transaction.
    unsafe { pg_sys::IsTransactionBlock() || pg_sys::IsSubTransaction() }
}

/// Makes the commit wait until it is on disk, whatever `synchronous_commit` says.
pub fn commit_durably() {
    // SAFETY: sets a flag of this backend's transaction.
    unsafe { pg_sys::ForceSyncCommit() };
}

/// Puts on disk what has been logged so far, so that a number taken from a sequence stays taken
/// even if the transaction that took it never ends.
pub fn flush_log() {
    // SAFETY: waits for the log up to where it stands.
    unsafe { pg_sys::XLogFlush(pg_sys::GetXLogInsertRecPtr()) };
}

/// Sixteen bytes that nobody can guess.
pub fn random_bytes() -> Option<[u8; 16]> {
    let mut bytes = [0u8; 16];
    // SAFETY: fills the buffer, whose length is given.
    unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) }.then_some(bytes)
}
