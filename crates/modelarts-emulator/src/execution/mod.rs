//! Execution of jobs, from their creation to their end.
//!
//! `driver` defines the state that the steps of a job share. `lifecycle` executes a job from
//! Creating to its end, in the steps `prepare`, `run` (`trials` for a search) and `finish`.
//! `copies` uploads outputs and logs, and interrupts copies. `importance_chart` draws the charts of
//! a search. `recovery` continues the jobs of an earlier process, and `seeds` creates jobs with an
//! invented past.

mod copies;
mod driver;
pub(crate) mod finish;
pub(crate) mod importance_chart;
pub(crate) mod lifecycle;
mod prepare;
pub(crate) mod recovery;
mod run;
pub(crate) mod seeds;
mod trials;
