//! The program and its flags.

mod flags;
mod kills;
mod program;
