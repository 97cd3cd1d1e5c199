//! Jobs with an invented past, for tests of lists and details.
//!
//! A list of a thousand jobs, or a job that failed last week, would take long to make by running
//! jobs. [`Seeds`] has the format; the same is sent to `POST /_emulator/seeds`.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::seeds::Seeds;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let seeds = Seeds::from_json(
//!     r#"{"jobs": [
//!         {"name": "old", "phase": "Failed", "exit_code": 2, "created": "2026-01-15T08:30:00Z"},
//!         {"name": "many-{n}", "count": 100}
//!     ]}"#,
//! )?;
//! let emulator = Emulator::start().await?;
//! let ids = emulator.seed(&seeds).await?;
//! assert_eq!(ids.len(), 101);
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::execution::seeds::{SeedError, Seeds};
