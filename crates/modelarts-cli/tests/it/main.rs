//! Tests of the program `modelarts` against an emulator in the process of the test.

#[cfg(unix)]
mod from_zero;
mod jobs;
mod setup;
mod support;
