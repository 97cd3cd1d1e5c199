//! The parts of HTTP that all callers share: TLS, addresses, headers, bodies and the signature.
//!
//! Nothing here knows credentials or the client; `signing` takes keys as texts.

pub(crate) mod body;
pub(crate) mod headers;
pub(crate) mod signature_mismatch;
pub mod signing;
pub(crate) mod tls;
pub(crate) mod url;
