//! HTTP functions that all callers share: clients, addresses, headers, bodies and signatures.
//!
//! This module depends neither on credentials nor on the client; `signing` takes keys as texts.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod headers;
pub(crate) mod runtime;
pub(crate) mod signature_mismatch;
pub mod signing;
pub(crate) mod url;
