//! The emulator seen from outside, over HTTP. One program, so that it is linked once.

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
mod execution;
mod handlers;
/// The one that `cargo xtask spec` uses.
#[path = "../../../../xtask/src/spec/json_schema.rs"]
mod json_schema;
mod runner;
mod server;
mod store;
mod support;
mod validation;
