//! The ModelArts training service on your own machine.
//!
//! It speaks the API of ModelArts training management (Huawei Cloud, Open Telekom Cloud), keeps
//! jobs, moves them through their phases, *runs* their code as processes, and answers with the
//! documented bodies and errors. Operations that it does not have are refused with status 501 and a
//! sentence; fields of a job that it does not act on are stored, given back and named.
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

mod accounts;
mod api;
mod catalog;
mod clock;
mod database;
mod emulator;
mod execution;
mod files;
mod handlers;
mod job;
mod logs;
mod metrics;
mod runner;
mod scheduler;
mod server;
mod state;
mod store;
mod traffic;
mod tuning;
mod validation;

pub use accounts::{User, signature};
pub use catalog::cloud::Cloud;
pub use catalog::operations::RequestCount;
pub use catalog::pools::Pool;
pub use catalog::pools::PoolKind;
pub use catalog::quirks::AutoStopped;
pub use catalog::quirks::DeleteActive;
pub use catalog::quirks::EventsOffset;
pub use catalog::quirks::JobsCount;
pub use catalog::quirks::JobsOffset;
pub use catalog::quirks::Preempted;
pub use catalog::quirks::Quirks;
pub use catalog::quirks::StopAgain;
pub use catalog::quirks::UnknownAction;
pub use clock::Clock;
pub use clock::ManualClock;
pub use clock::Sleep;
pub use clock::SystemClock;
pub use clock::timing::Timing;
pub use emulator::Builder;
pub use emulator::Emulator;
pub use emulator::error::DatabaseError;
pub use emulator::error::StartError;
pub use emulator::error::WaitError;
pub use emulator::stored_job::StoredJob;
pub use execution::seeds::SeedError;
pub use execution::seeds::Seeds;
pub use job::event::EventKind;
pub use job::event::Level;
pub use job::event::Source;
pub use job::event::Wording;
pub use job::state::RestartOn;
pub use runner::RunnerKind;
pub use runner::simulated::script::Script;
pub use runner::simulated::script::ScriptError;
pub use traffic::faults::Fault;
pub use traffic::faults::FaultRule;
pub use traffic::faults::Faults;
pub use traffic::observer::Exchange;
pub use traffic::request_log::LoggedRequest;

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
