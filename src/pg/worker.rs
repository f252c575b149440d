//! Background workers: processes of the server that no client asked for.
//!
//! Both kinds of ours end by PostgreSQL's own handler for termination, so that a shutdown need not
//! wait for a statement, and reload settings by its own handler for SIGHUP.

use std::ffi::{CStr, c_char, c_int};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use pgrx::PgTryBuilder;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::pg_sys::{self, Datum, Oid};

use super::subtransaction::{Caught, unpack};

/// Whether the server is loading `shared_preload_libraries`, the only time when a background worker
/// can be registered; never while pg_upgrade is at work.
pub fn can_register() -> bool {
    // SAFETY: plain variables of the postmaster.
    unsafe { pg_sys::process_shared_preload_libraries_in_progress && !pg_sys::IsBinaryUpgrade }
}

/// A worker as it is registered.
pub struct Description<'a> {
    /// As `pg_stat_activity.backend_type` shows it.
    pub kind: &'a str,
    /// As the server log shows it.
    pub name: &'a str,
    /// The exported function.
    pub function: &'a str,
    /// Whether it is started anew if it ends with an error.
    pub restart: Option<Duration>,
    /// Its arguments.
    pub argument: u32,
    /// The second one.
    pub extra: u32,
}

impl Description<'_> {
    fn raw(&self) -> pg_sys::BackgroundWorker {
        let flags = pg_sys::BGWORKER_SHMEM_ACCESS | pg_sys::BGWORKER_BACKEND_DATABASE_CONNECTION;
        let mut worker = pg_sys::BackgroundWorker {
            bgw_flags: flags as c_int,
            bgw_start_time: pg_sys::BgWorkerStartTime::BgWorkerStart_RecoveryFinished,
            bgw_restart_time: match self.restart {
                Some(time) => time.as_secs().max(1) as c_int,
                None => pg_sys::BGW_NEVER_RESTART,
            },
            bgw_main_arg: Datum::from(self.argument),
            ..Default::default()
        };
        copy(self.kind, &mut worker.bgw_type);
        copy(self.name, &mut worker.bgw_name);
        copy("workflow", &mut worker.bgw_library_name);
        copy(self.function, &mut worker.bgw_function_name);
        copy(&self.extra.to_string(), &mut worker.bgw_extra);
        worker
    }
}

/// As much as there is room for, and a NUL.
fn copy(text: &str, into: &mut [c_char]) {
    let room = into.len() - 1;
    for (to, from) in into[..room].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
}

/// Registers a worker that the server starts by itself, once it may be written to.
pub fn register(description: &Description<'_>) {
    let mut worker = description.raw();
    // SAFETY: called while libraries are preloaded; the server copies the description.
    unsafe { pg_sys::RegisterBackgroundWorker(&mut worker) };
}

/// A worker that this process has started; dropped, it goes on.
pub struct Process {
    handle: *mut pg_sys::BackgroundWorkerHandle,
}

impl Process {
    /// Starts one, whose end sets this process's latch; `None` if the server has no place for it.
    pub fn start(description: &Description<'_>) -> Option<Process> {
        let mut worker = description.raw();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the server copies the description; the handle is made in a context that lasts.
        let started = unsafe {
            worker.bgw_notify_pid = pg_sys::MyProcPid;
            let context = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            let started = pg_sys::RegisterDynamicBackgroundWorker(&mut worker, &mut handle);
            pg_sys::MemoryContextSwitchTo(context);
            started
        };
        started.then_some(Process { handle })
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        let mut pid = 0;
        // SAFETY: the handle is of a worker started here.
        let status = unsafe { pg_sys::GetBackgroundWorkerPid(self.handle, &mut pid) };
        status == pg_sys::BgwHandleStatus::BGWH_STOPPED
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: allocated by the registration.
        unsafe { pg_sys::pfree(self.handle.cast()) };
    }
}

// The functions themselves: what pgrx has under these names is a wrapper, and no signal handler.
unsafe extern "C-unwind" {
    fn die(signal: c_int);
    #[allow(non_snake_case)]
    fn SignalHandlerForConfigReload(signal: c_int);
}

/// Runs a worker's body. What fails in it ends the process, as PostgreSQL does it.
///
/// # Safety
/// Called by the server as the main function of a background worker.
pub unsafe fn enter(argument: Datum, body: fn(u32, u32)) {
    // SAFETY: the handlers are PostgreSQL's own for these signals; the entry is this process's,
    // written by `Description::raw`.
    unsafe {
        handle(pg_sys::SIGTERM as c_int, die);
        handle(pg_sys::SIGHUP as c_int, SignalHandlerForConfigReload);
        pg_sys::BackgroundWorkerUnblockSignals();
        let extra = CStr::from_ptr((*pg_sys::MyBgworkerEntry).bgw_extra.as_ptr());
        let extra = extra.to_str().ok().and_then(|extra| extra.parse().ok());
        let extra = extra.unwrap_or_default();
        pg_sys::panic::pgrx_extern_c_guard(|| body(argument.value() as u32, extra));
    }
}

