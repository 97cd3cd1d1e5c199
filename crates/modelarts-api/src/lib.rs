//! Types and operations of ModelArts training management, generated from the OpenAPI description in
//! `modelarts.yaml`, and causes of job failures, generated from `causes.yaml`.
//!
//! This crate has a method for each operation and types for the schemas of requests and responses.
//! It neither signs nor retries requests: the [`Transport`] of the client sends every request. Most
//! programs should use the crate `modelarts-ext`, which implements the transport, and adds
//! credentials, paging, waiting for jobs, and following of logs.
//!
//! By default, the code is generated at build time. With `default-features = false`, the crate
//! contains a packaged copy of the generated code, which saves the time to build the generator.
//!
//! Generated code follows the description, with these differences:
//!
//! - Limits are not enforced, except the patterns of identifiers in paths. [`LIMITS`] lists all
//!   limits.
//! - Enumerations that the service may extend keep unknown values. Comparisons of enumeration
//!   values with each other and with strings ignore case: `Phase::Running == "running"`.
//! - Types that responses contain accept JSON that deviates from the description (see [`decode`]).
//!   Types that occur only in requests are decoded strictly.
//! - Large objects inside a response are boxed.
//! - Each operation sends its request with [`send`].
//! - Builders accept text, arrays and other builders without explicit conversion; see [`Argument`].
//!
//! Requests omit optional lists and maps that are empty. A request that changes an algorithm
//! (`ChangeAlgorithm`) can therefore not clear a list by sending `[]`. The exception is the list of
//! tags of an algorithm, which has its own type, because only an empty list removes the tags. For
//! other lists, no source states whether the service distinguishes an empty list from an absent
//! list (`openapi/SOURCES.md`, "Without a number").

mod argument;
mod call;
pub mod decode;
pub mod diagnosis;
mod error;
#[doc(hidden)]
pub mod error_body;
mod error_code;
mod event_row;
mod generated;
#[doc(hidden)]
pub mod hex;
mod identifier;
mod open_enum;
mod operation;
mod parameter;
#[doc(hidden)]
pub mod path_segment;
mod region;
mod response;
mod schema;
mod secret;
mod transport;

pub use argument::Argument;
pub use call::{decode_response, empty_response, send};
pub use error::{BoxError, Error, TransportError};
pub use error_code::{ErrorCode, Retry};
pub use event_row::EventRow;
pub use generated::*;
pub use operation::{Cursor, Effect, Offset, Operation, Pagination, ParameterLocation};
pub use parameter::Parameter;
pub use region::Region;
pub use response::{RawResponse, Response};
pub use schema::{Field, Limit, Rule, Shape};
pub use secret::Secret;
pub use transport::{BoxFuture, Context, Transport};

/// OpenAPI description from which this crate was generated, as JSON.
pub const DESCRIPTION: &str = include_str!("../modelarts.json");
