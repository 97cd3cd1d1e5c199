//! Tests of modelarts-obs on local directories and on the emulator.

#![allow(clippy::unwrap_used, clippy::panic)]

mod quickstart;
mod staging;
mod sync;
