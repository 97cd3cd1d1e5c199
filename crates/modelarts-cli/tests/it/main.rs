//! Tests of the program `modelarts` against an emulator in the process of the test.

// The emulator runs only on Unix.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod catalog;
mod create;
mod emulator;
mod from_zero;
mod jobs;
mod manners;
mod record;
mod reference;
mod schemas;
mod setup;
mod support;
