//! Execution of jobs, from their creation to their end.

mod copies;
pub(crate) mod driver;
pub(crate) mod finish;
pub(crate) mod lifecycle;
mod prepare;
mod run;
mod seed_job;
pub(crate) mod seeds;
mod trials;
