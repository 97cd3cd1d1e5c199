//! Commands that create jobs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod check;
mod data;
mod delivery;
mod exit_codes;
mod fixtures;
mod follow;
mod init;
mod outputs;
mod plan;
mod run;
mod submit;
mod sweep;