/// # Safety
/// The handler may interrupt anything.
unsafe fn handle(signal: c_int, handler: unsafe extern "C-unwind" fn(c_int)) {
    // SAFETY: promised by the caller.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(signal, Some(handler));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(signal, Some(handler));
    }
}

/// Connects to a database as the bootstrap superuser; without one, to what all databases share.
/// Ends the process if there is no such database.
pub fn connect(database: Option<Oid>) {
    // SAFETY: called once, at the start of a worker that asked for a connection.
    unsafe {
        match database {
            Some(database) => {
                pg_sys::BackgroundWorkerInitializeConnectionByOid(database, Oid::INVALID, 0)
            }
            None => {
                pg_sys::BackgroundWorkerInitializeConnection(std::ptr::null(), std::ptr::null(), 0)
            }
        }
    }
}

/// Sleeps until the time is over (`None`: for ever) or something has happened: settings were
/// reloaded, or a process started here has ended.
pub fn wait(time: Option<Duration>) {
    let mut events = pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
    let milliseconds = match time {
        Some(time) => {
            events |= pg_sys::WL_TIMEOUT;
            time.as_millis() as _
        }
        None => -1,
    };
    // SAFETY: waits on the process's own latch; interrupts are serviced behind it.
    unsafe {
        pg_sys::WaitLatch(
            pg_sys::MyLatch,
            events as c_int,
            milliseconds,
            pg_sys::PG_WAIT_EXTENSION,
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
        pgrx::check_for_interrupts!();
        if pg_sys::ConfigReloadPending != 0 {
            pg_sys::ConfigReloadPending = 0;
            pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
        }
    }
}

/// Runs `block` in a transaction of its own, shown in `pg_stat_activity` under `activity`. If it
/// fails, or the commit does, the transaction is rolled back and the process goes on.
pub fn transaction<T>(
    activity: &CStr,
    block: impl FnOnce() -> Result<T, Caught>,
) -> Result<T, Caught> {
    let mut block = Some(block);
    // SAFETY: the sequence of a background worker between two transactions.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, activity.as_ptr());
    }
    let result = PgTryBuilder::new(AssertUnwindSafe(|| {
        // SAFETY: no transaction is running; a snapshot is taken for it and given back.
        unsafe {
            pg_sys::StartTransactionCommand();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        }
        let done = block.take().expect("runs once")()?;
        // SAFETY: as above.
        unsafe {
            pg_sys::PopActiveSnapshot();
            pg_sys::CommitTransactionCommand();
        }
        Ok(done)
    }))
    .catch_others(|error| Err(caught(&error)))
    .execute();
    // SAFETY: ends whatever transaction is left.
    unsafe {
        if result.is_err() {
            pg_sys::AbortCurrentTransaction();
        }
        pg_sys::pgstat_report_stat(true);
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_IDLE, std::ptr::null());
    }
    result
}

fn caught(error: &CaughtError) -> Caught {
    let (code, report) = match error {
        // SAFETY: the error that is being handled is on top of the server's stack of errors.
        CaughtError::PostgresError(report) => (unpack(unsafe { pg_sys::geterrcode() }), report),
        CaughtError::ErrorReport(report)
        | CaughtError::RustPanic {
            ereport: report, ..
        } => ("XX000".to_owned(), report),
    };
    Caught {
        code,
        message: report.message().to_owned(),
    }
}

/// A database that can be connected to.
pub struct Database {
    /// Its oid.
    pub oid: Oid,
    /// Its name.
    pub name: String,
}

/// All databases but templates and those that take no connections. Within a transaction.
pub fn databases() -> Vec<Database> {
    const INVALID: i32 = -2;
    let mut databases = Vec::new();
    // SAFETY: reads a shared catalogue under its lock, as the autovacuum launcher does; a tuple is
    // looked at before the next one is fetched.
    unsafe {
        let lock = pg_sys::AccessShareLock as c_int;
        let relation = pg_sys::table_open(pg_sys::DatabaseRelationId, lock);
        let scan = pg_sys::table_beginscan_catalog(relation, 0, std::ptr::null_mut());
        loop {
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let tuple = pg_sys::heap_getnext(scan, forward);
            if tuple.is_null() {
                break;
            }
            let header = (*tuple).t_data;
            let form = header
                .cast::<u8>()
                .add((*header).t_hoff as usize)
                .cast::<pg_sys::FormData_pg_database>();
            if !(*form).datallowconn || (*form).datistemplate || (*form).datconnlimit == INVALID {
                continue;
            }
            let name = CStr::from_ptr((*form).datname.data.as_ptr());
            databases.push(Database {
                oid: (*form).oid,
                name: name.to_string_lossy().into_owned(),
            });
        }
        pg_sys::heap_endscan(scan);
        pg_sys::table_close(relation, lock);
    }
    databases
}

/// Exports the main functions of background workers.
#[macro_export]
macro_rules! background_workers {
    ($($name:literal => $body:path),* $(,)?) => {$(
        const _: () = {
            // SAFETY: the name is this extension's own; the server calls it in a process of its own.
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn main(argument: ::pgrx::pg_sys::Datum) {
                // SAFETY: called by the server as the main function of a background worker.
                unsafe { $crate::pg::worker::enter(argument, $body) }
            }
        };
    )*};
}
