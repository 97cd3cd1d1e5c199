//! Tests of the public API of the SDK, against the emulator and scripted servers. Most folders
//! correspond to those of `src`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod attested;
mod blocking;
mod catalog;
mod chrono;
mod config;
mod credentials;
mod emulator_vars;
mod error;
mod jiff;
mod jobs;
mod pages;
mod pagination;
#[path = "../support/mod.rs"]
mod support;
mod transport;
mod validation;
mod vectors;
