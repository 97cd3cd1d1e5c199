//! Verification of signatures of the algorithm SDK-HMAC-SHA256.
//!
//! It is written from the description of the algorithm and shares no code with a client: code that
//! both sides share can only agree with its own mistakes. A client's tests can hold their
//! signatures against [`verify`] without an emulator.
//!
//! ```
//! use std::time::SystemTime;
//! use axum::http::HeaderMap;
//! use modelarts_emulator::signature::{ReceivedRequest, SignatureError, verify};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let request = ReceivedRequest {
//!     method: "GET",
//!     path: "/v2/project/training-jobs/id",
//!     query: "",
//!     headers: &HeaderMap::new(),
//!     body: b"",
//! };
//! let secret_of = |access_key: &str| (access_key == "AK").then(|| "SK".to_owned());
//! let verified = verify(request, SystemTime::now(), secret_of);
//! assert_eq!(verified, Err(SignatureError::NoCredentials));
//! # Ok(())
//! # }
//! ```

pub use crate::accounts::signature::{
    MAX_SKEW, ReceivedRequest, SignatureError, access_key, verify,
};
