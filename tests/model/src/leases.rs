//! Holders of leases who are slow, are killed, come back late and go on as if nothing had happened,
//! while the clock steps back and operators take keys away.
//!
//! Each holder notes what it asked and was told, with the moments before and after, and goes on with
//! tenures that are long over. The notes of all are then held against each other by `tenures`. There
//! is no other clock in this than that of the program: what the server reads lies between the moments.
//!
//! A clock that steps back is made the other way round: all times of a key are put forward.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, Row};
use serde_json::json;
use uuid::Uuid;

use crate::call::{connect, explain};
use crate::record::Span;
use crate::rng::Rng;
use crate::tables::verify;
use crate::tenures::{self, Asked, Grant, Kept, Note, Notes};

/// Their tenant.
const TENANT: &str = "leased";
/// Each key guards an instance of its own.
const KEYS: usize = 4;
const HOLDERS: usize = 8;
const APPLICATION: &str = "workflow-model-leases";

struct Shared<'a> {
    database: &'a str,
    seed: u64,
    epoch: Instant,
    instances: Vec<Uuid>,
    going: AtomicBool,
    drawn: AtomicU64,
    notes: Mutex<Notes>,
}

impl Shared<'_> {
    fn connect(&self) -> Result<Client, String> {
        let mut client = connect(Some(self.database))?;
        say(
            &mut client,
            &format!(
                "SET workflow.tenant = '{TENANT}'; SET workflow.wait_ms = '2s';
                 SET application_name = '{APPLICATION}'"
            ),
        )?;
        Ok(client)
    }

    fn note(&self, note: Note) {
        self.notes.lock().expect("no holder panicked").push(note);
    }
}

fn say(client: &mut Client, sql: &str) -> Result<(), String> {
    let said = client.batch_execute(sql);
    said.map_err(|error| format!("{sql}: {}", explain(&error)))
}

pub fn key(number: usize) -> String {
    format!("key {number}")
}

/// Lets holders loose for a time; gives the number of checked answers.
pub fn run(database: &str, seed: u64, time: Duration) -> Result<usize, String> {
    let mut control = connect(Some(database))?;
    say(&mut control, &format!("SET workflow.tenant = '{TENANT}'"))?;
    let shared = Shared {
        database,
        seed,
        epoch: Instant::now(),
        instances: prepare(&mut control)?,
        going: AtomicBool::new(true),
        drawn: AtomicU64::new(0),
        notes: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let shared = &shared;
        let mut threads: Vec<_> = (0..HOLDERS)
            .map(|number| scope.spawn(move || hold(shared, number)))
            .collect();
        threads.push(scope.spawn(move || step_back(shared)));
        threads.push(scope.spawn(move || kill(shared)));
        std::thread::sleep(time);
        shared.going.store(false, Ordering::SeqCst);
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("a holder panicked"));
        results.collect::<Result<Vec<()>, String>>()
    })?;
    let notes = shared.notes.into_inner().expect("no holder panicked");
    let checked = tenures::check(&notes, &mut control, TENANT)
        .map_err(|what| format!("VIOLATION among leases: {what}\n"))?;
    verify(&mut control, Some(TENANT))
        .map_err(|violation| format!("VIOLATION among leases: {}\n", violation.what))?;
    println!("{}", notes.summary());
    Ok(checked)
}

fn prepare(control: &mut Client) -> Result<Vec<Uuid>, String> {
    let spec = json!({"id": "leased", "initial": "OPEN", "states": {
        "OPEN": {"meta": {"lease": "required"}, "on": {"WRITE": "OPEN"}}}});
    let mut ask = |sql: &str, arguments: &[&(dyn postgres::types::ToSql + Sync)]| {
        let row = control.query_one(sql, arguments);
        row.map_err(|error| format!("{sql}: {}", explain(&error)))
    };
    ask("SELECT version FROM wf_define($1)", &[&spec])?;
    (0..KEYS)
        .map(|number| {
            let row = ask(
                "SELECT instance_id FROM wf_start('leased', $1, '{}')",
                &[&key(number)],
            )?;
            Ok(row.get(0))
        })
        .collect()
}

