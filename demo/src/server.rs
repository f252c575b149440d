//! The server under the experiments: connections, installation, and the calls that all of them make.
//!
//! The calls are what an application would send: one statement each, by argument name, on a
//! connection in autocommit.

use std::env;
use std::error::Error;

use postgres::types::ToSql;
use postgres::{Client, Config, GenericClient, NoTls, Row, Statement, ToStatement};
use uuid::Uuid;

/// What can go wrong in an experiment apart from what it is about.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Tenant of whoever names none.
pub const DEFAULT_TENANT: &str = "default";

/// The machine that every experiment runs: one reviewer, two possible decisions.
const MACHINE: &str = r#"{
    "id": "review",
    "initial": "SUBMITTED",
    "states": {
        "SUBMITTED": {
            "meta": {"task": {"seats": [{"name": "reviewer"}]}},
            "on": {
                "APPROVE": {"target": "APPROVED", "meta": {"decision": "approve"}},
                "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}}
            }
        },
        "APPROVED": {"type": "final"},
        "REJECTED": {"type": "final"}
    }
}"#;

/// The command that every experiment is about, and some of what it answers. NULL for a request key
/// means none.
fn transition(columns: &str) -> String {
    format!(
        "SELECT {columns}
           FROM wf_transition(instance => $1, from_state => $2, to_state => $3,
                              expected_revision => $4, material_version => $5,
                              request_id => $6, tenant => $7, actor => $8) AS answer"
    )
}

/// What [`Answer`] is made from.
const ANSWER: &str = "applied, state, revision";

/// A server with the extension freshly installed.
pub struct Server {
    config: Config,
    version: String,
    library: String,
}

impl Server {
    /// Finds the server by the usual variables and installs the extension anew.
    pub fn prepare() -> Result<Server> {
        let wanted = |name: &str| {
            env::var(name).map_err(|_| format!("{name} is not set; `make demo` starts a server"))
        };
        let database = wanted("PGDATABASE")?;
        // Everything that an earlier run left is dropped: never by mistake in a database of others.
        if !database.ends_with("demo") {
            return Err(format!(
                "refusing to drop and install the extension in \"{database}\": \
                 the name of the database must end in \"demo\""
            )
            .into());
        }
        let mut config = Config::new();
        config
            .host(&wanted("PGHOST")?)
            .dbname(&database)
            .application_name("workflow-demo")
            // A demonstration that hangs has failed.
            .options("-c statement_timeout=20s");
        if let Ok(user) = env::var("PGUSER") {
            config.user(&user);
        }
        if let Ok(port) = env::var("PGPORT") {
            config.port(port.parse()?);
        }

        let mut client = config.connect(NoTls)?;
        client.batch_execute(
            "DROP EXTENSION IF EXISTS workflow CASCADE;
             DROP SCHEMA IF EXISTS demo CASCADE;
             CREATE EXTENSION workflow;
             CREATE SCHEMA demo",
        )?;
        define(&mut client, DEFAULT_TENANT)?;
        let row = client.query_one(
            "SELECT current_setting('server_version'), wf_version(),
                    current_setting('fsync'), current_setting('synchronous_commit')",
            &[],
        )?;
        let version = format!(
            "PostgreSQL {} (fsync {}, synchronous_commit {})",
            row.get::<_, String>(0),
            row.get::<_, String>(2),
            row.get::<_, String>(3)
        );
        Ok(Server {
            config,
            version,
            library: row.get(1),
        })
    }

    /// What runs here.
    pub fn banner(&self) -> String {
        format!("workflow {} on {}", self.library, self.version)
    }

    /// One more connection.
    pub fn connect(&self) -> Result<Client> {
        Ok(self.config.connect(NoTls)?)
    }

    /// As many connections as an experiment has sides.
    pub fn connect_all<const N: usize>(&self) -> Result<[Client; N]> {
        let clients: Result<Vec<Client>> = (0..N).map(|_| self.connect()).collect();
        clients?
            .try_into()
            .map_err(|_| "another number of connections".into())
    }
}

/// Publishes the machine for a tenant.
pub fn define(client: &mut Client, tenant: &str) -> Result<()> {
    let machine: serde_json::Value = serde_json::from_str(MACHINE)?;
    client.query_one(
        "SELECT definition FROM wf_define(spec => $1, tenant => $2)",
        &[&machine, &tenant],
    )?;
    Ok(())
}

/// What a reviewer has on the screen, and sends back with the decision.
#[derive(Clone, Debug)]
pub struct Page {
    pub instance: Uuid,
    pub application: Uuid,
    pub state: String,
    pub revision: i64,
    pub material: i32,
}

impl Page {
    /// From columns of these names, in any answer.
    pub fn of(row: &Row) -> Result<Page> {
        Ok(Page {
            instance: row.try_get("instance_id")?,
            application: row.try_get("application_id")?,
            state: row.try_get("state")?,
            revision: row.try_get("revision")?,
            material: row.try_get("material_version")?,
        })
    }
}

/// Starts a review; gives what its first page shows.
pub fn start(client: &mut Client, tenant: &str, business_key: &str) -> Result<Page> {
    let row = client.query_one(
        "SELECT instance_id, application_id, state, revision, material_version
           FROM wf_start(definition => 'review', business_key => $1,
                         material => jsonb_build_object('text', 'first'),
                         tenant => $2, actor => 'submitter')",
        &[&business_key, &tenant],
    )?;
    Page::of(&row)
}

