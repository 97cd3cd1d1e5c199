//! Simulates client, network and service in one process, from one seed.
//!
//! The seed determines the jobs and settings of the service, the actions of users, and the effect
//! of the network on each request. Client and emulator share one clock, which advances to the next
//! timer when all tasks are idle, so that a simulated hour takes less than a second. The results of
//! calls are compared with the database of the emulator:
//!
//! - A call that ends with `Ok` returns every row, event and log line exactly once.
//! - The client does not send a create request again after the service has executed it. After a
//!   create request that definitely failed, the job does not exist.
//! - Every call ends before its deadline.
//! - No call fails while no network faults are simulated.
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
