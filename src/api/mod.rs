//! The SQL functions: arguments in, answer out, one file per group.

pub mod adopt;
pub mod answer;
pub mod bulk;
pub mod cancel;
pub mod contention;
pub mod decide;
pub mod define;
pub mod delivery;
pub mod identity;
pub mod lease;
pub mod limit;
pub mod migrate;
pub mod overrule;
pub mod purge;
pub mod query;
pub mod resource;
pub mod seat;
pub mod send;
pub mod start;
pub mod supersede;
pub mod task;
pub mod timer;
pub mod transition;
pub mod upkeep;
pub mod work;
pub mod worklist;
