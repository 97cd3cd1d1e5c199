//! HTTP functions that all callers share: TLS, addresses, headers, bodies and signatures.
//!
//! This module depends neither on credentials nor on the client; `signing` takes keys as texts.

pub(crate) mod body;
pub(crate) mod headers;
pub(crate) mod signature_mismatch;
pub mod signing;
pub(crate) mod tls;
pub(crate) mod url;
