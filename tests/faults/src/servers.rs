//! PostgreSQL with the extension, and Redis.

use std::env;
use std::error::Error;
use std::sync::Barrier;
use std::thread;

use postgres::{Client, Config, NoTls};
use uuid::Uuid;

/// What can go wrong apart from what is counted.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A machine with an event that is always legal.
const MACHINE: &str = r#"{"id": "notes", "initial": "OPEN", "states": {
    "OPEN": {"on": {"NOTE": "OPEN", "CLOSE": "CLOSED"}},
    "CLOSED": {"type": "final"}}}"#;

/// What a team would write without the extension.
const TABLES: &str = "
    CREATE TABLE document (id int PRIMARY KEY, edits int NOT NULL, changed_at timestamptz(0) NOT NULL);
    CREATE TABLE stock (id int PRIMARY KEY, left_over int NOT NULL);
    CREATE TABLE orders (id int PRIMARY KEY, reference text NOT NULL);
    INSERT INTO orders SELECT n, 'ref-' || n FROM generate_series(1, 5000) n;";

/// Both servers.
pub struct Servers {
    postgres: Config,
    redis: redis::Client,
}

impl Servers {
    /// Finds them and makes everything anew.
    pub fn prepare() -> Result<Servers> {
        let wanted = |name: &str| {
            env::var(name).map_err(|_| format!("{name} is not set; `make faults` starts servers"))
        };
        let database = wanted("PGDATABASE")?;
        if !database.ends_with("faults") {
            let message = format!(
                "refusing to drop everything in \"{database}\": the name must end in \"faults\""
            );
            return Err(message.into());
        }
        let mut postgres = Config::new();
        postgres
            .host(&wanted("PGHOST")?)
            .dbname(&database)
            .user(&wanted("PGUSER")?)
            .application_name("workflow-faults");
        if let Ok(port) = env::var("PGPORT") {
            postgres.port(port.parse()?);
        }
        let redis = redis::Client::open(format!("redis+unix://{}", wanted("WORKFLOW_REDIS")?))?;
        let servers = Servers { postgres, redis };
        let mut client = servers.connect()?;
        client.batch_execute(
            "SET client_min_messages = error;
             DROP EXTENSION IF EXISTS workflow CASCADE;
             DROP SCHEMA public CASCADE;
             CREATE SCHEMA public;
             CREATE EXTENSION workflow;",
        )?;
        client.batch_execute(TABLES)?;
        let machine: serde_json::Value = serde_json::from_str(MACHINE)?;
        client.execute("SELECT wf_define($1)", &[&machine])?;
        Ok(servers)
    }

    /// A new connection to PostgreSQL.
    pub fn connect(&self) -> Result<Client> {
        Ok(self.postgres.connect(NoTls)?)
    }

    /// A new connection to Redis.
    pub fn redis(&self) -> Result<redis::Connection> {
        Ok(self.redis.get_connection()?)
    }

    /// A new case of the machine.
    pub fn case(&self) -> Result<Uuid> {
        let row = self.connect()?.query_one(
            "SELECT o.instance_id FROM wf_start('notes', gen_random_uuid()::text, '{}') o",
            &[],
        )?;
        Ok(row.get(0))
    }

    /// What was run on.
    pub fn description(&self) -> Result<String> {
        let server: String = self
            .connect()?
            .query_one("SELECT current_setting('server_version')", &[])?
            .get(0);
        let info: String = redis::cmd("INFO").arg("server").query(&mut self.redis()?)?;
        let redis = info
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"))
            .unwrap_or("?");
        Ok(format!("PostgreSQL {server}, Redis {redis}"))
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
}

/// So many sessions at once, which begin together once all are connected. Gives what each counted.
/// A session that fails ends the program's hope, but must not keep the others waiting.
pub fn crowd<T: Send>(
    servers: &Servers,
    sessions: usize,
    work: impl Fn(usize, Client, &Barrier) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let clients = (0..sessions)
        .map(|_| servers.connect())
        .collect::<Result<Vec<_>>>()?;
    let barrier = Barrier::new(sessions);
    let (barrier, work) = (&barrier, &work);
    thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(number, client)| scope.spawn(move || work(number, client, barrier)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a session panicked")?)
            .collect()
    })
}
