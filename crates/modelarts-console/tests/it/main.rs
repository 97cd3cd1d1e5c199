//! Tests of the page against the emulator.

mod access;
mod emulator;
mod job;
mod jobs;
mod markup;
mod programs;
mod support;
