//! Tests of modelarts-obs on local directories and on the emulator.

mod quickstart;
mod staging;
mod sync;
