//! Simulates client, network and service in one process, from one seed.
//!
//! The seed determines everything: the jobs and settings of the service, the actions of users, and
//! the effect of the network on each request. Client and emulator share one clock, which advances
//! to the next timer when all tasks are idle, so that an hour takes less than a second. The results
//! of calls are compared with the database of the emulator:
//!
//! - A call that ends with `Ok` has all rows, events and lines, each once.
//! - A create does not reach the service again after it was executed, and no job exists after a
//!   create that failed for certain.
//! - Every call ends before its deadline.
//! - No call fails while the network is calm.
//!
//! [`run`] returns the same [`Run`] for the same seed, request by request.

mod checks;
mod clock;
mod conditions;
mod network;
mod run;
mod trace;
mod users;
mod world;

pub use run::{Run, run};
