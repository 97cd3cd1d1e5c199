//! HTTP utilities: clients, runtimes, addresses, headers, bodies and signatures.
//!
//! Used by the transport and by the services that issue credentials. Does not depend on them.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod headers;
pub(crate) mod runtime;
pub mod signing;
pub(crate) mod url;
