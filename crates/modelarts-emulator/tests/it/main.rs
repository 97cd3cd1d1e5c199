//! Tests of the emulator through its public API, most of them over HTTP. They form a single test
//! program, which is linked only once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod acceptance;
mod accounts;
mod catalog;
#[cfg(feature = "cli")]
mod cli;
mod emulator;
mod execution;
mod handlers;
mod json_schema;
#[cfg(feature = "obs")]
mod obs;
#[cfg(feature = "cli")]
mod pages;
mod runner;
mod server;
/// Scenarios on a cluster, in a folder with the script that starts it.
#[cfg(all(feature = "cli", target_os = "linux"))]
#[path = "../slurm/mod.rs"]
mod slurm;
mod store;
mod support;
mod validation;
