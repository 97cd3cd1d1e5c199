//! HTTP utilities: clients, runtimes, addresses, headers, bodies and signatures.
//!
//! The transport uses this module, as do the clients of the services that issue credentials. The
//! module does not depend on credentials or on the client; `signing` receives keys as strings.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod headers;
pub(crate) mod runtime;
pub(crate) mod signature_mismatch;
pub mod signing;
pub(crate) mod url;
