//! Calls over HTTP.

mod connections;
mod responses;
mod retry;
