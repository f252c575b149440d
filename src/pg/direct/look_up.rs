//! Look-ups by an index.

use pgrx::pg_sys::{self, Oid};

use super::super::report::Report;
use super::super::spi::Row;
use super::super::value::Value;
use super::shape::{Kind, Open};

/// Where a row was found. It says nothing any more once the transaction has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    block: u32,
    offset: u16,
}

impl Place {
    pub(super) fn of(tid: pg_sys::ItemPointerData) -> Place {
        Place {
            block: u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo),
            offset: tid.ip_posid,
        }
    }

    pub(super) fn tid(self) -> pg_sys::ItemPointerData {
        pg_sys::ItemPointerData {
            ip_blkid: pg_sys::BlockIdData {
                bi_hi: (self.block >> 16) as u16,
                bi_lo: self.block as u16,
            },
            ip_posid: self.offset,
        }
    }
}

/// The active snapshot, until dropped: one that sees what has been committed now, and what this
/// transaction has done so far.
pub struct Fresh(());

impl Fresh {
    /// Takes it.
    pub fn take() -> Fresh {
        // SAFETY: popped in drop, or by the abort.
        unsafe {
            pg_sys::CommandCounterIncrement();
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        }
        Fresh(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: pushed in `take`.
            unsafe { pg_sys::PopActiveSnapshot() };
        }
    }
}

/// A scan that is ended when dropped.
struct Scan(pg_sys::SysScanDesc);

impl Drop for Scan {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: begun in `look_up`; after an error the abort ends it.
            unsafe { pg_sys::systable_endscan(self.0) };
        }
    }
}

impl Open {
    /// Shows every row with these keys, the first of the table's columns, in the fresh snapshot.
    pub fn look_up(
        &self,
        _snapshot: &Fresh,
        keys: &[Value<'_>],
        mut show: impl FnMut(&Row, Place) -> Result<(), Report>,
    ) -> Result<(), Report> {
        let mut entries = [pg_sys::ScanKeyData::default(); 4];
        for (index, key) in keys.iter().enumerate() {
            let equal = match key {
                Value::Text(_) => pg_sys::F_TEXTEQ,
                Value::Uuid(_) => pg_sys::F_UUID_EQ,
                Value::Int(_) => pg_sys::F_INT4EQ,
                Value::Bigint(_) => pg_sys::F_INT8EQ,
                other => panic!("no key of an index: {other:?}"),
            };
            let (datum, _) = key.to_datum();
            // SAFETY: the column is of the type of the value, whose operator this is; texts of keys
            // have the collation "C".
            unsafe {
                pg_sys::ScanKeyEntryInitialize(
                    &mut entries[index],
                    0,
                    self.shape.numbers[index],
                    pg_sys::BTEqualStrategyNumber as u16,
                    Oid::INVALID,
                    pg_sys::C_COLLATION_OID,
                    Oid::from(equal),
                    datum,
                );
            }
        }
        // SAFETY: relation and index belong together (see `describe`), and are locked. A tuple stays
        // pinned until the next; what is shown of it is read before that.
        unsafe {
            let scan = Scan(pg_sys::systable_beginscan(
                self.relation,
                self.shape.index,
                true,
                pg_sys::GetActiveSnapshot(),
                keys.len() as i32,
                entries.as_mut_ptr(),
            ));
            loop {
                let tuple = pg_sys::systable_getnext(scan.0);
                if tuple.is_null() {
                    return Ok(());
                }
                let row = self.columns_of(tuple);
                show(&row, Place::of((*tuple).t_self))?;
            }
        }
    }

    /// # Safety
    /// The tuple is one of this table's; the row is read while it is pinned.
    pub(super) unsafe fn columns_of(&self, tuple: pg_sys::HeapTuple) -> Row {
        // SAFETY: promised by the caller.
        let (values, nulls) = unsafe { self.deform(tuple) };
        let columns = self.table.columns.iter().zip(&self.shape.numbers);
        let columns = columns.map(|(column, number)| {
            let index = *number as usize - 1;
            match column.kind {
                // SAFETY: the column is of an enum.
                Kind::Enum(_) if !nulls[index] => (unsafe { label(values[index]) }, false),
                _ => (values[index], nulls[index]),
            }
        });
        let (values, nulls) = columns.unzip();
        Row::new(values, nulls)
    }

    /// # Safety
    /// The tuple is one of this table's, and pinned as long as its values are used.
    pub(super) unsafe fn deform(
        &self,
        tuple: pg_sys::HeapTuple,
    ) -> (Vec<pg_sys::Datum>, Vec<bool>) {
        // SAFETY: both arrays have an entry for each column of the descriptor.
        unsafe {
            let descriptor = (*self.relation).rd_att;
            let columns = (*descriptor).natts as usize;
            let mut values = vec![pg_sys::Datum::from(0usize); columns];
            let mut nulls = vec![true; columns];
            pg_sys::heap_deform_tuple(tuple, descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
            (values, nulls)
        }
    }
}

/// The label of an enum's value, as a text.
///
/// # Safety
/// The datum is of an enum.
unsafe fn label(value: pg_sys::Datum) -> pg_sys::Datum {
    // SAFETY: enum_out gives a C string, which is copied.
    unsafe {
        let label = pg_sys::OidOutputFunctionCall(Oid::from(pg_sys::F_ENUM_OUT), value);
        pg_sys::Datum::from(pg_sys::cstring_to_text(label))
    }
}
