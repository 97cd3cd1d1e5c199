//! The execution of jobs, from the queue to the end.

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
