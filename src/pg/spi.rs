//! Statements: prepared once per backend, planned once, run with typed arguments.
//!
//! A look-up by key gets a generic plan from the first call, kept for the life of the backend;
//! PostgreSQL itself plans it again when a table under it changes.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use pgrx::pg_sys::{self, Datum, Oid};
use uuid::Uuid;
use workflow_core::sqlstate::SqlState;

use super::backend;
use super::direct::{self, Column, Open, Purpose, Table};
use super::report::Report;
use super::value::{self, Jsonb, Time, Value};

/// SQL with its argument types, and the plan once there is one.
pub struct Statement {
    sql: &'static str,
    types: &'static [Oid],
    planning: u32,
    of_queue: bool,
    plan: AtomicPtr<pg_sys::_SPI_plan>,
}

impl Statement {
    /// Describes a look-up by key; nothing is prepared yet.
    pub const fn new(sql: &'static str, types: &'static [Oid]) -> Statement {
        Statement::planned(sql, types, pg_sys::CURSOR_OPT_GENERIC_PLAN)
    }

    /// Describes a statement whose plan depends on its arguments: it is planned at every call.
    pub const fn survey(sql: &'static str, types: &'static [Oid]) -> Statement {
        Statement::planned(sql, types, pg_sys::CURSOR_OPT_CUSTOM_PLAN)
    }

    /// Describes a step of a queue: it goes by indexes and in their order, however small or
    /// unknown its tables look to the planner, and sees what is committed now, also where the
    /// transaction keeps a snapshot.
    pub const fn queue(sql: &'static str, types: &'static [Oid]) -> Statement {
        let mut statement = Statement::new(sql, types);
        statement.of_queue = true;
        statement
    }

