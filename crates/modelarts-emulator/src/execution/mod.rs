//! Execution of jobs, from the queue to the end.
//!
//! `driver` is the handle of one job. `lifecycle` takes it from Creating to its end, with the steps
//! `prepare`, `run` (or `trials`, for a search) and `finish`; `copies` uploads outputs and logs, and
//! interrupts copies. `recovery` continues the jobs of an earlier process, and `seeds` creates jobs
//! with an invented past.

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
