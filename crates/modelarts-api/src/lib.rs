//! The types and operations of ModelArts training management, generated from the OpenAPI
//! description in `modelarts.yaml`.
//!
//! This crate has one method per operation and one type per schema. It neither signs nor retries
//! requests; every request goes through the [`Transport`] of the client. Most programs should use
//! the crate `modelarts-ext`, which implements the transport and adds credentials, paging, waiting
//! and following.
//!
//! By default, the code is generated at build time. With `default-features = false`, the package
//! compiles its copy of the same generated code, which saves the time to build the generator.
//!
//! Generated code follows the description, with these differences:
//!
//! - Limits are not enforced on responses; [`LIMITS`] lists them.
//! - Enumerations that the service may extend keep unknown values. They compare without regard to
//!   case, also with text: `job.phase == "Running"`.
//! - Each field of a response is decoded from every spelling that was observed for it (see
//!   [`decode`]). Types that occur only in requests are decoded strictly.
//! - Large objects inside a response are boxed.
//! - Each call goes through [`send`].
//! - Builders take text, arrays and other builders without conversions; see [`Argument`].
//!
//! In requests, optional lists and maps that are empty are omitted. A request that changes an
//! algorithm (`ChangeAlgorithm`) can therefore not clear a list by sending `[]`. The exception is
//! the list of tags of an algorithm, which has its own type, because only an empty list removes the
//! tags. For other lists, no source states if the service distinguishes an empty list from an
//! absent one (`openapi/SOURCES.md`, "Without a number").

mod argument;
mod call;
pub mod decode;
mod error;
#[doc(hidden)]
pub mod error_body;
mod error_code;
mod generated;
mod identifier;
mod open_enum;
mod operation;
mod parameter;
#[doc(hidden)]
pub mod path_segment;
mod response;
mod schema;
mod secret;
mod transport;

pub use argument::Argument;
pub use call::{decode_response, empty_response, send};
pub use error::{BoxError, Error, TransportError};
pub use error_code::{ErrorCode, Retry};
pub use generated::*;
pub use operation::{Cursor, Effect, Offset, Operation, Pagination, ParameterLocation};
pub use parameter::Parameter;
pub use response::{RawResponse, Response};
pub use schema::{Field, Limit, Rule, Shape};
pub use secret::Secret;
pub use transport::{BoxFuture, Context, Transport};

/// OpenAPI description from which this crate was generated, as YAML.
pub const DESCRIPTION: &str = include_str!("../modelarts.yaml");
