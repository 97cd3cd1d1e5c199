//! The emulator seen from outside, over HTTP. One program, so that it is linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod acceptance;
mod accounts;
mod api;
mod choices;
mod clouds;
mod collections;
mod control;
mod copies;
mod details;
mod durable;
mod endless_log;
mod events;
mod faults;
#[cfg(feature = "cli")]
mod flags;
mod ignored;
mod images;
/// The one that `cargo xtask spec` uses.
#[path = "../../../../xtask/src/spec/json_schema.rs"]
mod json_schema;
#[cfg(feature = "cli")]
mod kills;
mod logs;
mod operations;
mod packages;
mod preparing;
#[cfg(feature = "cli")]
mod program;
mod refused_jobs;
mod restart;
mod roles;
mod run_aways;
mod running;
mod safety;
mod search;
mod seeds;
mod signing;
mod simulated;
mod storage;
mod support;
mod taken_jobs;
mod traffic;
mod tuning;
