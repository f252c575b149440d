//! Every SQL statement of the engine (but the pages of the worklist, beside this file), and the order
//! in which a call takes its locks.
//!
//! Lock order within one call: request key, the tenant's open instances, business key, definition or resource name, gates (locks
//! of our own, see `pg::wait`), then lease rows, then application, then instances by id, then tasks, then resources by
//! key, then timers and outbox. An item of machine work is locked between its lease and its instance by
//! who waits for it; everybody else passes over one that is not to be had. Locks are taken in
//! one statement and data is read in the next: a row read in the statement that waited for it may
//! be from before the wait.
//!
//! The statements run as the owner of the tables, under whatever search path the caller has: every
//! name and every operator is qualified, and every one of them names the tenant.

mod applications;
mod bulk;
mod claims;
mod definitions;
mod delivery;
mod history;
mod identity;
mod instances;
mod leases;
mod limits;
mod operations;
mod reading;
mod requests;
mod resources;
mod tasks;
mod timers;
mod work;

pub use applications::*;
pub use bulk::*;
pub use claims::*;
pub use definitions::*;
pub use delivery::*;
pub use history::*;
pub use identity::*;
pub use instances::*;
pub use leases::*;
pub use limits::*;
pub use operations::*;
pub use reading::*;
pub use requests::*;
pub use resources::*;
pub use tasks::*;
pub use timers::*;
pub use work::*;
