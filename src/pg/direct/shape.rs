//! What is known of a table, until its definition changes.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use pgrx::pg_sys::{self, AttrNumber, Datum, Oid};

/// A column that the engine reads or writes.
pub struct Column {
    pub(super) name: &'static CStr,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Of a type of PostgreSQL's own.
    Builtin(Oid),
    /// Of an enum of the extension's, given as text.
    Enum(&'static str),
}

impl Column {
    /// A column of a built-in type.
    pub const fn new(name: &'static CStr, oid: Oid) -> Column {
        let kind = Kind::Builtin(oid);
        Column { name, kind }
    }

    /// A column of an enum, which values give as text.
    pub const fn of_enum(name: &'static CStr, type_name: &'static str) -> Column {
        let kind = Kind::Enum(type_name);
        Column { name, kind }
    }

    /// Its name.
    pub(in crate::pg) fn name(&self) -> &'static str {
        self.name.to_str().expect("an ASCII name")
    }

    /// The type of its values, and what they are cast to.
    pub(in crate::pg) fn types(&self) -> (Oid, Option<&'static str>) {
        match self.kind {
            Kind::Builtin(oid) => (oid, None),
            Kind::Enum(name) => (pg_sys::TEXTOID, Some(name)),
        }
    }
}

/// A table of the schema workflow, as one use of it needs it.
pub struct Table {
    /// Its name.
    pub name: &'static CStr,
    /// The columns in the order in which they are given or read.
    pub columns: &'static [Column],
    /// The index by which rows are looked up, and how many of the first columns are its first keys.
    pub index: Option<(&'static CStr, usize)>,
}

/// What is to be done to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Rows are looked up.
    Read,
    /// Rows are added.
    Insert,
    /// Rows are replaced.
    Update,
}

/// A table as the catalogue describes it.
pub(super) struct Shape {
    relation: Oid,
    suitable: bool,
    pub(super) index: Oid,
    /// Numbers of the columns, in the order of `Table::columns`.
    pub(super) numbers: Vec<AttrNumber>,
    /// Types of the enums among them.
    pub(super) types: Vec<Oid>,
    /// Planned defaults of the other columns.
    pub(super) defaults: Vec<(AttrNumber, *mut pg_sys::Expr)>,
    memory: pg_sys::MemoryContext,
}

impl Drop for Shape {
    fn drop(&mut self) {
        // SAFETY: the context is this shape's own, and only its expressions lie in it.
        unsafe { pg_sys::MemoryContextDelete(self.memory) };
    }
}

/// A table that is open and locked for its purpose, to the end of the transaction.
pub struct Open {
    pub(super) relation: pg_sys::Relation,
    pub(super) table: &'static Table,
    pub(super) shape: Rc<Shape>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened in `open`; after an error the abort closes it.
            unsafe { pg_sys::table_close(self.relation, pg_sys::NoLock as i32) };
        }
    }
}

/// Tables whose changes are waited for; 0 where there is none.
static WATCHED: [AtomicU32; 16] = [const { AtomicU32::new(0) }; 16];

thread_local! {
    static SHAPES: RefCell<Vec<(*const Table, Rc<Shape>)>> = const { RefCell::new(Vec::new()) };
    static OUTDATED: Cell<bool> = const { Cell::new(false) };
}

/// Forgets what is known when a table, or any function that a default may call, changes. Called once,
/// when the library is loaded.
pub fn watch() {
    // SAFETY: the callbacks only set a flag.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::from(0usize));
        pg_sys::CacheRegisterSyscacheCallback(
            pg_sys::SysCacheIdentifier::PROCOID as i32,
            Some(function_changed),
            Datum::from(0usize),
        );
    }
}

unsafe extern "C-unwind" fn relation_changed(_: Datum, relation: Oid) {
    let changed = relation.to_u32();
    let concerns = |watched: &AtomicU32| watched.load(Ordering::Relaxed) == changed;
    if changed == 0 || WATCHED.iter().any(concerns) {
        OUTDATED.set(true);
    }
}

unsafe extern "C-unwind" fn function_changed(_: Datum, _cache: i32, _hash: u32) {
    OUTDATED.set(true);
}

/// Opens a table, if it may be used without the executor.
pub fn open(table: &'static Table, purpose: Purpose) -> Option<Open> {
    // SAFETY: looks at this backend's own state. An active snapshot keeps what is read from being
    // removed before it is written.
    if !unsafe { pg_sys::ActiveSnapshotSet() } || super::super::backend::keeps_snapshot() {
        return None;
    }
    let lock = match purpose {
        Purpose::Read => pg_sys::AccessShareLock,
        Purpose::Insert | Purpose::Update => pg_sys::RowExclusiveLock,
    };
    // What is known may be outdated by the time the lock is had; then once more.
    for _ in 0..2 {
        let shape = shape_of(table)?;
        if !shape.suitable {
            return None;
        }
        // SAFETY: gives an open relation or NULL; `Open` closes it.
        let relation = unsafe { pg_sys::try_table_open(shape.relation, lock as i32) };
        if relation.is_null() {
            OUTDATED.set(true);
            continue;
        }
        let open = Open {
            relation,
            table,
            shape,
        };
        if OUTDATED.get() {
            continue;
        }
        return (!fires(relation, purpose)).then_some(open);
    }
    None
}

/// Whether a trigger is to be fired.
fn fires(relation: pg_sys::Relation, purpose: Purpose) -> bool {
    // SAFETY: an open relation; its description of triggers is NULL if there are none.
    let Some(triggers) = (unsafe { (*relation).trigdesc.as_ref() }) else {
        return false;
    };
    match purpose {
        Purpose::Read => false,
        Purpose::Insert => {
            triggers.trig_insert_before_row
                || triggers.trig_insert_after_row
                || triggers.trig_insert_before_statement
                || triggers.trig_insert_after_statement
        }
        Purpose::Update => {
            triggers.trig_update_before_row
                || triggers.trig_update_after_row
                || triggers.trig_update_before_statement
                || triggers.trig_update_after_statement
        }
    }
}

