//! HTTP server: connections, routes, and the checks before operations.
//!
//! `connections` accepts connections, `router` finds the operation of a request, `dispatch` checks
//! and executes it, `host_guard` refuses requests from web pages, `admin` has the routes under
//! `/_emulator`, and `iam` has those of IAM.

mod admin;
pub(crate) mod connections;
mod dispatch;
mod host_guard;
mod iam;
mod reply;
mod request_body;
pub(crate) mod router;
