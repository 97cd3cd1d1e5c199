//! The types and operations of ModelArts training management, generated from
//! the OpenAPI description in `modelarts.yaml`.
//!
//! This crate is the plain core: one method per operation, one type per schema.
//! It signs nothing and retries nothing; everything it sends goes through the
//! [`Transport`] that it is given. Most programs want the crate `modelarts-ext`,
//! which implements it and adds credentials, paging, waiting and following.
//!
//! It is generated at build time. With `default-features = false` the file in the
//! package is compiled instead: the same code, without the time to build the generator.
//!
//! Generated code follows the description, with these differences, made at build
//! time: limits are not enforced on what the service sends (they are listed in
//! [`LIMITS`]), enumerations that the service may extend keep text they do not
//! know, each field is read from every spelling that was seen for it (see
//! [`lenient`]), large objects inside an answer are boxed, and each call goes through
//! [`send`].
//!
//! In requests, optional lists and maps that are empty are left out. So a list that a
//! change (`ChangeAlgorithm`) should clear cannot be sent as `[]`; no document says
//! whether the service tells the two apart.

#[allow(
    missing_docs,
    unreachable_patterns,
    unused_imports,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
mod generated {
    #[cfg(feature = "generate")]
    include!(concat!(env!("OUT_DIR"), "/modelarts.rs"));
    #[cfg(not(feature = "generate"))]
    include!("../generated/modelarts.rs");
}

mod collection;
pub mod decode;
mod dropped;
mod error_body;
mod field;
pub mod lenient;
#[doc(hidden)]
pub mod object;
mod operation;
mod parameter;
mod pattern;
mod response;
mod secret;
#[doc(hidden)]
pub mod segment;
mod target;
mod transport;

pub use field::{Field, Shape};
pub use generated::*;
pub use operation::{Cursor, Effect, Limit, Offset, Operation, Pagination, Place, Rule};
pub use parameter::Parameter;
pub use response::Response;
pub use secret::Secret;
pub use transport::{BoxError, BoxFuture, Context, Failure, Transport, TransportError, send};

/// The OpenAPI description that this crate was generated from, as YAML.
pub const DESCRIPTION: &str = include_str!("../modelarts.yaml");
