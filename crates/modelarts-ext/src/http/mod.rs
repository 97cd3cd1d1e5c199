//! HTTP utilities: clients, runtimes, URLs, headers, bodies, signatures, observation of attempts.
//!
//! The transport and the clients of IAM, STS and the metadata service use this module.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod headers;
pub(crate) mod observer;
pub(crate) mod runtime;
pub mod signing;
pub(crate) mod url;
