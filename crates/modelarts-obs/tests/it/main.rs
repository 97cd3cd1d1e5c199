//! Tests of the public API: connections, single objects, errors, keys, time limits and
//! synchronizations, against scripted servers, local directories and the emulator.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod buckets;
mod connection;
mod diagnosis;
mod directory;
mod errors;
#[allow(dead_code, reason = "the tests of modelarts-ext use the rest of it")]
#[path = "../../../modelarts-ext/tests/support/fake_server.rs"]
mod fake_server;
mod keys;
mod pages;
mod quickstart;
mod staging;
mod support;
mod sync;
mod time_limits;
mod virtual_host;
