//! The extension as this database has it: who owns the tables, and whether this library fits them.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use pgrx::pg_sys::{self, Datum, Oid};
use uuid::Uuid;
use workflow_core::sqlstate::SqlState;

use super::report::Report;
use super::spi::{Spi, Statement};

/// Version of this library; equal to `default_version` of the control file it came with.
pub const LIBRARY_VERSION: &str = env!("CARGO_PKG_VERSION");

static KNOWN: AtomicBool = AtomicBool::new(false);
static OWNER: AtomicU32 = AtomicU32::new(0);

static INSTALLATION: Statement = Statement::new(
    "SELECT e.extversion, c.relowner
       FROM pg_catalog.pg_extension e
       LEFT JOIN pg_catalog.pg_class c
         ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('workflow.instances')
      WHERE e.extname OPERATOR(pg_catalog.=) 'workflow'",
    &[],
);

static SECRET: Statement = Statement::new("SELECT s.salt FROM workflow.secret s", &[]);

thread_local! {
    static SALT: Cell<Uuid> = const { Cell::new(Uuid::nil()) };
}

/// What nobody but the engine knows of this installation. Known from the first [`owner`] on.
pub fn salt() -> Uuid {
    SALT.get()
}

/// Forgets what is known whenever a function or table changes: ALTER EXTENSION, DROP EXTENSION and
/// ALTER TABLE OWNER all do.
pub fn watch() {
    // SAFETY: the callbacks only store a flag. They are registered once, when the library is loaded.
    unsafe {
        pg_sys::CacheRegisterSyscacheCallback(
            pg_sys::SysCacheIdentifier::PROCOID as i32,
            Some(forget_by_catalogue),
            Datum::from(0usize),
        );
        pg_sys::CacheRegisterRelcacheCallback(Some(forget_by_relation), Datum::from(0usize));
    }
}

unsafe extern "C-unwind" fn forget_by_catalogue(_: Datum, _cache: i32, _hash: u32) {
    KNOWN.store(false, Ordering::Relaxed);
}

unsafe extern "C-unwind" fn forget_by_relation(_: Datum, _relation: Oid) {
    KNOWN.store(false, Ordering::Relaxed);
}

/// The role that owns the tables. Raises if the extension is not installed, or in another version
/// than this library.
pub fn owner(spi: &Spi) -> Result<Oid, Report> {
    if KNOWN.load(Ordering::Relaxed) {
        return Ok(Oid::from(OWNER.load(Ordering::Relaxed)));
    }
    let Some(row) = spi.one(&INSTALLATION, &[]) else {
        return Err(Report::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "the extension workflow is not installed in this database",
        )
        .hint("CREATE EXTENSION workflow;"));
    };
    let version = row.text(0)?;
    match row.opt_oid(1)? {
        Some(owner) if version == LIBRARY_VERSION => {
            let salt = {
                let _owner = AsOwner::switch(owner);
                spi.one(&SECRET, &[])
            };
            let salt = salt.ok_or_else(mismatch)?;
            SALT.set(salt.uuid(0)?);
            OWNER.store(owner.to_u32(), Ordering::Relaxed);
            KNOWN.store(true, Ordering::Relaxed);
            Ok(owner)
        }
        _ => Err(version_mismatch(&version)),
    }
}

/// The library and the SQL objects do not belong together.
pub fn mismatch() -> Report {
    version_mismatch("another version")
}

fn version_mismatch(installed: &str) -> Report {
    Report::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "the extension workflow is installed as {installed}, the loaded library is version {LIBRARY_VERSION}"
        ),
    )
    .hint("After a package upgrade: ALTER EXTENSION workflow UPDATE; and open a new session.")
}

/// Acts as the tables' owner until dropped, the way referential-integrity triggers do: without
/// row-level security, and so that nothing in between can change the role.
pub struct AsOwner {
    role: Oid,
    context: i32,
}

impl AsOwner {
    /// Switches.
    pub fn switch(owner: Oid) -> AsOwner {
        let mut role = Oid::INVALID;
        let mut context = 0;
        // SAFETY: reads and sets the security context; drop sets it back, and so does an abort.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&mut role, &mut context);
            let flags = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_NOFORCE_RLS;
            pg_sys::SetUserIdAndSecContext(owner, context | flags as i32);
        }
        AsOwner { role, context }
    }
}

impl Drop for AsOwner {
    fn drop(&mut self) {
        // SAFETY: what was in force before.
        unsafe { pg_sys::SetUserIdAndSecContext(self.role, self.context) };
    }
}
