//! The settings of the extension (`workflow.*`).

use std::ffi::CString;
use std::time::Duration;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};

use crate::pg::report::Report;
use crate::pg::{backend, text};

/// How a caller's identity is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
pub enum IdentityMode {
    /// Arguments or settings of a trusted backend.
    #[name = c"setting"]
    Setting,
    /// The database login, looked up in `workflow.members`.
    #[name = c"session"]
    Session,
    /// A signed token.
    #[name = c"token"]
    Token,
    /// What a gateway has verified: PostgREST's `request.jwt.claims`.
    #[name = c"claims"]
    Claims,
}

impl IdentityMode {
    /// As the setting says it.
    pub fn name(self) -> &'static str {
        match self {
            IdentityMode::Setting => "setting",
            IdentityMode::Session => "session",
            IdentityMode::Token => "token",
            IdentityMode::Claims => "claims",
        }
    }
}

/// How rows of the hot tables are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
pub enum EnginePath {
    /// As the extension thinks best: today, directly wherever that is sound.
    #[name = c"auto"]
    Auto,
    /// By SQL statements.
    #[name = c"spi"]
    Spi,
    /// Without the executor, wherever that is sound.
    #[name = c"direct"]
    Direct,
}

static ENGINE_PATH: GucSetting<EnginePath> = GucSetting::<EnginePath>::new(EnginePath::Auto);
static IDENTITY: GucSetting<IdentityMode> = GucSetting::<IdentityMode>::new(IdentityMode::Setting);
static TENANT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static ACTOR: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static ROLES: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static TRACEPARENT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static TEST_CLOCK: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static TOKEN_KEYS: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static TOKEN_AUDIENCE: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(c"workflow"));
static WORKER: GucSetting<bool> = GucSetting::<bool>::new(true);
static WORKER_INTERVAL: GucSetting<i32> = GucSetting::<i32>::new(5000);
static WORKER_BATCH: GucSetting<i32> = GucSetting::<i32>::new(100);
static WORKER_PROCESSES: GucSetting<i32> = GucSetting::<i32>::new(2);
static WORKER_DATABASES: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
static WAIT_MS: GucSetting<i32> = GucSetting::<i32>::new(5000);
static REQUEST_RETENTION: GucSetting<i32> = GucSetting::<i32>::new(30 * 24 * 60 * 60);
static GATE_WAITERS: GucSetting<i32> = GucSetting::<i32>::new(250);
static ADAPTIVE_DWELL: GucSetting<i32> = GucSetting::<i32>::new(30_000);
static LOG_REFUSALS: GucSetting<bool> = GucSetting::<bool>::new(true);
static LEASE_GRACE: GucSetting<i32> = GucSetting::<i32>::new(5000);
static LEASE_MAX_TTL: GucSetting<i32> = GucSetting::<i32>::new(24 * 60 * 60 * 1000);
static LOG_LEASE_ATTEMPTS: GucSetting<bool> = GucSetting::<bool>::new(false);
static NOTIFY: GucSetting<bool> = GucSetting::<bool>::new(false);
static OUTBOX_RETENTION: GucSetting<i32> = GucSetting::<i32>::new(7 * 24 * 60 * 60);
static OUTBOX_MAX_ATTEMPTS: GucSetting<i32> = GucSetting::<i32>::new(10);

