//! Web page for ModelArts training jobs: lists, events, logs, usage, and the form that creates a job.
//!
//! The page is a client of the service through modelarts-ext, so the same page serves the emulator
//! and the real service. [`Console`] listens on a loopback address. A browser logs in by a link that
//! is valid once; keys of the service never reach the browser.

mod access;
mod administration;
mod assets;
mod choices;
mod console;
mod create;
mod display;
mod drafts;
mod emulator;
mod facts;
mod job;
mod jobs;
mod live;
mod page;
mod problem;
mod site;
mod snippets;

pub use console::{Console, ConsoleBuilder};
