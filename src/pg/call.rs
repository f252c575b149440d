//! Arguments of a call, read in the order of the SQL signature.

use std::cell::Cell;

use pgrx::pg_sys::{self, Datum};
use uuid::Uuid;

use super::report::Report;
use super::value::{self, Jsonb};

/// One call of one SQL function.
pub struct Call {
    fcinfo: pg_sys::FunctionCallInfo,
    next: Cell<usize>,
}

/// An argument with its name, so that a missing one can be named.
pub struct Argument<T> {
    name: &'static str,
    value: Option<T>,
}

impl<T> Argument<T> {
    /// The value; 22004 if it is NULL.
    pub fn required(self) -> Result<T, Report> {
        self.value.ok_or_else(|| Report::null(self.name))
    }

    /// The value, or `None` for NULL.
    pub fn optional(self) -> Option<T> {
        self.value
    }
}

impl Call {
    /// # Safety
    /// `fcinfo` is that of a running call.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Call {
        Call {
            fcinfo,
            next: Cell::new(0),
        }
    }

    fn next(&self) -> Option<Datum> {
        let index = self.next.get();
        self.next.set(index + 1);
        // SAFETY: fcinfo is live, and holds `nargs` arguments.
        unsafe {
            let count = (*self.fcinfo).nargs as usize;
            // A script older or newer than this library may declare fewer arguments.
            let argument = (*self.fcinfo).args.as_slice(count).get(index)?;
            (!argument.isnull).then_some(argument.value)
        }
    }

    /// A text.
    pub fn text(&self, name: &'static str) -> Result<Argument<String>, Report> {
        // SAFETY: declared as text in the SQL signature.
        let value = self
            .next()
            .map(|datum| unsafe { value::read_text(datum) })
            .transpose()?;
        Ok(Argument { name, value })
    }

    /// A uuid.
    pub fn uuid(&self, name: &'static str) -> Argument<Uuid> {
        // SAFETY: declared as uuid in the SQL signature.
        let value = self.next().map(|datum| unsafe { value::read_uuid(datum) });
        Argument { name, value }
    }

    /// An int.
    pub fn int(&self, name: &'static str) -> Argument<i32> {
        Argument {
            name,
            value: self.next().map(|datum| datum.value() as i32),
        }
    }

    /// A bigint.
    pub fn bigint(&self, name: &'static str) -> Argument<i64> {
        Argument {
            name,
            value: self.next().map(|datum| datum.value() as i64),
        }
    }

    /// A boolean.
    pub fn bool(&self, name: &'static str) -> Argument<bool> {
        Argument {
            name,
            value: self.next().map(|datum| datum.value() != 0),
        }
    }

    /// A timestamptz.
    pub fn time(&self, name: &'static str) -> Argument<value::Time> {
        Argument {
            name,
            value: self.next().map(|datum| value::Time(datum.value() as i64)),
        }
    }

    /// An interval.
    pub fn interval(&self, name: &'static str) -> Argument<value::Interval> {
        // SAFETY: declared as interval in the SQL signature.
        let value = self
            .next()
            .map(|datum| unsafe { value::read_interval(datum) });
        Argument { name, value }
    }

    /// A jsonb.
    pub fn jsonb(&self, name: &'static str) -> Argument<Jsonb> {
        // SAFETY: declared as jsonb in the SQL signature.
        let value = self.next().map(|datum| unsafe { value::read_jsonb(datum) });
        Argument { name, value }
    }

    /// A text[] without NULL elements (22004).
    pub fn texts(&self, name: &'static str) -> Result<Argument<Vec<String>>, Report> {
        let value = self
            .next()
            .map(|datum| {
                // SAFETY: declared as text[] in the SQL signature.
                let elements = unsafe { value::read_texts(datum) }?;
                elements
                    .into_iter()
                    .map(|element| {
                        element.ok_or_else(|| Report::null(&format!("an element of {name}")))
                    })
                    .collect()
            })
            .transpose()?;
        Ok(Argument { name, value })
    }

    /// A uuid[] without NULL elements (22004).
    pub fn uuids(&self, name: &'static str) -> Result<Argument<Vec<Uuid>>, Report> {
        let value = self
            .next()
            .map(|datum| {
                // SAFETY: declared as uuid[] in the SQL signature.
                let elements = unsafe { value::read_uuids(datum) };
                elements
                    .into_iter()
                    .map(|element| {
                        element.ok_or_else(|| Report::null(&format!("an element of {name}")))
                    })
                    .collect()
            })
            .transpose()?;
        Ok(Argument { name, value })
    }

    pub(super) fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }
}
