//! Generated code, which `build.rs` writes to `OUT_DIR`.
#![allow(
    missing_docs,
    unreachable_patterns,
    unused_imports,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

include!(concat!(env!("OUT_DIR"), "/modelarts.rs"));
