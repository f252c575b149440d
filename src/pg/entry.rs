//! The entry that every SQL function goes through.
//!
//! A version-1 function written by hand: the outer frame owns nothing, the guarded body runs in
//! ordinary Rust and leaves a plain [`Ending`], and an error is raised only after every Rust value
//! is gone. PostgreSQL's own errors pass through the guard untouched.

use pgrx::pg_sys::{self, Datum};
use workflow_core::sqlstate::SqlState;

use super::call::Call;
use super::report::{RawReport, Report, raise};
use super::value::{Jsonb, Time, Value};

/// What a function answers.
pub enum Answer {
    /// One value.
    Scalar(Cell),
    /// One composite; of a function that returns a set, its only row.
    Row(Vec<Cell>),
    /// A set of composites.
    Rows(Vec<Vec<Cell>>),
}

/// An owned column of an answer: it outlives the SPI connection it may come from.
#[derive(Clone, Debug)]
pub enum Cell {
    /// NULL of any type.
    Null,
    /// boolean
    Bool(bool),
    /// int
    Int(i32),
    /// bigint
    Bigint(i64),
    /// text
    Text(String),
    /// uuid
    Uuid(uuid::Uuid),
    /// uuid[]
    Uuids(Vec<uuid::Uuid>),
    /// text[]
    Texts(Vec<String>),
    /// timestamptz
    Time(Time),
    /// jsonb that PostgreSQL made
    Jsonb(Jsonb),
    /// jsonb from its text
    Json(String),
}

impl Cell {
    /// NULL for `None`.
    pub fn optional<T>(value: Option<T>, wrap: impl FnOnce(T) -> Cell) -> Cell {
        value.map_or(Cell::Null, wrap)
    }

    fn as_value(&self) -> Value<'_> {
        match self {
            Cell::Null => Value::Null,
            Cell::Bool(value) => Value::Bool(*value),
            Cell::Int(value) => Value::Int(*value),
            Cell::Bigint(value) => Value::Bigint(*value),
            Cell::Text(value) => Value::Text(value),
            Cell::Uuid(value) => Value::Uuid(*value),
            Cell::Uuids(value) => Value::Uuids(value),
            Cell::Texts(value) => Value::Texts(value),
            Cell::Time(value) => Value::Time(*value),
            Cell::Jsonb(value) => Value::Jsonb(value),
            Cell::Json(value) => Value::Json(value),
        }
    }
}

/// A function's body.
pub type Body = fn(&Call) -> Result<Answer, Report>;

/// How a call ends: plain data, so that an error can be raised with nothing left to drop.
#[derive(Clone, Copy)]
enum Ending {
    Value(Datum, bool),
    Raise(RawReport),
}

/// Runs a body for PostgreSQL.
///
/// # Safety
/// Called by PostgreSQL's function manager, from a frame without destructors.
pub unsafe fn enter(fcinfo: pg_sys::FunctionCallInfo, body: Body) -> Datum {
    // SAFETY: this frame and the exported one above it own nothing that needs dropping.
    unsafe {
        match pg_sys::panic::pgrx_extern_c_guard(|| run(fcinfo, body)) {
            Ending::Value(datum, is_null) => {
                (*fcinfo).isnull = is_null;
                datum
            }
            Ending::Raise(report) => raise(report),
        }
    }
}

/// # Safety
/// As for [`enter`].
unsafe fn run(fcinfo: pg_sys::FunctionCallInfo, body: Body) -> Ending {
    // SAFETY: fcinfo is that of the running call.
    let call = unsafe { Call::new(fcinfo) };
    let ending = body(&call).and_then(|answer| match answer {
        Answer::Scalar(cell) => Ok(cell.as_value().to_datum()),
        // SAFETY: as above.
        Answer::Row(cells) => unsafe { row(&call, &cells) }.map(|datum| (datum, false)),
        // SAFETY: as above.
        Answer::Rows(rows) => unsafe { set(&call, &rows) }.map(|()| (Datum::from(0usize), true)),
    });
    match ending {
        Ok((datum, is_null)) => Ending::Value(datum, is_null),
        Err(report) => Ending::Raise(RawReport::new(&report)),
    }
}

