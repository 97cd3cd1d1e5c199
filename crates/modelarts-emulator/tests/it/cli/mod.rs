//! Tests of the program `modelarts-emulator` and its flags.

mod end_with_stdin;
mod env_file;
mod flags;
#[cfg(target_os = "linux")]
mod full_disk;
mod kills;
mod on_stop;
mod program;
