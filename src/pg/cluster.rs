//! Where the tables are, and which run of the server this is.

use std::cell::Cell;

use pgrx::pg_sys;

use super::backend;

/// A run of a server, and the tables of one of its databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The cluster and the tables in it: the same in all physical copies, another one after a restore
    /// of a dump, whether into another cluster, another database or in place of the old tables.
    pub cluster: i64,
    /// Another number after each start, each crash and each promotion.
    pub epoch: i64,
    /// The timeline, from 1; rises with each promotion and each recovery to a point in time.
    pub timeline: u32,
}

/// The present run. During recovery nothing is written, and the run that will be is not known yet.
pub fn run() -> Run {
    // SAFETY: looks at shared memory, the catalogue and plain variables of this backend.
    let (system, schema, timeline) = unsafe {
        let timeline = if pg_sys::RecoveryInProgress() {
            0
        } else {
            pg_sys::GetWALInsertionTimeLine()
        };
        (
            pg_sys::GetSystemIdentifier(),
            pg_sys::get_namespace_oid(c"workflow".as_ptr(), true),
            timeline,
        )
    };
    // SAFETY: a look-up in the catalogue.
    let leases = unsafe { pg_sys::get_relname_relid(c"leases".as_ptr(), schema) };
    let mut place = system.to_be_bytes().to_vec();
    place.extend_from_slice(&backend::database().to_u32().to_be_bytes());
    place.extend_from_slice(&leases.to_u32().to_be_bytes());
    let mut run = started().to_be_bytes().to_vec();
    run.extend_from_slice(&timeline.to_be_bytes());
    Run {
        cluster: backend::hash(&place, 0) as i64,
        epoch: backend::hash(&run, 0) as i64,
        timeline,
    }
}

/// When the server began to run, or began anew after a crash of one of its processes: the start of
/// the checkpointer, which lives exactly as long.
fn started() -> i64 {
    thread_local! {
        static STARTED: Cell<i64> = const { Cell::new(0) };
    }
    if STARTED.get() == 0 {
        match checkpointer_start() {
            // No backend outlives the checkpointer.
            Some(time) => STARTED.set(time),
            // SAFETY: set once, before any backend runs.
            None => return unsafe { pg_sys::PgStartTime },
        }
    }
    STARTED.get()
}

fn checkpointer_start() -> Option<i64> {
    // SAFETY: the list of processes is copied to local memory, where an entry lies at each of the
    // indexes asked for; it is looked at before it is freed.
    unsafe {
        let count = pg_sys::pgstat_fetch_stat_numbackends();
        let found = (1..=count).find_map(|index| {
            #[cfg(feature = "pg15")]
            let entry = pg_sys::pgstat_fetch_stat_local_beentry(index);
            #[cfg(not(feature = "pg15"))]
            let entry = pg_sys::pgstat_get_local_beentry_by_index(index);
            let status = entry.as_ref()?.backendStatus;
            (status.st_backendType == pg_sys::BackendType::B_CHECKPOINTER)
                .then_some(status.st_proc_start_timestamp)
        });
        pg_sys::pgstat_clear_backend_activity_snapshot();
        found
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
    unsafe {
        let next = pg_sys::GetXLogInsertRecPtr();
        pg_sys::XLogFlush(end_of_log(next, pg_sys::wal_segment_size as u64));
    }
}

/// The end of what has been logged, from where the next record will begin: at the start of a page
/// that is beyond the header of the page, which is not written yet and cannot be waited for.
fn end_of_log(next: u64, segment: u64) -> u64 {
    let page = u64::from(pg_sys::XLOG_BLCKSZ);
    let header = if next % segment < page {
        size_of::<pg_sys::XLogLongPageHeaderData>()
    } else {
        size_of::<pg_sys::XLogPageHeaderData>()
    };
    // Headers are padded to the alignment of records.
    let header = (header as u64).next_multiple_of(8);
    if next % page == header {
        next - header
    } else {
        next
    }
}

/// Sixteen bytes that nobody can guess.
pub fn random_bytes() -> Option<[u8; 16]> {
    let mut bytes = [0u8; 16];
    // SAFETY: fills the buffer, whose length is given.
    unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) }.then_some(bytes)
}
