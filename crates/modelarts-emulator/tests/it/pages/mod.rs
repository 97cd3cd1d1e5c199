//! Code blocks of the pages of this crate, executed: shell sessions with the program, and JSON
//! documents that the program reads.
//!
//! The Rust blocks are run by the tests of modelarts-ext, because they use its client.

mod block;
mod reference;
mod session;
mod testing;
mod variables;
