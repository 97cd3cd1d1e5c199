//! HTTP utilities shared by all callers: clients, addresses, headers, bodies and signatures.
//!
//! This module depends neither on credentials nor on the client; `signing` receives keys as
//! strings.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod headers;
pub(crate) mod runtime;
pub(crate) mod signature_mismatch;
pub mod signing;
pub(crate) mod url;
