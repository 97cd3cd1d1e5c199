//! Tests of the page against the emulator.

mod access;
mod create;
mod emulator;
mod job;
mod jobs;
mod markup;
mod programs;
mod support;
