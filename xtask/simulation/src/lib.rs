//! Client, network and service in one process, from one seed.
//!
//! A seed decides everything: which jobs the service has, what its switches are, what users do,
//! and what the network does to each of their requests. Client and emulator go by one clock,
//! which stands still while anything is left to do and then leaps to the next timer, so that an
//! hour takes less than a second. What a call returned is compared with the database of the
//! emulator:
//!
//! - No call that ends with `Ok` has missed a row, an event or a line, or has one twice.
//! - No create reaches the service again after it was executed, and no job exists after its create
//!   failed for certain.
//! - No call runs past its deadline.
//! - No call fails while the network is calm.
//!
//! [`run`] gives the same [`Run`] for the same seed, request by request.

mod checks;
mod clock;
mod conditions;
mod network;
mod run;
mod trace;
mod users;
mod world;

pub use run::{Run, run};
