//! One session's connection: a command in, an answer out.

use postgres::types::ToSql;
use postgres::{Client, NoTls, Row, Statement};

use crate::command::{Action, Change, Command, KINDS, OnRefusal, Transition, Verb, statements};
use crate::many;
use crate::record::{Answer, Fault, Outcome, Page};

/// Where the server is, from the environment.
pub fn connect(database: Option<&str>) -> Result<Client, String> {
    let variable = |name: &str, default: &str| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.is_empty())
            .unwrap_or_else(|| default.to_owned())
    };
    let user = variable("PGUSER", "postgres");
    let own = variable("PGDATABASE", &user);
    let mut config = postgres::Config::new();
    config
        .host(&variable("PGHOST", "/tmp"))
        .port(
            variable("PGPORT", "5432")
                .parse()
                .map_err(|_| "PGPORT is no number")?,
        )
        .user(&user)
        .dbname(database.unwrap_or(&own))
        .application_name("workflow-model");
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    config
        .connect(NoTls)
        .map_err(|error| format!("cannot connect: {}", explain(&error)))
}

/// An error with everything the server said.
pub fn explain(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!(
            "{} {}{}",
            db.code().code(),
            db.message(),
            db.detail()
                .map(|detail| format!(" ({detail})"))
                .unwrap_or_default()
        ),
        None => error.to_string(),
    }
}

/// A connection with everything prepared, so that a transaction begins with its first command.
pub struct Connection {
    pub client: Client,
    prepared: Vec<Statement>,
}

impl Connection {
    pub fn open(database: &str, settings: &str) -> Result<Connection, String> {
        let mut client = connect(Some(database))?;
        client
            .batch_execute(settings)
            .map_err(|error| explain(&error))?;
        let mut prepared = Vec::new();
        for (kind, statement) in statements().iter().enumerate() {
            let statement = client
                .prepare(statement)
                .map_err(|error| format!("{}: {}", KINDS[kind], explain(&error)))?;
            prepared.push(statement);
        }
        Ok(Connection { client, prepared })
    }

    /// A statement without parameters. `Err` of the outer kind is the end of the session.
    pub fn say(&mut self, sql: &str) -> Result<Result<(), Fault>, String> {
        match self.client.batch_execute(sql) {
            Ok(()) => Ok(Ok(())),
            Err(error) => fault(&error).map(Err),
        }
    }

    pub fn act_as(&mut self, command: &crate::command::Identity) -> Result<(), String> {
        let (tenant, actor, roles) = (&command.tenant, command.actor, command.roles);
        self.client
            .query("SELECT wf_as($1, $2, $3)", &[tenant, &actor, &roles])
            .map(|_| ())
            .map_err(|error| format!("wf_as: {}", explain(&error)))
    }

    /// Transitions of one person in one call; an error is the answer to all of them.
    pub fn call_many(&mut self, commands: &[Command], atomic: bool) -> Result<Vec<Answer>, String> {
        let first = &commands[0];
        let identity = &first.identity;
        let said = identity.as_arguments;
        let items = serde_json::Value::Array(commands.iter().map(many::item).collect());
        let rows = self.client.query(
            &self.prepared[first.kind()],
            &[
                &items,
                &atomic,
                &on_refusal(first),
                &said.then_some(identity.tenant.as_str()),
                &said.then_some(identity.actor),
                &said.then_some(identity.roles),
            ],
        );
        match rows {
            Ok(rows) if rows.len() == commands.len() => {
                let answers = commands.iter().zip(&rows);
                answers.map(|(command, row)| read(command, row)).collect()
            }
            Ok(rows) => Err(format!("{} rows from {commands:?}", rows.len())),
            Err(error) => {
                let fault = fault(&error)?;
                Ok(vec![Answer::Fault(fault); commands.len()])
            }
        }
    }

