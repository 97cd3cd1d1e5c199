//! Simulation of the client, the network and the service in one process, determined by a seed.
//!
//! The seed determines the jobs and settings of the service, the actions of users, and the effect
//! of the network on each request. Client and emulator share one clock, which advances to the next
//! timer when all tasks are idle. The simulation therefore does not wait for delays in real time.
//! The results of calls are compared with the database of the emulator:
//!
//! - A list of jobs or events that is read without an error contains each item that existed during
//!   the whole call. No item is returned twice.
//! - A call that follows a job to its end without an error returns each event exactly once. The log
//!   lines that were read are those of the complete log.
//! - The client does not send a create request again after the service has executed it. After a
//!   create request that definitely failed, the job does not exist.
//! - A call with a deadline ends by its deadline.
//! - If the simulation has no network faults, no call fails, except because a job does not exist.
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
