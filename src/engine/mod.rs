//! How a command runs: who is calling, which locks, what is written, what is answered. The decision
//! itself is made in `workflow-core`; the SQL is in `store`.

pub mod command;
pub mod failure;
pub mod identity;
pub mod instance;
pub mod request;
pub mod resource;
pub mod world;
pub mod write;
