//! Everything that touches PostgreSQL's C interface, and all of the `unsafe` code.
//!
//! The rest of the crate sees safe types: a [`call::Call`] with its arguments, [`spi::Spi`] with
//! its statements, a [`report::Report`] to raise.

pub mod append_only;
pub mod backend;
pub mod call;
pub mod cluster;
pub mod direct;
pub mod entry;
pub mod guard;
pub mod installation;
pub mod jsonb;
pub mod report;
pub mod shared;
pub mod spi;
pub mod subtransaction;
pub mod text;
pub mod transaction;
pub mod turnstile;
pub mod value;
pub mod wait;
pub mod worker;