/// All times of a key are put forward: to it, the clock has stepped back.
fn step_back(shared: &Shared<'_>) -> Result<(), String> {
    let mut rng = Rng::new(shared.seed, 900);
    let mut client = connect(Some(shared.database))?;
    let put_forward = format!(
        "UPDATE workflow.leases SET granted_at = granted_at + s, renewed_at = renewed_at + s,
                expires_at = expires_at + s, seen_at = seen_at + s
           FROM make_interval(secs => $2 / 1e6::float8) s
          WHERE tenant_id = '{TENANT}' AND key = $1 AND held <> $3"
    );
    let log = format!(
        "UPDATE workflow.lease_log SET granted_at = granted_at + s, ended_at = ended_at + s
           FROM make_interval(secs => $2 / 1e6::float8) s
          WHERE tenant_id = '{TENANT}' AND key = $1"
    );
    while shared.going.load(Ordering::SeqCst) {
        let name = key(rng.below(KEYS));
        // Between two tenures the clock steps further: that prolongs none.
        let free = rng.chance(80);
        let micros = 1000.0 * rng.below(if free { 500 } else { 150 }) as f64;
        let (span, moved) = Span::around(shared.epoch, || {
            let mut step = client.transaction()?;
            let moved = step.execute(&put_forward, &[&name, &micros, &free])?;
            if moved > 0 {
                step.execute(&log, &[&name, &micros])?;
            }
            step.commit().map(|()| moved)
        });
        if moved.map_err(|error| format!("step back: {}", explain(&error)))? > 0 {
            shared.note(Note::Step {
                key: (0..KEYS)
                    .find(|number| key(*number) == name)
                    .unwrap_or_default(),
                micros: micros as u64,
                span,
            });
        }
        std::thread::sleep(Duration::from_millis(5 + rng.below(60) as u64));
    }
    Ok(())
}

/// Backends die in the middle of what they do.
fn kill(shared: &Shared<'_>) -> Result<(), String> {
    let mut rng = Rng::new(shared.seed, 901);
    let mut client = connect(Some(shared.database))?;
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = $1 AND datname = current_database() ORDER BY random() LIMIT 1";
    while shared.going.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(50 + rng.below(200) as u64));
        client
            .query(sql, &[&APPLICATION])
            .map_err(|error| format!("pg_terminate_backend: {}", explain(&error)))?;
    }
    Ok(())
}

/// What a holder was given, whether or not it is over.
#[derive(Clone)]
struct Had {
    key: usize,
    holder: String,
    token: Uuid,
    fence: i64,
    ttl_ms: i32,
}

struct Holder<'a> {
    shared: &'a Shared<'a>,
    rng: Rng,
    client: Client,
    /// Its second connection, which renews while the first one works.
    other: Client,
    had: Vec<Had>,
    /// What was done in the open transaction.
    open: Option<Vec<Note>>,
}

/// The connection is gone.
struct Killed;

type Told<T> = Result<Result<T, Killed>, String>;

/// Carries on, unless the connection is gone: then leaves with that.
macro_rules! told {
    ($told:expr) => {
        match $told? {
            Ok(told) => told,
            Err(Killed) => return Ok(Err(Killed)),
        }
    };
}

fn hold(shared: &Shared<'_>, number: usize) -> Result<(), String> {
    let mut holder = Holder {
        shared,
        rng: Rng::new(shared.seed, 910 + number as u64),
        client: shared.connect()?,
        other: shared.connect()?,
        had: Vec::new(),
        open: None,
    };
    while shared.going.load(Ordering::SeqCst) {
        if let Err(Killed) = holder.act()? {
            holder.close(Kept::Unknown, holder.now());
            (holder.client, holder.other) = (shared.connect()?, shared.connect()?);
        }
    }
    Ok(())
}

