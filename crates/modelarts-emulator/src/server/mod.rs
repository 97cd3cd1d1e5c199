//! HTTP server: connections, routes, and the checks that precede operations.
//!
//! `connections` accepts connections, `router` finds the operation of a request, `dispatch`
//! validates and executes it, and `host_guard` rejects requests from web pages. `admin` serves the
//! routes under `/_emulator`, and `iam` those of IAM.

mod admin;
pub(crate) mod connections;
mod dispatch;
mod host_guard;
mod iam;
mod reply;
mod request_body;
pub(crate) mod router;
