//! Command-line tool for ModelArts training jobs, `modelarts`.
//!
//! The crate contains the program. The library exists for its tests, its manual pages and the
//! schemas of its output; it has no stable API. Programs in Rust use [`modelarts_ext`].

// `print!` and `eprint!` panic if the stream is closed; `Stdout` and `note!` do not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

// The other modules use the macro of this module.
#[macro_use]
mod terminal;

mod arguments;
mod chart;
mod commands;
mod completion;
mod confirmation;
mod context;
mod exit_status;
mod failure;
mod follow;
mod job_reference;
mod live;
#[cfg(unix)]
mod local_jobs;
mod output;
mod program;
mod progress;
mod session;
mod state;
mod wording;

pub use arguments::command;
pub use commands::{JOB_SCHEMA, schemas};
pub use exit_status::ExitStatus;
pub use output::SCHEMA_VERSION;
pub use program::main;
