//! Tests of the page against the emulator.

mod access;
mod jobs;
mod support;