    const fn planned(sql: &'static str, types: &'static [Oid], planning: u32) -> Statement {
        Statement {
            sql,
            types,
            planning,
            of_queue: false,
            plan: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn plan(&self) -> pg_sys::SPIPlanPtr {
        let known = self.plan.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        let sql = CString::new(self.sql).expect("SQL text holds no NUL");
        // SAFETY: the type array is as long as stated; SPI copies it. A kept plan lives in
        // CacheMemoryContext, beyond any transaction.
        unsafe {
            let plan = pg_sys::SPI_prepare_cursor(
                sql.as_ptr(),
                self.types.len() as i32,
                self.types.as_ptr().cast_mut(),
                self.planning as i32,
            );
            let result = pg_sys::SPI_result;
            assert!(
                !plan.is_null(),
                "SPI_prepare gave {result} for {}",
                self.sql
            );
            pg_sys::SPI_keepplan(plan);
            self.plan.store(plan, Ordering::Relaxed);
            plan
        }
    }
}

/// A statement that adds one row with the given columns, for which there is a short cut (see
/// [`direct`]).
pub struct Insert {
    table: Table,
    statement: OnceLock<Statement>,
}

impl Insert {
    /// Describes it by the table's name, in the schema workflow, and the columns that are given.
    pub const fn new(name: &'static CStr, columns: &'static [Column]) -> Insert {
        let table = Table {
            name,
            columns,
            index: None,
        };
        Insert {
            table,
            statement: OnceLock::new(),
        }
    }

    /// The statement, as long as the backend lives.
    fn statement(&self) -> &Statement {
        self.statement.get_or_init(|| {
            let columns = self.table.columns;
            let names: Vec<&str> = columns.iter().map(Column::name).collect();
            let (types, casts): (Vec<Oid>, Vec<_>) = columns.iter().map(Column::types).unzip();
            let cast = |(index, cast): (usize, &Option<&str>)| match cast {
                Some(of) => format!("${}::workflow.{of}", index + 1),
                None => format!("${}", index + 1),
            };
            let values: Vec<String> = casts.iter().enumerate().map(cast).collect();
            let sql = format!(
                "INSERT INTO workflow.{} ({}) VALUES ({})",
                self.table.name.to_str().expect("an ASCII name"),
                names.join(", "),
                values.join(", ")
            );
            Statement::new(sql.leak(), types.leak())
        })
    }
}

/// A connection to SPI for the length of one call.
pub struct Spi {
    read_only: bool,
    direct: Cell<bool>,
}

impl Spi {
    /// Connects. A read-only connection sees the snapshot of the calling query; another one takes a
    /// fresh snapshot for each statement (in READ COMMITTED).
    pub fn connect(read_only: bool) -> Spi {
        // SAFETY: finished in drop, or by the abort of the transaction.
        let connected = unsafe { pg_sys::SPI_connect() };
        assert_eq!(
            connected,
            pg_sys::SPI_OK_CONNECT as i32,
            "SPI_connect failed"
        );
        let direct = Cell::new(false);
        Spi { read_only, direct }
    }

    /// Lets rows be read and written without the executor, where that is sound. Readers go by SQL:
    /// they see the snapshot of the calling query.
    pub fn allow_direct(&self, allowed: bool) {
        self.direct.set(allowed && !self.read_only);
    }

    /// A table, where it may be used directly.
    pub fn open(&self, table: &'static Table, purpose: Purpose) -> Option<Open> {
        if self.direct.get() {
            direct::open(table, purpose)
        } else {
            None
        }
    }

    /// Adds one row; false if a trigger kept it out.
    pub fn insert(&self, insert: &'static Insert, values: &[Value<'_>]) -> bool {
        match self.open(&insert.table, Purpose::Insert) {
            Some(table) => {
                table.insert(values);
                true
            }
            None => self.run(insert.statement(), values).count() == 1,
        }
    }

    /// Whether this connection is a reader's.
    pub fn only_reads(&self) -> bool {
        self.read_only
    }

    /// Runs a statement to its end.
    ///
    /// A survey runs without JIT compilation: the cost estimates of a query over JSON are far off,
    /// and compiling takes longer than the query.
    pub fn run(&self, statement: &Statement, arguments: &[Value<'_>]) -> Rows<'_> {
        assert_eq!(
            arguments.len(),
            statement.types.len(),
            "arguments of {}",
            statement.sql
        );
        let mut datums = [Datum::from(0usize); MAX_ARGUMENTS];
        let mut nulls = [b' ' as c_char; MAX_ARGUMENTS];
        for (i, argument) in arguments.iter().enumerate() {
            let (datum, is_null) = argument.to_datum();
            datums[i] = datum;
            if is_null {
                nulls[i] = b'n' as c_char;
            }
        }
        // SAFETY: both arrays cover all arguments; the datums are of the types the plan was
        // prepared with. Results are read before the next statement: SPI's globals are copied here.
        unsafe {
            let plan = statement.plan();
            let _interpreted = (statement.planning == pg_sys::CURSOR_OPT_CUSTOM_PLAN
                || statement.of_queue)
                .then(WithoutJit::begin);
            let _by_index = statement.of_queue.then(IndexesOnly::begin);
            let result = if statement.of_queue && backend::keeps_snapshot() {
                // As foreign keys look for rows that are there now.
                let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
                let result = pg_sys::SPI_execute_snapshot(
                    plan,
                    datums.as_mut_ptr(),
                    nulls.as_ptr(),
                    snapshot,
                    ptr::null_mut(),
                    self.read_only,
                    true,
                    0,
                );
                pg_sys::UnregisterSnapshot(snapshot);
                result
            } else {
                pg_sys::SPI_execute_plan(
                    plan,
                    datums.as_mut_ptr(),
                    nulls.as_ptr(),
                    self.read_only,
                    0,
                )
            };
            assert!(
                result > 0,
                "SPI_execute_plan gave {result} for {}",
                statement.sql
            );
            Rows {
                processed: pg_sys::SPI_processed,
                table: pg_sys::SPI_tuptable,
                connection: PhantomData,
            }
        }
    }

    /// Runs a statement that gives at most one row.
    pub fn one(&self, statement: &Statement, arguments: &[Value<'_>]) -> Option<Row> {
        self.run(statement, arguments).row(0)
    }
}

impl Drop for Spi {
    fn drop(&mut self) {
        // After an error the abort of the (sub)transaction cleans up what SPI was in the middle of.
        if !std::thread::panicking() {
            // SAFETY: connected in `connect`.
            unsafe { pg_sys::SPI_finish() };
        }
    }
}

const MAX_ARGUMENTS: usize = 32;

/// Keeps the planner from asking for JIT compilation until dropped.
struct WithoutJit {
    enabled: bool,
}

impl WithoutJit {
    fn begin() -> WithoutJit {
        // SAFETY: a plain variable of this backend.
        unsafe {
            let enabled = pg_sys::jit_enabled;
            pg_sys::jit_enabled = false;
            WithoutJit { enabled }
        }
    }
}

impl Drop for WithoutJit {
    fn drop(&mut self) {
        // SAFETY: what was in force before.
        unsafe { pg_sys::jit_enabled = self.enabled };
    }
}

/// Keeps the planner to indexes, nested loops and the order of the indexes until dropped.
struct IndexesOnly([bool; 6]);

impl IndexesOnly {
    fn set(values: [bool; 6]) -> [bool; 6] {
        // SAFETY: plain variables of this backend.
        unsafe {
            let switches = [
                &raw mut pg_sys::enable_seqscan,
                &raw mut pg_sys::enable_bitmapscan,
                &raw mut pg_sys::enable_sort,
                &raw mut pg_sys::enable_hashjoin,
                &raw mut pg_sys::enable_mergejoin,
                &raw mut pg_sys::enable_material,
            ];
            let mut before = [false; 6];
            for (index, switch) in switches.into_iter().enumerate() {
                before[index] = switch.replace(values[index]);
            }
            before
        }
    }

    fn begin() -> IndexesOnly {
        IndexesOnly(IndexesOnly::set([false; 6]))
    }
}

impl Drop for IndexesOnly {
    fn drop(&mut self) {
        IndexesOnly::set(self.0);
    }
}

/// What a statement gave.
pub struct Rows<'a> {
    processed: u64,
    table: *mut pg_sys::SPITupleTable,
    connection: PhantomData<&'a Spi>,
}

impl Rows<'_> {
    /// Rows returned, or written.
    pub fn count(&self) -> u64 {
        self.processed
    }

    /// The row of this number.
    pub fn row(&self, number: u64) -> Option<Row> {
        if self.table.is_null() || number >= self.processed {
            return None;
        }
        // SAFETY: SPI_tuptable holds `processed` tuples of one descriptor; the arrays have its
        // number of columns. The tuple table lives until SPI_finish, the row is read before that.
        unsafe {
            let tuple = *(*self.table).vals.add(number as usize);
            let descriptor = (*self.table).tupdesc;
            let columns = (*descriptor).natts as usize;
            let mut values = vec![Datum::from(0usize); columns];
            let mut nulls = vec![false; columns];
            pg_sys::heap_deform_tuple(tuple, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            Some(Row { values, nulls })
        }
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        (0..self.processed).map_while(|number| self.row(number))
    }
}

/// One row; columns are counted from 0 and read as the type the statement gives them. A column that
/// is NULL where the statement promises a value is damage, reported as such.
pub struct Row {
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

macro_rules! column {
    ($(#[$doc:meta])* $required:ident, $optional:ident, $type:ty, $read:expr) => {
        $(#[$doc])*
        #[allow(dead_code)]
        pub fn $required(&self, column: usize) -> Result<$type, Report> {
            self.$optional(column)?.ok_or_else(|| unexpected_null(column))
        }

        /// The same, or `None` for NULL.
        #[allow(dead_code)]
        pub fn $optional(&self, column: usize) -> Result<Option<$type>, Report> {
            if self.nulls[column] {
                return Ok(None);
            }
            let read: fn(Datum) -> Result<$type, Report> = $read;
            read(self.values[column]).map(Some)
        }
    };
}

impl Row {
    /// A row of these values.
    pub(super) fn new(values: Vec<Datum>, nulls: Vec<bool>) -> Row {
        Row { values, nulls }
    }

    column!(/// A boolean.
        bool, opt_bool, bool, |datum| Ok(datum.value() != 0));
    column!(/// An int.
        int, opt_int, i32, |datum| Ok(datum.value() as i32));
    column!(/// An oid.
        oid, opt_oid, Oid, |datum| Ok(Oid::from(datum.value() as u32)));
    column!(/// A bigint.
        bigint, opt_bigint, i64, |datum| Ok(datum.value() as i64));
    column!(/// A timestamptz.
        time, opt_time, Time, |datum| Ok(Time(datum.value() as i64)));
    column!(/// A text.
        text, opt_text, String,
        // SAFETY: the statement gives a text in this column.
        |datum| unsafe { value::read_text(datum) });
    column!(/// A uuid.
        uuid, opt_uuid, Uuid,
        // SAFETY: the statement gives a uuid in this column.
        |datum| Ok(unsafe { value::read_uuid(datum) }));
    column!(/// A jsonb.
        jsonb, opt_jsonb, Jsonb,
        // SAFETY: the statement gives a jsonb in this column.
        |datum| Ok(unsafe { value::read_jsonb(datum) }));
    column!(/// A bytea.
        bytes, opt_bytes, Vec<u8>,
        // SAFETY: the statement gives a bytea in this column.
        |datum| Ok(unsafe { value::read_bytes(datum) }));
    column!(/// A text[] without NULL elements.
        texts, opt_texts, Vec<String>,
        // SAFETY: the statement gives a text[] in this column.
        |datum| Ok(unsafe { value::read_texts(datum) }?.into_iter().flatten().collect()));
}

fn unexpected_null(column: usize) -> Report {
    Report::new(
        SqlState::DATA_CORRUPTED,
        format!("column {column} of a workflow table is unexpectedly null"),
    )
}
