//! Execution of jobs, from their creation to their end.
//!
//! `driver` defines the handle of one job. `lifecycle` moves the job from Creating to its end, with
//! the steps `prepare`, `run` (or `trials`, for a search) and `finish`. `copies` uploads outputs
//! and logs, and interrupts copies. `importance_chart` draws the charts of a search. `recovery`
//! continues the jobs of an earlier process, and `seeds` creates jobs with an invented past.

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
