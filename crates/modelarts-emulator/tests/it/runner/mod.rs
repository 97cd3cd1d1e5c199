//! Execution of jobs, as processes or according to a script, with their files and logs.

mod copies;
mod endless_log;
mod escaped_processes;
mod packages;
mod simulated;
mod storage;
