//! Execution of jobs, from their creation to their end.

mod copies;
mod driver;
pub(crate) mod finish;
pub(crate) mod lifecycle;
#[cfg(feature = "slurm")]
mod nodes;
mod prepare;
mod run;
mod seed_job;
pub(crate) mod seeds;
mod trials;
