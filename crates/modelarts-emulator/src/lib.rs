//! The ModelArts training service on your own machine, for tests and development without a cloud
//! account.
//!
//! It speaks the API of ModelArts training management (Huawei Cloud, Open Telekom Cloud), moves
//! jobs through their phases, *runs* their code as processes, and answers with the documented
//! bodies and errors.
//!
//! ```
//! use modelarts_emulator::{Emulator, Timing};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let emulator = Emulator::builder().timing(Timing::instant()).start().await?;
//! std::fs::create_dir_all(emulator.obs_root().join("bucket/code"))?;
//! println!("{} {} {}", emulator.url(), emulator.project_id(), emulator.access_key());
//! // ... any client of the API, with these values and emulator.secret_key() ...
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`clock`], [`script`] and [`seeds`] make tests fast, [`faults`] makes responses fail,
//! [`traffic`] shows what a client has sent, and [`quirks`] switches what the documents leave open.
//!
//! The emulator executes what it is given, as the user who started it: it is no sandbox. Therefore
//! it listens on loopback addresses only, and refuses requests with a foreign `Host` or `Origin`.
//! The README has the fields, limits and operations, and the same as a program.

mod accounts;
mod api;
mod catalog;
pub mod clock;
mod database;
mod emulator;
mod execution;
mod files;
mod handlers;
mod job;
mod logs;
mod metrics;
mod public;
mod runner;
mod scheduler;
mod server;
mod state;
mod store;
pub mod traffic;
mod tuning;
mod validation;

pub use accounts::User;
pub use catalog::cloud::Cloud;
pub use clock::timing::Timing;
pub use database::error::DatabaseError;
pub use emulator::{
    Emulator,
    builder::Builder,
    error::{StartError, WaitError},
};
pub use public::{events, faults, jobs, pools, quirks, script, seeds, signature};

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
