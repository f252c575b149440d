//! Memory that all backends of the server share, without `shared_preload_libraries` and outside any
//! transaction: a file of words under `pg_stat_tmp`, mapped by each backend that needs it. It is the
//! same on every major (the DSM registry begins with 17), costs no xid, no WAL and no catalogue row,
//! and is readable on a standby. `pg_stat_tmp` is where extensions keep such files; base backups
//! leave it out.
//!
//! What lies there is statistics: lost with the server, and nothing correct may rest on it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use pgrx::pg_sys;

use super::report;

/// A library that lays the words out differently has another file.
const PATH: &str = "pg_stat_tmp/workflow_contention.1";
/// The file begins with the time at which the server started, in a cache line of its own.
const HEADER: usize = 64;

/// `count` words, all 0 when the server started, or `None` if the file cannot be had (which is
/// logged once per session).
pub fn words(count: usize) -> Option<&'static [AtomicU64]> {
    static WORDS: OnceLock<Option<&'static [AtomicU64]>> = OnceLock::new();
    *WORDS.get_or_init(|| match map(count) {
        Ok(words) => Some(words),
        Err(error) => {
            report::log(&format!(
                "workflow counts no contention in this session: {PATH}: {error}"
            ));
            None
        }
    })
}

fn map(count: usize) -> io::Result<&'static [AtomicU64]> {
    let length = HEADER + count * size_of::<AtomicU64>();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(PATH)?;
    file.lock()?;
    prepare(&mut file, length)?;
    let map = MmapRaw::from(
        // SAFETY: only the server's own processes open the file, nobody ever shortens it, and it is
        // looked at through atomics alone.
        unsafe { MmapOptions::new().len(length).map_mut(&file)? },
    );
    // Not by closing it: the mapping keeps the file open, and the lock with it.
    file.unlock()?;
    let base = map.as_mut_ptr();
    // For the life of the backend.
    std::mem::forget(map);
    // SAFETY: the mapping is page-aligned, as long as stated, and stays; any bits are a word.
    Ok(unsafe { std::slice::from_raw_parts(base.add(HEADER).cast::<AtomicU64>(), count) })
}

/// Clears what an earlier server left. Written in full, so that no page of it can be missing later.
fn prepare(file: &mut File, length: usize) -> io::Result<()> {
    // SAFETY: set once, before any backend runs.
    let started = unsafe { pg_sys::PgStartTime }.to_ne_bytes();
    let mut header = [0; 8];
    if file.metadata()?.len() >= length as u64 {
        file.read_exact(&mut header)?;
        if header == started {
            return Ok(());
        }
    }
    let mut image = vec![0; length];
    image[..8].copy_from_slice(&started);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&image)
}
