//! Tests of the page against the emulator.

mod access;
mod emulator;
mod jobs;
mod markup;
mod support;
