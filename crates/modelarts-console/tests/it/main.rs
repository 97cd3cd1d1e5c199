//! Tests of the page against the emulator.

mod access;
mod job;
mod jobs;
mod programs;
mod support;
