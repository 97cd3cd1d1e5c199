//! Tests of the page against the emulator.

mod access;
mod jobs;
mod live;
mod logs;
mod support;
