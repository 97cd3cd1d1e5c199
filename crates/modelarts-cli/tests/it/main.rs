//! Tests of the program `modelarts` against an emulator in the process of the test.

mod jobs;
mod setup;
mod support;
