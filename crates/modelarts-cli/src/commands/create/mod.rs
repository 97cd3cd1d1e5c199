//! Commands that create jobs.
//!
//! `flags` has the description of a job, `draft` the job that it describes, `job_file` a job in a
//! file. `staging` sends local directories, `submission` creates the job and follows it to its end.
//! `local` is the service on this machine, and `outputs` protects the files of other jobs.

pub(crate) mod check;
pub(crate) mod choices;
mod draft;
mod flags;
mod job_file;
#[cfg(unix)]
mod local;
mod outputs;
#[cfg(test)]
mod parameters_tests;
pub(crate) mod run;
mod staging;
mod submission;
pub(crate) mod submit;
mod values;
