//! Rows of the hot tables read and written without the executor.
//!
//! Most of what a small statement costs is not its work: an executor is started and ended around one
//! look-up or one row. The helpers by which logical replication applies changes do the same to a table
//! (constraints, indexes, WAL, statistics) for a fraction of that. They do less than the executor in
//! other respects, so a table that asks for more is left to SQL: [`open`] gives `None`, and the
//! caller runs the statement instead. It is so where
//!
//! - the transaction keeps its snapshot (REPEATABLE READ, SERIALIZABLE): SQL raises 40001 there;
//! - the table is not a plain heap, or a partition, or has rules or generated columns, or its columns
//!   are not those that are expected: an extension that distributes tables, a column's changed type;
//! - a trigger, a foreign key included, is to be fired by what is done;
//! - the index that a look-up needs is not there, or is another one.

mod look_up;
mod shape;
mod write;

pub use look_up::{Fresh, Place};
pub use shape::{Column, Open, Purpose, Table, open, watch};
