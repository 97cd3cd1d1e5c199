//! Tests that depend on process-wide state, such as environment variables, the `tracing` subscriber
//! and the TLS provider.
//!
//! A test that sets a variable or a subscriber runs alone in a child process. No test in this
//! program may install a TLS provider.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod captured_log;
mod child;
mod contexts;
mod fault_matrix;
mod logging;
mod masking;
#[cfg(all(feature = "native-tls", not(feature = "rustls")))]
mod native_tls;
mod pages;
mod proxy;
mod returned_error;
#[allow(dead_code, reason = "the other test program uses the rest of it")]
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "rustls")]
mod tls;
#[cfg(any(feature = "native-tls", feature = "rustls"))]
mod tls_server;
