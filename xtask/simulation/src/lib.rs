//! Simulation of the client, the network and the service in one process, determined by a seed.
//!
//! The seed determines the jobs and settings of the service, the actions of users, and the effect
//! of the network on each request. Client and emulator share one clock, which advances to the next
//! timer when all tasks are idle. The simulation therefore does not wait for delays in real time.
//! It compares the results of calls with the database of the emulator, and checks these properties:
//!
//! - A list of jobs or events that is read without an error contains each item that existed during
//!   the whole call. It contains no item twice.
//! - A call that follows a job to its end without an error returns each event exactly once. The
//!   returned log lines are those of the complete log.
//! - The client does not send a create request again after the service has executed it. After a
//!   create request that definitely failed, the job does not exist.
//! - A call with a deadline ends by its deadline.
//! - Without network faults, a call fails only because a job does not exist.
//!
//! For the same seed, [`run`] returns the same [`Run`], request by request.

mod checks;
mod clock;
mod conditions;
mod network;
mod run;
mod trace;
mod users;
mod world;

pub use run::{Run, run};
