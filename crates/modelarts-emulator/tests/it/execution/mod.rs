//! Execution of jobs, from the queue to their end.

mod preparing;
mod restart;
mod roles;
mod running;
mod seeds;
mod stopping;
mod trials;
