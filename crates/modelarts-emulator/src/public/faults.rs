//! Injected faults: responses that fail on purpose.
//!
//! Error paths of a client need a service that fails at the right moment. Each [`FaultRule`] names
//! an operation, how many of its responses fail, and the [`Fault`]; rules are used up in order. The
//! same queue is filled by `POST /_emulator/faults`.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::faults::{Fault, FaultRule};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let emulator = Emulator::start().await?;
//! // The next creation is executed, and its response lost.
//! let rule = FaultRule::once("CreateTrainingJob", Fault::LostAnswer);
//! emulator.faults().add(rule)?;
//! assert_eq!(emulator.faults().list().len(), 1);
//! // ... the client under test creates a job, and finds out that it exists ...
//! emulator.faults().clear();
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::traffic::faults::{Fault, FaultRule, Faults};
