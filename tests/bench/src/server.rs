//! The server under measurement, and the work that every peer does on it: one step of a case, with its
//! line in the history and its event in the outbox.

use std::env;
use std::error::Error;
use std::time::Instant;

use postgres::{Client, Config, NoTls};
use uuid::Uuid;

/// What can go wrong apart from what is measured.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A machine with an event that is always legal.
const MACHINE: &str = r#"{"id": "notes", "initial": "OPEN", "states": {
    "OPEN": {"on": {"NOTE": "OPEN", "CLOSE": "CLOSED"}},
    "CLOSED": {"type": "final"}}}"#;

/// The same work for peers that know nothing of the extension: the tables a team would write.
const PEER_TABLES: &str = r#"
CREATE TABLE peer_case (
    id uuid PRIMARY KEY,
    state text NOT NULL,
    revision bigint NOT NULL,
    material_version int NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
CREATE TABLE peer_history (
    case_id uuid NOT NULL,
    revision bigint NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    event text NOT NULL,
    actor text NOT NULL,
    material_version int NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (case_id, revision)
);
CREATE TABLE peer_outbox (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    case_id uuid NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- The same in one call, without a gate: sessions queue for the row.
CREATE FUNCTION peer_step(which uuid, what text, who text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now_at bigint;
    place text;
    version int;
BEGIN
    UPDATE peer_case SET revision = revision + 1, updated_at = clock_timestamp()
     WHERE id = which AND state = 'OPEN'
    RETURNING revision, state, material_version INTO now_at, place, version;
    INSERT INTO peer_history (case_id, revision, from_state, to_state, event, actor, material_version)
    VALUES (which, now_at, place, place, what, who, version);
    INSERT INTO peer_outbox (case_id, type, payload)
    VALUES (which, what, jsonb_build_object('revision', now_at, 'state', place));
    RETURN now_at;
END
$$;
"#;

/// A server with the extension freshly installed.
pub struct Server {
    config: Config,
}

impl Server {
    /// Finds the server by the usual variables and installs the extension anew.
    pub fn prepare() -> Result<Server> {
        let wanted = |name: &str| {
            env::var(name).map_err(|_| format!("{name} is not set; `make bench` starts a server"))
        };
        let database = wanted("PGDATABASE")?;
        if !database.ends_with("bench") {
            return Err(format!(
                "refusing to drop and install the extension in \"{database}\": \
                 the name of the database must end in \"bench\""
            )
            .into());
        }
        let mut config = Config::new();
        config
            .host(&wanted("PGHOST")?)
            .dbname(&database)
            .user(&wanted("PGUSER")?)
            .application_name("workflow-bench")
            .options("-c workflow.log_refusals=off");
        if let Ok(port) = env::var("PGPORT") {
            config.port(port.parse()?);
        }
        let server = Server { config };
        // The settings of the extension exist once it is loaded.
        let mut client = server.config.clone().options("").connect(NoTls)?;
        client.batch_execute(
            "SET client_min_messages = error;
             DROP EXTENSION IF EXISTS workflow CASCADE;
             DROP SCHEMA public CASCADE;
             CREATE SCHEMA public;
             CREATE EXTENSION workflow;",
        )?;
        client.batch_execute(PEER_TABLES)?;
        let machine: serde_json::Value = serde_json::from_str(MACHINE)?;
        client.execute("SELECT wf_define($1)", &[&machine])?;
        Ok(server)
    }

    /// A new connection.
    pub fn connect(&self) -> Result<Client> {
        Ok(self.config.connect(NoTls)?)
    }

    /// The same; its commits wait for the disk, or not.
    pub fn connect_as(&self, durable: bool) -> Result<Client> {
        let mut client = self.connect()?;
        if !durable {
            client.batch_execute("SET synchronous_commit = off")?;
        }
        Ok(client)
    }

    /// What a commit of one row takes that nobody else is in the way of, the median of some, in ms.
    fn commit_ms(&self) -> Result<f64> {
        let mut client = self.connect()?;
        client.batch_execute("CREATE TABLE IF NOT EXISTS peer_commit (at timestamptz)")?;
        let insert = client.prepare("INSERT INTO peer_commit VALUES (clock_timestamp())")?;
        let mut times = Vec::new();
        for _ in 0..101 {
            let started = Instant::now();
            client.execute(&insert, &[])?;
            times.push(started.elapsed());
        }
        times.sort();
        Ok(times[50].as_secs_f64() * 1000.0)
    }

    /// So many new cases, for the extension and under the same ids for the peers.
    pub fn cases(&self, name: &str, count: usize) -> Result<Vec<Uuid>> {
        let mut client = self.connect()?;
        let rows = client.query(
            "SELECT o.instance_id FROM generate_series(1, $2::int) n,
                    wf_start('notes', format('%s %s', $1::text, n), '{}') o",
            &[&name, &(count as i32)],
        )?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
        client.execute(
            "INSERT INTO peer_case (id, state, revision, material_version)
             SELECT id, 'OPEN', 1, 1 FROM unnest($1::uuid[]) id",
            &[&ids],
        )?;
        client.batch_execute("VACUUM ANALYZE")?;
        client.batch_execute("CHECKPOINT")?;
        Ok(ids)
    }

    /// Fails if an invariant does not hold.
    pub fn verify(&self) -> Result<()> {
        let violations = self
            .connect()?
            .query("SELECT v::text FROM wf_verify() v", &[])?;
        match violations.first() {
            None => Ok(()),
            Some(row) => Err(format!("wf_verify(): {}", row.get::<_, String>(0)).into()),
        }
    }

    /// What was measured on.
    pub fn description(&self) -> Result<String> {
        let cores = std::thread::available_parallelism()?;
        let row = self.connect()?.query_one(
            "SELECT current_setting('server_version'), wf_version(), current_setting('fsync')",
            &[],
        )?;
        let (server, library, fsync): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        Ok(format!(
            "PostgreSQL {server}, workflow {library}, fsync {fsync}, {cores} cores for server and clients; \
             a commit takes {:.2} ms",
            self.commit_ms()?
        ))
    }
}
