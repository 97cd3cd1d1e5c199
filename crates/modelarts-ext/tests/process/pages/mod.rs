//! Code blocks of the pages, executed against an emulator: the programs in Rust, and the script and
//! the documents of `CREATING.md`.
//!
//! The folder `blocks` contains a copy of each program, which is compiled with this test program. A
//! test compares the copies with the pages.

mod copies;
mod creating;
mod programs;