impl Holder<'_> {
    fn now(&self) -> Span {
        Span::around(self.shared.epoch, || ()).0
    }

    /// Notes what is done; in an open transaction, when it ends.
    fn note(&mut self, note: Note) {
        match &mut self.open {
            Some(notes) => notes.push(note),
            None => self.shared.note(note),
        }
    }

    /// The transaction has ended, if there was one.
    fn close(&mut self, kept: Kept, end: Span) {
        for note in self.open.take().unwrap_or_default() {
            self.shared.note(note.ended(kept, end));
        }
    }

    fn act(&mut self) -> Told<()> {
        match self.rng.weighted(&[60, 22, 3, 15]) {
            0 => self.tenure(),
            1 => self.transaction(),
            2 => {
                let key = self.rng.below(KEYS);
                told!(self.take(key, true));
                Ok(Ok(()))
            }
            _ => self.late(),
        }
    }

    /// Takes a lease, works under it, and gives it back or forgets it.
    fn tenure(&mut self) -> Told<()> {
        let key = self.rng.below(KEYS);
        let Some(had) = told!(self.take(key, false)) else {
            self.pause(30);
            return Ok(Ok(()));
        };
        for _ in 0..1 + self.rng.below(4) {
            match self.rng.weighted(&[35, 20, 15, 10, 20]) {
                0 => told!(self.write(&had)),
                1 => told!(self.renew(&had, false)),
                2 => self.pause(had.ttl_ms as usize / 2),
                // Past its time, as often as not.
                3 => self.pause(had.ttl_ms as usize * 2),
                _ => told!(self.long_write(&had)),
            }
        }
        if self.rng.chance(60) {
            told!(self.release(&had));
        }
        Ok(Ok(()))
    }

    /// A transaction that takes its time between the write and its end, while the lease is renewed.
    fn long_write(&mut self, had: &Had) -> Told<()> {
        told!(self.begin());
        if self.rng.chance(60) {
            self.pause(had.ttl_ms as usize * 2);
        }
        told!(self.write(had));
        if self.rng.chance(50) {
            told!(self.renew(had, true));
        }
        self.pause(had.ttl_ms as usize * 3 / 2);
        self.end()
    }

    /// Takes a lease in an open transaction.
    fn transaction(&mut self) -> Told<()> {
        let key = self.rng.below(KEYS);
        told!(self.begin());
        told!(self.ask(false, "SELECT", &[]));
        self.pause(300);
        let Some(had) = told!(self.take(key, false)) else {
            return self.end();
        };
        if self.rng.chance(60) {
            told!(self.write(&had));
        }
        if self.rng.chance(20) {
            told!(self.release(&had));
        }
        self.pause(had.ttl_ms as usize * 3 / 2);
        told!(self.end());
        self.write(&had)
    }

    /// Goes on with something that was had once.
    fn late(&mut self) -> Told<()> {
        let recent = self.had.len().min(8);
        if recent == 0 {
            return Ok(Ok(()));
        }
        let had = self.had[self.had.len() - 1 - self.rng.below(recent)].clone();
        match self.rng.below(4) {
            0 => self.renew(&had, false),
            1 => self.release(&had),
            _ => self.write(&had),
        }
    }

    fn begin(&mut self) -> Told<()> {
        told!(self.ask(false, "BEGIN", &[]));
        self.open = Some(Vec::new());
        Ok(Ok(()))
    }

    fn end(&mut self) -> Told<()> {
        let commits = self.rng.chance(70);
        let sql = if commits { "COMMIT" } else { "ROLLBACK" };
        let (span, answer) = self.timed(false, sql, &[]);
        match answer? {
            Ok(_) if commits => self.close(Kept::Yes, span),
            Ok(_) => self.close(Kept::No, span),
            Err(Killed) => return Ok(Err(Killed)),
        }
        Ok(Ok(()))
    }

    fn take(&mut self, key: usize, steals: bool) -> Told<Option<Had>> {
        let drawn = self.shared.drawn.fetch_add(1, Ordering::SeqCst);
        let holder = format!("holder {drawn}");
        let ttl_ms = 50 + self.rng.below(250) as i32;
        let wait_ms = [0, 0, 20, 100][self.rng.below(4)];
        let name = self::key(key);
        let (span, answer) = if steals {
            self.timed(
                false,
                "SELECT acquired, token, fence, reason FROM wf_lease_steal($1, $2, 'model',
                        on_refusal => 'return', actor => $3)",
                &[&name, &ttl_ms, &holder],
            )
        } else {
            self.timed(
                false,
                "SELECT acquired, token, fence, reason FROM wf_lease_acquire($1, $2, $3, $4)",
                &[&name, &ttl_ms, &holder, &wait_ms],
            )
        };
        let asked = Asked { key, span };
        let grant = Grant {
            asked,
            holder: holder.clone(),
            fence: None,
            ttl: ttl_ms as u64 * 1000,
            steals,
            kept: Kept::Unknown,
            end: span,
        };
        let row = match answer? {
            Err(Killed) => {
                self.note(Note::Grant(grant));
                return Ok(Err(Killed));
            }
            Ok(rows) => rows.into_iter().next().ok_or("no answer")?,
        };
        if !row.get::<_, bool>(0) {
            let reason: String = row.get(3);
            self.note(Note::Refused { asked, reason });
            return Ok(Ok(None));
        }
        let had = Had {
            key,
            holder,
            token: row.get(1),
            fence: row.get(2),
            ttl_ms,
        };
        self.had.push(had.clone());
        self.note(Note::Grant(Grant {
            fence: Some(had.fence),
            kept: Kept::Yes,
            ..grant
        }));
        Ok(Ok(Some(had)))
    }

    fn renew(&mut self, had: &Had, on_other: bool) -> Told<()> {
        let name = key(had.key);
        let (span, answer) = self.timed(
            on_other,
            "SELECT renewed, reason FROM wf_lease_renew($1, $2, $3, on_refusal => 'return')",
            &[&name, &had.token, &had.ttl_ms],
        );
        let answer = answer?;
        let note = Note::Renewed {
            asked: Asked { key: had.key, span },
            fence: had.fence,
            answer: answer.as_ref().ok().map(|rows| outcome(&rows[0])),
            kept: if answer.is_ok() {
                Kept::Yes
            } else {
                Kept::Unknown
            },
            end: span,
        };
        // The second connection has no transaction open.
        if on_other {
            self.shared.note(note);
        } else {
            self.note(note);
        }
        Ok(answer.map(|_| ()))
    }

    fn release(&mut self, had: &Had) -> Told<()> {
        let name = key(had.key);
        let (span, answer) = self.timed(
            false,
            "SELECT released, reason FROM wf_lease_release($1, $2, on_refusal => 'return')",
            &[&name, &had.token],
        );
        let answer = answer?;
        self.note(Note::Released {
            asked: Asked { key: had.key, span },
            fence: had.fence,
            answer: answer.as_ref().ok().map(|rows| outcome(&rows[0])),
            kept: if answer.is_ok() {
                Kept::Yes
            } else {
                Kept::Unknown
            },
            end: span,
        });
        Ok(answer.map(|_| ()))
    }

    fn write(&mut self, had: &Had) -> Told<()> {
        let request = format!("write {}", self.shared.drawn.fetch_add(1, Ordering::SeqCst));
        let (instance, name) = (self.shared.instances[had.key], key(had.key));
        let (span, answer) = self.timed(
            false,
            "SELECT applied, code FROM wf_send($1, 'WRITE', request_id => $2, lease_key => $3, fence => $4,
                    actor => $5, on_refusal => 'return')",
            &[&instance, &request, &name, &had.fence, &had.holder],
        );
        let answer = answer?;
        self.note(Note::Wrote {
            asked: Asked { key: had.key, span },
            fence: had.fence,
            request,
            answer: answer.as_ref().ok().map(|rows| outcome(&rows[0])),
            kept: if answer.is_ok() {
                Kept::Yes
            } else {
                Kept::Unknown
            },
            end: span,
        });
        Ok(answer.map(|_| ()))
    }

    fn ask(
        &mut self,
        on_other: bool,
        sql: &str,
        arguments: &[&(dyn postgres::types::ToSql + Sync)],
    ) -> Told<Vec<Row>> {
        self.timed(on_other, sql, arguments).1
    }

    #[allow(clippy::type_complexity)]
    fn timed(
        &mut self,
        on_other: bool,
        sql: &str,
        arguments: &[&(dyn postgres::types::ToSql + Sync)],
    ) -> (Span, Told<Vec<Row>>) {
        let client = if on_other {
            &mut self.other
        } else {
            &mut self.client
        };
        let (span, answer) = Span::around(self.shared.epoch, || client.query(sql, arguments));
        let told = match answer {
            Ok(rows) => Ok(Ok(rows)),
            Err(error) if client.is_closed() => {
                drop(error);
                Ok(Err(Killed))
            }
            Err(error) if error.code().is_some_and(|code| code.code() == "57P01") => {
                Ok(Err(Killed))
            }
            Err(error) => Err(format!(
                "VIOLATION among leases: {sql}: {}\n",
                explain(&error)
            )),
        };
        (span, told)
    }

    fn pause(&mut self, up_to_ms: usize) {
        let micros = self.rng.below(up_to_ms.max(1) * 1000) as u64;
        std::thread::sleep(Duration::from_micros(micros));
    }
}

/// Whether it was done, and if not why.
fn outcome(row: &Row) -> Result<(), String> {
    if row.get(0) {
        Ok(())
    } else {
        Err(row.get::<_, Option<String>>(1).unwrap_or_default())
    }
}
