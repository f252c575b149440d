//! The rows that nearly every command reads or moves, without the executor (see
//! [`crate::pg::direct`]): the same as what the statement of the same name gives or does. `None`
//! where the statement has to be run.

pub mod instances;
pub mod limits;
pub mod members;
pub mod tasks;
