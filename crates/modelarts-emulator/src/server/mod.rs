//! HTTP server: connections, routes, and checks before operations.

mod admin;
pub(crate) mod connections;
mod dispatch;
pub(crate) mod host_guard;
mod iam;
mod request_body;
pub(crate) mod router;
