//! Jobs as the emulator runs and stores them.
//!
//! A client sees a job through the API. Tests compare that with the stored state, [`StoredJob`];
//! [`RunnerKind`] and [`RestartOn`] choose how the code of jobs is run.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::jobs::{RestartOn, RunnerKind};
//! use modelarts_emulator::script::Script;
//! use modelarts_emulator::seeds::Seeds;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let emulator = Emulator::builder()
//!     .runner(RunnerKind::Simulated(Script::default()))
//!     .restart_on(RestartOn::Fault)
//!     .start()
//!     .await?;
//! emulator.seed(&Seeds::from_json(r#"{"jobs": [{"name": "past"}]}"#)?).await?;
//! for id in emulator.stored_ids()? {
//!     let job = emulator.stored_job(&id)?.ok_or("no job")?;
//!     assert_eq!((job.name.as_str(), job.phase), ("past", "Completed"));
//! }
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::emulator::{builder::RunnerKind, stored_job::StoredJob};
pub use crate::job::state::RestartOn;
