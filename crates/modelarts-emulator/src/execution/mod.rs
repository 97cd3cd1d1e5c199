//! Execution of jobs, from their creation to their end.
//!
//! `driver` defines the state that the steps of a job share. `lifecycle` executes a job from
//! Creating to its end, in the steps `prepare`, `run` (`trials` for a search) and `finish`.
//! `copies` uploads outputs and logs, and interrupts copies. `nodes` waits for a launcher with a
//! queue of its own. `recovery` continues the jobs of an earlier process, and `seeds` creates jobs
//! with an invented past, each from a `seed_job`.

mod copies;
mod driver;
pub(crate) mod finish;
pub(crate) mod lifecycle;
#[cfg(feature = "slurm")]
mod nodes;
mod prepare;
pub(crate) mod recovery;
mod run;
mod seed_job;
pub(crate) mod seeds;
mod trials;
