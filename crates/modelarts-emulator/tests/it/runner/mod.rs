//! Tests of the execution of jobs, as processes or simulated, with their files and logs.

mod copies;
mod endless_log;
mod escaped_processes;
mod packages;
mod simulated;
#[cfg(feature = "cli")]
mod slurm;
mod storage;
mod view;
