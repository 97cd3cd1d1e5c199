//! Tests of the program `modelarts` against an emulator in the process of the test.

// The emulator runs only on Unix.
#![cfg(unix)]

mod catalog;
mod create;
mod emulator;
mod from_zero;
mod jobs;
mod manners;
mod schemas;
mod setup;
mod support;
