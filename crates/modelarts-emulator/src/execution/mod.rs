//! The execution of jobs, from the queue to the end.

mod copies;
pub(crate) mod driver;
pub(crate) mod importance_chart;
mod prepare;
pub(crate) mod recovery;
mod run;
pub(crate) mod seeds;
mod trials;
