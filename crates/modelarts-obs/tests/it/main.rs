//! Tests of modelarts-obs on local directories and on the emulator.

mod staging;
mod sync;
