//! Texts of events, for tests that look for one.
//!
//! [`EventKind::message`] gives the text that a client of the emulator sees. A test that compares
//! with it stays right when the wording of the emulator is switched.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::events::{EventKind, Wording};
//! use modelarts_emulator::seeds::Seeds;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let emulator = Emulator::start().await?;
//! let seeds = Seeds::from_json(r#"{"jobs": [{"name": "past", "phase": "Completed"}]}"#)?;
//! let ids = emulator.seed(&seeds).await?;
//! let job = emulator.stored_job(&ids[0])?.ok_or("no job")?;
//! let completed = EventKind::Completed.message(Wording::Api);
//! assert!(job.events.contains(&completed));
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::job::event::{EventKind, Level, Source, Wording};
