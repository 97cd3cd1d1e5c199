//! HTTP server: connections, routes, and the checks that precede operations.
//!
//! `connections` accepts connections, and `router` finds the operation of a request. `dispatch`
//! authenticates the request and executes the operation. `host_guard` rejects requests with a
//! foreign `Host` or `Origin`. `admin` serves the routes under `/_emulator`, and `iam` those of
//! IAM.

mod admin;
pub(crate) mod connections;
mod dispatch;
pub(crate) mod host_guard;
mod iam;
pub(crate) mod reply;
mod request_body;
pub(crate) mod router;
