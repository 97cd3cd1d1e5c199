//! HTTP utilities: clients, runtimes, URLs, headers, bodies and signatures.
//!
//! The transport and the clients of IAM, STS and the metadata service use this module.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod headers;
pub(crate) mod runtime;
pub mod signing;
pub(crate) mod url;
