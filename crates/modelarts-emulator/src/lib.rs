//! The ModelArts training service on your own machine.
//!
//! It speaks the API of ModelArts training management (Huawei Cloud, Open Telekom Cloud), keeps
//! jobs, moves them through their phases, *runs* their code as processes, and answers with the
//! documented bodies and errors. What it does not model it refuses with status 501 and a sentence.
//!
//! ```no_run
//! # async fn example() -> Result<(), modelarts_emulator::StartError> {
//! use modelarts_emulator::{Emulator, Timing};
//!
//! let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//! std::fs::create_dir_all(emulator.obs_root().join("bucket/code")).ok();
//! println!("{} {} {}", emulator.url(), emulator.project_id(), emulator.access_key());
//! // ... any client of the API, with these values and emulator.secret_key() ...
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! It executes what it is given. Therefore it listens on loopback addresses only, answers only
//! requests whose `Host` is a loopback name and that come from no foreign `Origin`, keeps OBS keys
//! inside the OBS root, and gives jobs nothing of its own environment. Jobs run as the user who
//! started the emulator: this is no sandbox.
//!
//! The same as a program: `modelarts-emulator serve`, see the README.

mod answer;
mod body;
mod clock;
mod confined;
mod control;
mod core;
mod driver;
mod emulator;
mod environment;
mod error;
mod event_query;
mod events;
mod faults;
mod flavors;
mod guard;
mod home;
mod lifecycle;
mod obs;
mod operation;
mod process_group;
mod render;
mod request;
mod routes;
mod runner;
mod search;
mod server;
mod store;
mod timing;
pub mod verify;

pub use clock::{Clock, ManualClock, Sleep, SystemClock};
pub use emulator::{Builder, Emulator, StartError, WaitError};
pub use events::{EventKind, Level, Wording};
pub use faults::{Fault, FaultRule, Faults};
pub use operation::RequestCount;
pub use timing::Timing;

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
