//! The program `modelarts-emulator` and its flags.

mod flags;
mod kills;
mod program;