    pub fn call(&mut self, command: &Command) -> Result<Answer, String> {
        let statement = &self.prepared[command.kind()];
        let identity = &command.identity;
        let said = identity.as_arguments;
        let tenant = said.then_some(identity.tenant.as_str());
        let actor = said.then_some(identity.actor);
        let roles = said.then_some(identity.roles);
        let request = &command.request;
        let on_refusal = on_refusal(command);
        let rows = match &command.action {
            Action::Transition(transition) | Action::Check(transition) => {
                let mut arguments = transition_arguments(transition);
                arguments[8] = request;
                arguments.extend([&tenant as Argument<'_>, &actor, &roles]);
                if command.kind() == 1 {
                    arguments.push(&on_refusal);
                }
                self.client.query(statement, &arguments)
            }
            Action::Start(start) => self.client.query(
                statement,
                &[
                    &start.definition,
                    &start.business_key,
                    &start.material,
                    &start.version,
                    request,
                    &on_refusal,
                    &tenant,
                    &actor,
                    &roles,
                ],
            ),
            Action::Send(send) => self.client.query(
                statement,
                &[
                    &send.instance,
                    &send.event,
                    &send.payload,
                    &send.revision,
                    &send.material,
                    request,
                    &send.lock_mode,
                    &send.wait_ms,
                    &on_refusal,
                    &tenant,
                    &actor,
                    &roles,
                ],
            ),
            Action::Decide(decide) => self.client.query(
                statement,
                &[
                    &decide.task,
                    &decide.event,
                    &decide.revision,
                    &decide.material,
                    &decide.comment,
                    &decide.payload,
                    request,
                    &on_refusal,
                    &tenant,
                    &actor,
                    &roles,
                ],
            ),
            Action::Hand(hand) => {
                let mut arguments: Vec<Argument<'_>> = vec![&hand.task];
                match hand.verb {
                    Verb::Claim => arguments.push(&hand.lease_ms),
                    Verb::Release => {}
                    _ => arguments.push(&hand.to),
                }
                arguments.extend([&on_refusal as Argument<'_>, &tenant, &actor, &roles]);
                self.client.query(statement, &arguments)
            }
            Action::Reseat(reseat) => {
                let spec;
                let mut arguments: Vec<Argument<'_>> = vec![&reseat.instance];
                match &reseat.change {
                    Change::Add(seat) => {
                        spec = seat.spec();
                        arguments.extend([&spec as Argument<'_>, &reseat.revision]);
                    }
                    Change::Remove(seat) => {
                        arguments.extend([seat as Argument<'_>, &reseat.revision]);
                    }
                    Change::Withdraw => {
                        arguments.extend([&reseat.revision as Argument<'_>, &reseat.comment]);
                    }
                }
                arguments.extend([&on_refusal as Argument<'_>, &tenant, &actor, &roles]);
                self.client.query(statement, &arguments)
            }
            Action::Supersede {
                application,
                expected,
                material,
            } => self.client.query(
                statement,
                &[
                    application,
                    expected,
                    material,
                    request,
                    &on_refusal,
                    &tenant,
                    &actor,
                    &roles,
                ],
            ),
            Action::Lock { instance, wait_ms } => self.client.query(
                statement,
                &[instance, wait_ms, &on_refusal, &tenant, &actor, &roles],
            ),
            Action::Get { instance } => self
                .client
                .query(statement, &[instance, &tenant, &actor, &roles]),
            Action::Find {
                definition,
                business_key,
            } => self.client.query(
                statement,
                &[definition, business_key, &tenant, &actor, &roles],
            ),
        };
        match rows {
            Ok(rows) if rows.len() == 1 => read(command, &rows[0]),
            Ok(rows) => Err(format!("{} rows from {command:?}", rows.len())),
            Err(error) => fault(&error).map(Answer::Fault),
        }
    }
}

fn on_refusal(command: &Command) -> &'static str {
    match command.on_refusal {
        OnRefusal::Raise => "raise",
        OnRefusal::Return => "return",
    }
}

type Argument<'a> = &'a (dyn ToSql + Sync);

/// Up to `wait_ms`; the place of the request key is filled by the caller.
fn transition_arguments(transition: &Transition) -> Vec<Argument<'_>> {
    vec![
        &transition.instance,
        &transition.from,
        &transition.to,
        &transition.revision,
        &transition.material,
        &transition.event,
        &transition.comment,
        &transition.payload,
        &None::<String>,
        &transition.wait_ms,
    ]
}

fn fault(error: &postgres::Error) -> Result<Fault, String> {
    let Some(db) = error.as_db_error() else {
        return Err(format!("the connection failed: {error}"));
    };
    if db.severity() != "ERROR" {
        return Err(format!("the session ended: {}", explain(error)));
    }
    Ok(Fault {
        code: db.code().code().to_owned(),
        message: db.message().to_owned(),
        detail: db.detail().map(str::to_owned),
        hint: db.hint().map(str::to_owned),
        constraint: db.constraint().map(str::to_owned),
    })
}

fn read(command: &Command, row: &Row) -> Result<Answer, String> {
    let answer = if matches!(command.action, Action::Get { .. } | Action::Find { .. }) {
        read_page(row).map(|page| Answer::Page(Box::new(page)))
    } else {
        read_outcome(row).map(|outcome| Answer::Outcome(Box::new(outcome)))
    };
    answer.map_err(|error| format!("an answer cannot be read ({error}): {command:?}"))
}

fn read_outcome(row: &Row) -> Result<Outcome, postgres::Error> {
    let superseded = row.len() > 16;
    let replayed: bool = row.try_get(10)?;
    let stands: Option<Vec<i64>> = row.try_get(15)?;
    let stands = stands.filter(|_| !replayed);
    Ok(Outcome {
        work: stands.as_ref().map(|stands| stands[0]),
        logged: stands.is_some_and(|stands| stands[1] == 1),
        applied: row.try_get(0)?,
        code: row.try_get(1)?,
        reason: row.try_get(2)?,
        instance_id: row.try_get(3)?,
        application_id: row.try_get(4)?,
        state: row.try_get(5)?,
        revision: row.try_get(6)?,
        material_version: row.try_get(7)?,
        event: row.try_get(8)?,
        task_ids: row.try_get(9)?,
        replayed,
        attempts: row.try_get(11)?,
        retryable: row.try_get(12)?,
        retry_after_ms: row.try_get(13)?,
        detail: row.try_get(14)?,
        instances: superseded.then(|| row.try_get(16)).transpose()?,
        tasks: superseded.then(|| row.try_get(17)).transpose()?,
    })
}

fn read_page(row: &Row) -> Result<Page, postgres::Error> {
    Ok(Page {
        instance_id: row.try_get(0)?,
        application_id: row.try_get(1)?,
        business_key: row.try_get(2)?,
        definition: row.try_get(3)?,
        version: row.try_get(4)?,
        state: row.try_get(5)?,
        revision: row.try_get(6)?,
        material_version: row.try_get(7)?,
        material: row.try_get(8)?,
        open_tasks: row.try_get(9)?,
        actions: row.try_get(10)?,
    })
}