/// Registers them. Without preloading this happens at the first call of a session.
pub fn define() {
    GucRegistry::define_enum_guc(
        c"workflow.identity",
        c"How a caller's tenant, actor and roles are found.",
        c"setting: from arguments or workflow.tenant/actor/roles of a login with capability backend. session: from the login's row in workflow.members. token: from a signed JWT. claims: from request.jwt.claims of a login with capability backend.",
        &IDENTITY,
        GucContext::Suset,
        GucFlags::default(),
    );
    for (name, short, setting) in [
        (
            c"workflow.tenant",
            c"Tenant on whose behalf commands run (see wf_as).",
            &TENANT,
        ),
        (
            c"workflow.actor",
            c"Person on whose behalf commands run (see wf_as).",
            &ACTOR,
        ),
        (
            c"workflow.roles",
            c"Comma-separated roles of the acting person (see wf_as).",
            &ROLES,
        ),
        (
            c"workflow.traceparent",
            c"W3C trace context stored with events of the outbox.",
            &TRACEPARENT,
        ),
    ] {
        GucRegistry::define_string_guc(
            name,
            short,
            c"",
            setting,
            GucContext::Userset,
            GucFlags::default(),
        );
    }
    GucRegistry::define_string_guc(
        c"workflow.test_clock",
        c"Moment by which timers and due dates are set and found due, for tests.",
        c"A timestamp with time zone; empty: the server's clock.",
        &TEST_CLOCK,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"workflow.token_keys",
        c"File with the keys that verify identity tokens.",
        c"A JSON Web Key Set of Ed25519 public keys and HS256 secrets; a relative path starts at the data directory. Read again when it changes. With a secret in it nobody but the server's user may read it.",
        &TOKEN_KEYS,
        GucContext::Suset,
        GucFlags::SUPERUSER_ONLY,
    );
    GucRegistry::define_string_guc(
        c"workflow.token_audience",
        c"The audience (claim aud) that identity tokens must name.",
        c"Empty: no token is accepted.",
        &TOKEN_AUDIENCE,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"workflow.wait_ms",
        c"Total time a command may wait for locks.",
        c"Over all its waits; 0 does not wait at all.",
        &WAIT_MS,
        0,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"workflow.request_retention",
        c"How long request keys are kept, before wf_purge or the background worker removes them.",
        c"A command that is repeated later than that is carried out again.",
        &REQUEST_RETENTION,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_int_guc(
        c"workflow.gate_waiters",
        c"How many commands may wait at the gate of one instance.",
        c"Further ones are told busy at once, with the time after which to try again.",
        &GATE_WAITERS,
        0,
        100_000,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"workflow.adaptive_dwell",
        c"How long the adaptive lock mode keeps a contended instance gated at least.",
        c"",
        &ADAPTIVE_DWELL,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_bool_guc(
        c"workflow.log_refusals",
        c"Writes one line to the server log for each refused command.",
        c"",
        &LOG_REFUSALS,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"workflow.engine_path",
        c"How rows of the hot tables are read and written.",
        c"auto: as the extension thinks best. spi: by SQL statements. direct: without the executor, wherever that is sound; elsewhere by SQL statements. What is written and answered is the same.",
        &ENGINE_PATH,
        GucContext::Suset,
        GucFlags::default(),
    );
    define_delivery();
    define_leases();
    define_worker();
    backend::reserve_settings_prefix();
}

fn define_leases() {
    GucRegistry::define_int_guc(
        c"workflow.lease_grace",
        c"How much longer a lease counts as held that was granted before the server was started, has crashed or was promoted.",
        c"Its holder could not renew it in between.",
        &LEASE_GRACE,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"workflow.lease_max_ttl",
        c"Longest time for which a lease may be asked.",
        c"",
        &LEASE_MAX_TTL,
        1,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_bool_guc(
        c"workflow.log_lease_attempts",
        c"Writes one line to the server log for each attempt to take a lease.",
        c"Refused attempts write nothing else.",
        &LOG_LEASE_ATTEMPTS,
        GucContext::Suset,
        GucFlags::default(),
    );
}

/// Settings of the background worker, without effect where the library is not preloaded.
fn define_worker() {
    GucRegistry::define_bool_guc(
        c"workflow.worker",
        c"Runs due timers and other jobs in the background.",
        c"Needs workflow in shared_preload_libraries.",
        &WORKER,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"workflow.worker_interval",
        c"Time between two rounds of the background worker.",
        c"",
        &WORKER_INTERVAL,
        100,
        3_600_000,
        GucContext::Sighup,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"workflow.worker_batch",
        c"Most timers that the background worker fires in one transaction.",
        c"",
        &WORKER_BATCH,
        1,
        10_000,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"workflow.worker_processes",
        c"Most databases in which the background worker is at work at once.",
        c"Each takes one of max_worker_processes.",
        &WORKER_PROCESSES,
        1,
        100,
        GucContext::Sighup,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"workflow.worker_databases",
        c"Comma-separated databases that the background worker looks after.",
        c"Empty: all that have the extension.",
        &WORKER_DATABASES,
        GucContext::Sighup,
        GucFlags::default(),
    );
}

/// `workflow.worker`
pub fn worker() -> bool {
    WORKER.get()
}

/// `workflow.worker_interval`
pub fn worker_interval() -> Duration {
    Duration::from_millis(WORKER_INTERVAL.get() as u64)
}

/// `workflow.worker_batch`
pub fn worker_batch() -> i32 {
    WORKER_BATCH.get()
}

/// `workflow.worker_processes`
pub fn worker_processes() -> usize {
    WORKER_PROCESSES.get() as usize
}

/// `workflow.worker_databases`. Names as the server stores them: outside of a database there is no
/// encoding to convert from.
pub fn worker_databases() -> Vec<String> {
    let names = WORKER_DATABASES.get().unwrap_or_default();
    let names = names.to_string_lossy();
    let names = names.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn define_delivery() {
    GucRegistry::define_bool_guc(
        c"workflow.notify",
        c"Wakes listeners of channel workflow_outbox when events were committed.",
        c"Once per transaction, without content. A transaction that notifies cannot be prepared, and all of them commit one after the other.",
        &NOTIFY,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"workflow.outbox_retention",
        c"How long an event that no consumer waits for stays in the outbox.",
        c"",
        &OUTBOX_RETENTION,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_int_guc(
        c"workflow.outbox_max_attempts",
        c"How often an event is handed to a consumer before it becomes a dead letter.",
        c"",
        &OUTBOX_MAX_ATTEMPTS,
        1,
        1_000_000,
        GucContext::Suset,
        GucFlags::default(),
    );
}

/// `workflow.identity`
pub fn identity() -> IdentityMode {
    IDENTITY.get()
}

/// `workflow.tenant`, if set and not empty.
pub fn tenant() -> Result<Option<String>, Report> {
    text(&TENANT)
}

/// `workflow.actor`, if set and not empty.
pub fn actor() -> Result<Option<String>, Report> {
    text(&ACTOR)
}

/// `workflow.roles`, if set: a lone comma names no role.
pub fn roles() -> Result<Option<Vec<String>>, Report> {
    let Some(roles) = text(&ROLES)? else {
        return Ok(None);
    };
    let roles = roles
        .split(',')
        .map(str::trim)
        .filter(|role| !role.is_empty());
    Ok(Some(roles.map(str::to_owned).collect()))
}

/// `workflow.token_keys`, if set and not empty.
pub fn token_keys() -> Result<Option<String>, Report> {
    text(&TOKEN_KEYS)
}

/// `workflow.token_audience`, if not empty.
pub fn token_audience() -> Result<Option<String>, Report> {
    text(&TOKEN_AUDIENCE)
}

/// `workflow.traceparent`, if set and not empty.
pub fn traceparent() -> Result<Option<String>, Report> {
    text(&TRACEPARENT)
}

/// `workflow.test_clock`, if set and not empty.
pub fn test_clock() -> Result<Option<String>, Report> {
    text(&TEST_CLOCK)
}

/// `workflow.wait_ms`
pub fn wait_ms() -> i32 {
    WAIT_MS.get()
}

/// `workflow.request_retention`, in seconds.
pub fn request_retention() -> i32 {
    REQUEST_RETENTION.get()
}

/// `workflow.gate_waiters`
pub fn gate_waiters() -> u64 {
    GATE_WAITERS.get() as u64
}

/// `workflow.adaptive_dwell`, in milliseconds
pub fn adaptive_dwell() -> u64 {
    ADAPTIVE_DWELL.get() as u64
}

/// `workflow.log_refusals`
pub fn log_refusals() -> bool {
    LOG_REFUSALS.get()
}

/// `workflow.lease_grace`, in milliseconds
pub fn lease_grace() -> i32 {
    LEASE_GRACE.get()
}

/// `workflow.lease_max_ttl`, in milliseconds
pub fn lease_max_ttl() -> i32 {
    LEASE_MAX_TTL.get()
}

/// `workflow.log_lease_attempts`
pub fn log_lease_attempts() -> bool {
    LOG_LEASE_ATTEMPTS.get()
}

/// `workflow.notify`
pub fn notify() -> bool {
    NOTIFY.get()
}

/// `workflow.outbox_retention`, in seconds
pub fn outbox_retention() -> i32 {
    OUTBOX_RETENTION.get()
}

/// `workflow.outbox_max_attempts`
pub fn outbox_max_attempts() -> i32 {
    OUTBOX_MAX_ATTEMPTS.get()
}

/// After a transaction a setting made for it is empty, not unset: both count as absent. One that
/// cannot be read is an error: taken for absent, it would let a command run for somebody else.
fn text(setting: &GucSetting<Option<CString>>) -> Result<Option<String>, Report> {
    let Some(value) = setting.get() else {
        return Ok(None);
    };
    let value = text::from_server(value.to_bytes())?;
    Ok(Some(value).filter(|value| !value.is_empty()))
}

/// Whether rows may be read and written without the executor.
pub fn direct() -> bool {
    ENGINE_PATH.get() != EnginePath::Spi
}