/// The descriptor that the SQL declaration gives the result.
///
/// # Safety
/// The call is running.
unsafe fn descriptor(call: &Call, columns: usize) -> Result<pg_sys::TupleDesc, Report> {
    let mut descriptor: pg_sys::TupleDesc = std::ptr::null_mut();
    // SAFETY: fcinfo is live; the descriptor is a copy in the current memory context.
    unsafe {
        let class =
            pg_sys::get_call_result_type(call.fcinfo(), std::ptr::null_mut(), &mut descriptor);
        let declared = if descriptor.is_null() {
            0
        } else {
            (*descriptor).natts as usize
        };
        if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE || declared != columns {
            return Err(super::installation::mismatch());
        }
        Ok(pg_sys::BlessTupleDesc(descriptor))
    }
}

/// # Safety
/// The call is running.
unsafe fn row(call: &Call, cells: &[Cell]) -> Result<Datum, Report> {
    // A set of one row needs no second call: the default end of a set is "that was all".
    // SAFETY: values and nulls have as many entries as the descriptor has columns.
    unsafe {
        let descriptor = descriptor(call, cells.len())?;
        let (mut values, mut nulls): (Vec<Datum>, Vec<bool>) =
            cells.iter().map(|cell| cell.as_value().to_datum()).unzip();
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        Ok(pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data))
    }
}

/// # Safety
/// The call is running.
unsafe fn set(call: &Call, rows: &[Vec<Cell>]) -> Result<(), Report> {
    // SAFETY: a set-returning function is called with a ReturnSetInfo; the tuple store lives in the
    // per-query context, as the executor expects.
    unsafe {
        let info = (*call.fcinfo()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        let materialize = pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32;
        if info.is_null() || (*info).allowedModes & materialize == 0 {
            return Err(Report::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "a set is not accepted in this place",
            ));
        }
        let previous = pg_sys::MemoryContextSwitchTo((*(*info).econtext).ecxt_per_query_memory);
        let columns = (*(*info).expectedDesc).natts as usize;
        let descriptor = pg_sys::CreateTupleDescCopy((*info).expectedDesc);
        let store = pg_sys::tuplestore_begin_heap(true, false, pg_sys::work_mem);
        pg_sys::MemoryContextSwitchTo(previous);
        for cells in rows {
            if cells.len() != columns {
                return Err(super::installation::mismatch());
            }
            let (mut values, mut nulls): (Vec<Datum>, Vec<bool>) =
                cells.iter().map(|cell| cell.as_value().to_datum()).unzip();
            pg_sys::tuplestore_putvalues(
                store,
                descriptor,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
        }
        (*info).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
        (*info).setResult = store;
        (*info).setDesc = descriptor;
    }
    Ok(())
}

/// Exports SQL functions: for each, the symbol and the version record that the server looks for.
#[macro_export]
macro_rules! sql_functions {
    ($($name:literal => $body:path),* $(,)?) => {$(
        const _: () = {
            // SAFETY: the name is this extension's own; the server calls it as a version-1
            // function, and the frame owns nothing.
            #[unsafe(export_name = $name)]
            unsafe extern "C-unwind" fn function(
                fcinfo: ::pgrx::pg_sys::FunctionCallInfo,
            ) -> ::pgrx::pg_sys::Datum {
                // SAFETY: called by the function manager.
                unsafe { $crate::pg::entry::enter(fcinfo, $body) }
            }

            // SAFETY: the record only says that the function is of version 1.
            #[unsafe(export_name = concat!("pg_finfo_", $name))]
            extern "C-unwind" fn record() -> *const ::pgrx::pg_sys::Pg_finfo_record {
                const VERSION_1: ::pgrx::pg_sys::Pg_finfo_record =
                    ::pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &VERSION_1
            }
        };
    )*};
}
