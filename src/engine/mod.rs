//! How a command runs: who is calling, which locks, what is written, what is answered. The decision
//! itself is made in `workflow-core`; the SQL is in `store`.

pub mod batch;
pub mod bulk;
pub mod clock;
pub mod command;
pub mod contention;
pub mod delivery;
pub mod event;
pub mod failure;
pub mod gate;
pub mod identity;
pub mod instance;
pub mod lease;
pub mod limits;
pub mod request;
pub mod resource;
pub mod timer;
pub mod token;
pub mod work;
pub mod worker;
pub mod world;
pub mod write;
