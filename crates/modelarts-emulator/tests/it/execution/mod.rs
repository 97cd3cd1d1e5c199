//! Tests of the phases of jobs, from the queue to the final phase.

mod preparing;
mod restart;
mod roles;
mod running;
mod seeds;
mod stopping;
mod trials;
