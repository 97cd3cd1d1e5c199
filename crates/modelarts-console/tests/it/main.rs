//! Tests of the page against the emulator.

mod access;
mod create;
mod emulator;
mod job;
mod jobs;
mod live;
mod logs;
mod markup;
mod programs;
mod support;