/// Starts a number of reviews in the default tenant, called "`name` 1" and so on.
pub fn start_many(client: &mut Client, name: &str, count: usize) -> Result<Vec<Page>> {
    let rows = client.query(
        "SELECT s.instance_id, s.application_id, s.state, s.revision, s.material_version
           FROM generate_series(1, $1) AS n,
                wf_start(definition => 'review', business_key => $2 || ' ' || n,
                         material => jsonb_build_object('number', n), actor => 'submitter') AS s",
        &[&i32::try_from(count)?, &name],
    )?;
    rows.iter().map(Page::of).collect()
}

/// Opens the page of an instance.
pub fn open_page(
    client: &mut Client,
    tenant: &str,
    instance: Uuid,
) -> std::result::Result<Row, postgres::Error> {
    client.query_one(
        "SELECT instance_id, application_id, state, revision, material_version
           FROM wf_get(instance => $1, tenant => $2)",
        &[&instance, &tenant],
    )
}

/// Plans the command on a connection, so that sending it is one round trip.
pub fn prepare_transition(client: &mut Client) -> Result<Statement> {
    Ok(client.prepare(&transition(ANSWER))?)
}

/// The same for [`Decision::query`], with every column of the answer: `replayed` by itself, and
/// the others as one document, `rest`.
pub fn prepare_in_full(client: &mut Client) -> Result<Statement> {
    Ok(client.prepare(&transition(
        "replayed, to_jsonb(answer) - 'replayed' AS rest",
    ))?)
}

/// A decision as a reviewer sends it: about exactly what the page showed.
pub struct Decision<'a> {
    pub tenant: &'a str,
    pub actor: &'a str,
    pub page: &'a Page,
    pub to: &'a str,
    pub request_id: Option<&'a str>,
}

impl<'a> Decision<'a> {
    /// A decision in the default tenant, without a request key.
    pub fn new(actor: &'a str, page: &'a Page, to: &'a str) -> Decision<'a> {
        Decision {
            tenant: DEFAULT_TENANT,
            actor,
            page,
            to,
            request_id: None,
        }
    }

    /// Sends it.
    pub fn send(&self, client: &mut impl GenericClient) -> Answer {
        self.send_as(client, transition(ANSWER).as_str())
    }

    /// Sends it by a statement from [`prepare_transition`].
    pub fn send_as(
        &self,
        client: &mut impl GenericClient,
        statement: &(impl ToStatement + ?Sized),
    ) -> Answer {
        Answer::of(self.query(client, statement))
    }

    /// Sends it; gives the columns that the statement asks for.
    pub fn query(
        &self,
        client: &mut impl GenericClient,
        statement: &(impl ToStatement + ?Sized),
    ) -> std::result::Result<Row, postgres::Error> {
        let page = self.page;
        let arguments: [&(dyn ToSql + Sync); 8] = [
            &page.instance,
            &page.state,
            &self.to,
            &page.revision,
            &page.material,
            &self.request_id,
            &self.tenant,
            &self.actor,
        ];
        client.query_one(statement, &arguments)
    }
}

/// What the server answered to a command.
pub enum Answer {
    /// The command was applied.
    Applied(Position),
    /// An error, or an answer that says it was not applied.
    Refused(Refusal),
}

/// Where an instance stands.
#[derive(Debug)]
pub struct Position {
    pub state: String,
    pub revision: i64,
}

/// An error as the client got it.
#[derive(Debug, Default)]
pub struct Refusal {
    pub sqlstate: String,
    pub message: String,
    pub detail: String,
    pub hint: String,
    pub constraint: String,
}

impl Answer {
    fn of(answer: std::result::Result<Row, postgres::Error>) -> Answer {
        let read = |row: &Row| -> std::result::Result<(bool, Position), postgres::Error> {
            let position = Position {
                state: row.try_get("state")?,
                revision: row.try_get("revision")?,
            };
            Ok((row.try_get("applied")?, position))
        };
        match answer.and_then(|row| read(&row)) {
            Ok((true, position)) => Answer::Applied(position),
            Ok((false, position)) => Answer::Refused(Refusal {
                sqlstate: "none".to_owned(),
                message: format!("not applied, and no error: {position:?}"),
                ..Refusal::default()
            }),
            Err(error) => Answer::Refused(Refusal::of(&error)),
        }
    }

    /// "applied", or the SQLSTATE of the refusal.
    pub fn code(&self) -> &str {
        match self {
            Answer::Applied(_) => "applied",
            Answer::Refused(refusal) => &refusal.sqlstate,
        }
    }

    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Answer::Applied(_) => None,
            Answer::Refused(refusal) => Some(refusal),
        }
    }
}

impl Refusal {
    /// The fields of an error that callers go by.
    pub fn of(error: &postgres::Error) -> Refusal {
        let Some(report) = error.as_db_error() else {
            return Refusal {
                sqlstate: "client".to_owned(),
                message: explain(error),
                ..Refusal::default()
            };
        };
        let text = |field: Option<&str>| field.unwrap_or_default().to_owned();
        Refusal {
            sqlstate: report.code().code().to_owned(),
            message: report.message().to_owned(),
            detail: text(report.detail()),
            hint: text(report.hint()),
            constraint: text(report.constraint()),
        }
    }
}

/// An error with its causes, in one line.
pub fn explain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
