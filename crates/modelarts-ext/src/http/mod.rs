//! The parts of HTTP that all callers share: TLS and the signature.

pub(crate) mod signature_mismatch;
pub(crate) mod signing;
pub(crate) mod tls;
