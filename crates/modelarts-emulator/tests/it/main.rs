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
/// Module shared with `cargo xtask spec`.
#[path = "../../../../xtask/src/spec/json_schema.rs"]
mod json_schema;
#[cfg(feature = "obs")]
mod obs;
mod runner;
mod server;
mod store;
mod support;
mod validation;
