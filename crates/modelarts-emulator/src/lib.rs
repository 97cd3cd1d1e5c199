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
mod answer;
mod bells;
mod body;
mod call;
mod capped_log;
mod channel;
mod choices;
mod clock;
mod cloud;
mod confined;
mod control;
mod copying;
mod core;
mod database;
mod driver;
mod emulator;
mod engines;
mod environment;
mod error;
mod error_table;
mod event_language;
mod event_query;
mod events;
mod failure;
mod faults;
mod first;
mod flavors;
mod gate;
mod guard;
mod held_start;
mod home;
mod iam;
mod idle;
mod ids;
mod inspect;
mod job_rows;
mod job_tags;
mod journal;
mod leftovers;
mod lifecycle;
mod links;
mod listing;
mod log_index;
mod log_lines;
mod log_pump;
mod log_stream;
mod metrics;
mod migrations;
mod obs;
mod observe;
mod operation;
mod operations;
mod plan;
mod pools;
mod prepare;
mod process_group;
mod process_run;
mod process_runner;
mod process_table;
mod python;
mod query;
mod quotas;
mod receive;
mod records;
mod remembered;
mod render;
mod request;
mod resume;
mod roles;
mod routes;
mod rules;
mod runner;
mod scheduler;
mod script;
mod scripted_metrics;
mod search;
mod seeds;
mod server;
mod simulated_runner;
mod store;
mod tally;
mod timing;
mod trial_rows;
mod tuning;
mod usage;
pub mod verify;
mod walk;
mod watchdog;
mod work;
mod worker_files;

pub use accounts::User;
pub use choices::{
    AutoStopped, Choices, DeleteActive, EventsOffset, JobsCount, JobsOffset, Preempted, StopAgain,
    UnknownAction,
};
pub use clock::{Clock, ManualClock, Sleep, SystemClock};
pub use cloud::Cloud;
pub use emulator::{Builder, Emulator};
pub use events::{EventKind, Level, Source, Wording};
pub use failure::{DatabaseError, StartError, WaitError};
pub use faults::{Fault, FaultRule, Faults};
pub use inspect::StoredJob;
pub use journal::Recorded;
pub use lifecycle::RestartOn;
pub use observe::Exchange;
pub use operation::RequestCount;
pub use pools::{Pool, PoolKind};
pub use runner::RunnerKind;
pub use script::{Script, ScriptError};
pub use seeds::{SeedError, Seeds};
pub use timing::Timing;

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