fn shape_of(table: &'static Table) -> Option<Rc<Shape>> {
    if OUTDATED.replace(false) {
        SHAPES.with_borrow_mut(Vec::clear);
        for watched in &WATCHED {
            watched.store(0, Ordering::Relaxed);
        }
    }
    let key = ptr::from_ref(table);
    let known = SHAPES.with_borrow(|shapes| {
        let found = shapes.iter().find(|(of, _)| *of == key);
        found.map(|(_, shape)| Rc::clone(shape))
    });
    if known.is_some() {
        return known;
    }
    let shape = Rc::new(describe(table)?);
    SHAPES.with_borrow_mut(|shapes| shapes.push((key, Rc::clone(&shape))));
    Some(shape)
}

/// Reads the catalogue; `None` if there is no such table.
fn describe(table: &Table) -> Option<Shape> {
    // SAFETY: look-ups in the catalogue by names that are C strings; the relation is open meanwhile.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"workflow".as_ptr(), true);
        let oid = pg_sys::get_relname_relid(table.name.as_ptr(), schema);
        let relation = pg_sys::try_table_open(oid, pg_sys::AccessShareLock as i32);
        if relation.is_null() {
            return None;
        }
        let watched = watch_relation(oid);
        let memory = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CacheMemoryContext,
            c"workflow table".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        );
        let mut shape = Shape {
            relation: oid,
            suitable: watched && is_plain(relation),
            index: Oid::INVALID,
            numbers: Vec::new(),
            types: Vec::new(),
            defaults: Vec::new(),
            memory,
        };
        for column in table.columns {
            let number = pg_sys::get_attnum(oid, column.name.as_ptr());
            let of = pg_sys::get_atttype(oid, number);
            let expected = match column.kind {
                Kind::Builtin(expected) => of == expected,
                Kind::Enum(_) => pg_sys::get_typtype(of) as u8 == pg_sys::TYPTYPE_ENUM,
            };
            shape.suitable &= number > 0 && expected;
            shape.numbers.push(number);
            shape.types.push(of);
        }
        if shape.suitable {
            plan_defaults(relation, &mut shape);
        }
        if let Some((name, keys)) = table.index.filter(|_| shape.suitable) {
            shape.index = pg_sys::get_relname_relid(name.as_ptr(), schema);
            shape.suitable = is_index_of(shape.index, oid, &shape.numbers[..keys]);
        }
        pg_sys::table_close(relation, pg_sys::NoLock as i32);
        Some(shape)
    }
}

fn watch_relation(relation: Oid) -> bool {
    let relation = relation.to_u32();
    WATCHED.iter().any(|watched| {
        let before = watched.load(Ordering::Relaxed);
        if before == 0 {
            watched.store(relation, Ordering::Relaxed);
        }
        before == 0 || before == relation
    })
}

/// # Safety
/// The relation is open.
unsafe fn is_plain(relation: pg_sys::Relation) -> bool {
    // SAFETY: promised by the caller; the class row is always there.
    unsafe {
        let class = &*(*relation).rd_rel;
        let generated = (*(*relation).rd_att)
            .constr
            .as_ref()
            .is_some_and(|constraints| {
                #[cfg(feature = "pg18")]
                let computed_on_read = constraints.has_generated_virtual;
                #[cfg(not(feature = "pg18"))]
                let computed_on_read = false;
                constraints.has_generated_stored || computed_on_read
            });
        class.relkind as u8 == pg_sys::RELKIND_RELATION
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && !class.relispartition
            && (*relation).rd_rules.is_null()
            && !generated
    }
}

/// # Safety
/// The relation is open, and plain.
unsafe fn plan_defaults(relation: pg_sys::Relation, shape: &mut Shape) {
    // SAFETY: numbers from 1 to the number of columns are valid; a dropped column has no type. What
    // is planned is kept in the shape's own memory.
    unsafe {
        let columns = (*(*relation).rd_att).natts as AttrNumber;
        for number in 1..=columns {
            let dropped = pg_sys::get_atttype(shape.relation, number) == Oid::INVALID;
            if dropped || shape.numbers.contains(&number) {
                continue;
            }
            let default = pg_sys::build_column_default(relation, i32::from(number));
            if default.is_null() {
                continue;
            }
            let previous = pg_sys::MemoryContextSwitchTo(shape.memory);
            let planned = pg_sys::expression_planner(default.cast());
            let kept = pg_sys::copyObjectImpl(planned.cast()).cast();
            pg_sys::MemoryContextSwitchTo(previous);
            shape.defaults.push((number, kept));
        }
    }
}

/// # Safety
/// `index` is an oid, of whatever or nothing.
unsafe fn is_index_of(index: Oid, relation: Oid, keys: &[AttrNumber]) -> bool {
    // SAFETY: IndexGetRelation gives the invalid oid for what is no index; an index is opened only if
    // its table is the one that is locked. It has as many key columns as it says.
    unsafe {
        if pg_sys::IndexGetRelation(index, true) != relation {
            return false;
        }
        let open = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
        let form = &*(*open).rd_index;
        let columns =
            std::slice::from_raw_parts(form.indkey.values.as_ptr(), form.indnkeyatts as usize);
        let usable = form.indisvalid && columns.starts_with(keys);
        let whole = pg_sys::RelationGetIndexPredicate(open).is_null();
        pg_sys::index_close(open, pg_sys::NoLock as i32);
        usable && whole
    }
}
