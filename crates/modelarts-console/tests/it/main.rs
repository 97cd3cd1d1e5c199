//! Tests of the page against the emulator.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod access;
mod clock;
mod create;
mod emulator;
mod job;
mod jobs;
mod live;
mod logs;
mod markup;
mod programs;
mod support;
