//! Switches for behaviour on which the documents of the service are silent or disagree.
//!
//! A client should bear both sides of each. The defaults are what was seen on the service, or what
//! most documents say.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::quirks::{Quirks, StopAgain};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let mut quirks = Quirks::default();
//! quirks.stop_again = StopAgain::Accepts;
//! // The same by name, as in the program's flag `--choose`.
//! quirks.set("events-offset=page")?;
//! let emulator = Emulator::builder().quirks(quirks).start().await?;
//! // ... a stop of a job that is Terminating is accepted ...
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::catalog::quirks::{
    AutoStopped, DeleteActive, EventsOffset, JobsCount, JobsOffset, Preempted, Quirks, StopAgain,
    UnknownAction,
};
