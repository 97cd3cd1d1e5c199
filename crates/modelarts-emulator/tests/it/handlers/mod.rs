//! Tests of operations: requests and responses.

mod api;
mod collections;
mod jobs;
