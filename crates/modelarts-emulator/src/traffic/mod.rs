//! Requests that the emulator has received: observation, counts and a log.
//!
//! Tests of a client can verify the requests that the client sends.
//! [`Builder::observe`](crate::Builder::observe) calls a function with each [`Exchange`] before its
//! response is sent. [`Emulator::requests`](crate::Emulator::requests) returns the number of
//! requests by operation. [`Emulator::last_requests`](crate::Emulator::last_requests) returns the
//! last 256 authenticated requests for operations that the emulator implements.
//!
//! ```
//! use axum::body::Body;
//! use axum::http::Request;
//! use modelarts_emulator::Emulator;
//! use tower::ServiceExt;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let emulator = Emulator::builder().token("dev").start().await?;
//! let request = Request::get(format!("/v2/{}/training-job-engines", emulator.project_id()))
//!     .header("Host", "localhost")
//!     .header("X-Auth-Token", "dev")
//!     .body(Body::empty())?;
//! emulator.router().oneshot(request).await?;
//! assert_eq!(emulator.requests()["ShowTrainingJobEngines"].executed, 1);
//! assert_eq!(emulator.last_requests()[0].status, 200);
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod fault_effects;
pub(crate) mod faults;
pub(crate) mod request_log;

pub use crate::traffic::request_log::{Exchange, LoggedRequest, RequestCount, RequestCounts};
