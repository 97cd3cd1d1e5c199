//! Responses of the operations.

mod api;
mod collections;
mod jobs;
