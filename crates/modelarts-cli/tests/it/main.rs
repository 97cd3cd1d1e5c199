//! Tests of the program `modelarts` against an emulator in the process of the test.

#[cfg(unix)]
mod emulator;
mod create;
mod jobs;
mod schemas;
mod support;
