//! Tests of the page against the emulator.

mod access;
mod create;
mod jobs;
mod support;
