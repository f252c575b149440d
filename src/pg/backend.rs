//! What the server knows about this backend and its transaction.

use std::cell::Cell;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

use super::report::Report;
use super::text;

/// Raises 25006 in a read-only transaction or during recovery, 25000 in a parallel worker.
pub fn require_writable(command: &CStr) {
    // SAFETY: both only look at the transaction, and raise.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(command.as_ptr());
        pg_sys::PreventCommandIfParallelMode(command.as_ptr());
    }
}

/// Whether a snapshot is kept for the whole transaction (REPEATABLE READ and SERIALIZABLE).
pub fn keeps_snapshot() -> bool {
    // SAFETY: a plain variable of this backend.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}

/// Whether the transaction goes on after the present statement.
pub fn in_transaction_block() -> bool {
    // SAFETY: only looks at the transaction.
    unsafe { pg_sys::IsTransactionBlock() }
}

/// Whether the transaction has written, or holds the lock of a row: either gives it an id.
pub fn holds_locks() -> bool {
    // SAFETY: a look at this backend's transaction.
    unsafe { pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId }
}

/// Whether what a row carries as its locker is a transaction, and one that is older than another.
/// A number that may stand for a set of transactions is taken for young: the row does not say which
/// of the two it is.
pub fn is_older(locker: u32, transaction: u32) -> bool {
    let (mut oldest, mut next) = (0.into(), 0.into());
    // SAFETY: reads both ends of the numbers that stand for sets.
    unsafe { pg_sys::ReadMultiXactIdRange(&mut oldest, &mut next) };
    let is_set =
        locker.wrapping_sub(u32::from(oldest)) < u32::from(next).wrapping_sub(oldest.into());
    !is_set && (locker.wrapping_sub(transaction) as i32) < 0
}

/// The database of this backend.
pub fn database() -> Oid {
    // SAFETY: a plain variable of this backend.
    unsafe { pg_sys::MyDatabaseId }
}

/// PostgreSQL's own hash, the same in every process on this machine.
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    // SAFETY: pointer and length describe `bytes`.
    unsafe { pg_sys::hash_bytes_extended(bytes.as_ptr(), bytes.len() as i32, seed) }
}

/// The role the client logged in as.
pub fn session_role() -> Oid {
    // SAFETY: a plain variable of this backend.
    unsafe { pg_sys::GetSessionUserId() }
}

/// The role that SET ROLE made of it; SECURITY DEFINER functions leave it as it is.
pub fn outer_role() -> Oid {
    // SAFETY: a plain variable of this backend.
    unsafe { pg_sys::GetOuterUserId() }
}

/// Value of a setting of somebody else, if there is one and it is not empty.
pub fn setting_of_others(name: &CStr) -> Result<Option<String>, Report> {
    // SAFETY: gives a C string that lives until the setting changes, or NULL for one that is unknown.
    let value = unsafe { pg_sys::GetConfigOption(name.as_ptr(), true, false) };
    if value.is_null() {
        return Ok(None);
    }
    // SAFETY: as above; it is copied here.
    let value = text::from_server(unsafe { CStr::from_ptr(value) }.to_bytes())?;
    Ok(Some(value).filter(|value| !value.is_empty()))
}

/// Name of a role.
pub fn role_name(role: Oid) -> Result<String, Report> {
    // SAFETY: gives a palloc'd C string, or raises if the role is gone.
    let name = unsafe { CStr::from_ptr(pg_sys::GetUserNameFromId(role, false)) };
    text::from_server(name.to_bytes())
}

/// Whether a role is superuser.
pub fn is_superuser(role: Oid) -> bool {
    // SAFETY: a look-up in the catalogue.
    unsafe { pg_sys::superuser_arg(role) }
}

/// Whether the role is known to hold capability backend, or not to.
pub fn known_backend(role: Oid) -> Option<bool> {
    match BACKEND_ROLE.get() {
        Some((known, held)) if known == role => Some(held),
        _ => None,
    }
}

/// Remembers it until any right, role or membership changes.
pub fn remember_backend(role: Oid, held: bool) {
    BACKEND_ROLE.set(Some((role, held)));
}

thread_local! {
    static BACKEND_ROLE: Cell<Option<(Oid, bool)>> = const { Cell::new(None) };
}

/// Forgets remembered rights when the catalogue changes. Called once, when the library is loaded.
pub fn watch_rights() {
    use pg_sys::SysCacheIdentifier::{AUTHMEMMEMROLE, AUTHOID, PROCOID};
    for cache in [PROCOID, AUTHOID, AUTHMEMMEMROLE] {
        // SAFETY: the callback only clears a cell.
        unsafe {
            pg_sys::CacheRegisterSyscacheCallback(
                cache as i32,
                Some(forget_rights),
                pg_sys::Datum::from(0usize),
            );
        }
    }
}

unsafe extern "C-unwind" fn forget_rights(_: pg_sys::Datum, _cache: i32, _hash: u32) {
    BACKEND_ROLE.set(None);
}

/// Random bits of no cryptographic use.
pub fn jitter() -> f64 {
    let bits = uuid::Uuid::now_v7().as_u128() as u32;
    f64::from(bits) / f64::from(u32::MAX)
}

/// Keeps other libraries and sessions from inventing settings of our prefix.
pub fn reserve_settings_prefix() {
    // SAFETY: a static name.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"workflow".as_ptr()) };
}
