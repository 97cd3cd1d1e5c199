//! Scripts of simulated jobs: how long they run, their logs, metrics, exit codes and faults.
//!
//! Jobs that follow a script start no process, and with a
//! [`ManualClock`](crate::clock::ManualClock) hours of them pass in one call of
//! [`Emulator::advance`](crate::Emulator::advance).
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::jobs::RunnerKind;
//! use modelarts_emulator::script::Script;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let script = Script::from_json(
//!     r#"{"jobs": [{"name": "flaky-*", "runs": [{"seconds": 5, "exit_code": 1}, {"seconds": 5}]}]}"#,
//! )?;
//! let emulator = Emulator::builder()
//!     .runner(RunnerKind::Simulated(script))
//!     .start()
//!     .await?;
//! // ... the first run of a job `flaky-1` fails after five seconds, its second run succeeds ...
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::runner::simulated::script::{Script, ScriptError};
