//! Commands that create jobs.
//!
//! `flags` defines the flags of a job, `draft` builds the job, and `job_file` reads a job from a
//! file. `staging` sends local directories; `submission` creates the job and follows it to its end.
//! `local` is the embedded emulator, and `outputs` protects the files of other jobs.

pub(crate) mod check;
pub(crate) mod choices;
mod draft;
mod flags;
pub(crate) mod init;
mod input_size;
mod job_file;
#[cfg(unix)]
mod local;
mod outputs;
#[cfg(test)]
mod parameters_tests;
pub(crate) mod run;
mod staging;
pub(super) mod submission;
pub(crate) mod submit;
pub(crate) mod sweep;
mod values;

pub(crate) use outputs::{OUTPUT_DIRECTORY, ignore_outputs};
pub(crate) use staging::{Bars, done, total};
