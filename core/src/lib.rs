//! The decisions of `workflow`, free of PostgreSQL.
//!
//! A *definition* is a published state machine, an *instance* one run of it over an application.
//! [`definition`] turns the JSON that a designer writes into a machine that is known to be sound;
//! [`decide`] answers what a command does to an instance, or why it is refused; [`refusal`] is the
//! one catalogue of those reasons; [`delivery`] says what a consumer of events is handed; [`token`]
//! what a signed token proves. Nothing here reads a table or a setting, nor, but for the expiry of a
//! token, a clock: the server hands in rows and takes out a plan, so the whole semantics can be tested
//! without a server.

pub mod contention;
pub mod decide;
pub mod definition;
pub mod delivery;
pub mod diagram;
pub mod lease;
pub mod outcome;
pub mod refusal;
pub mod sqlstate;
pub mod token;
