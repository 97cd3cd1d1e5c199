//! The SDK for ModelArts training management on Huawei Cloud and Open Telekom
//! Cloud: submit training jobs, follow their events and logs, wait for their end.
//!
//! # A client
//!
//! [`Client::from_env`] takes region, project and credentials from variables and files
//! ([where it looks](ClientBuilder::from_env)), and [`Client::connect_from_env`] looks
//! up the project, too; [`Client::builder`] takes them in code. Credentials that expire
//! are kept and renewed ([`Renewing`]): [`Password`], [`Oidc`], [`Metadata`], and what
//! you make yourself with [`FetchCredentials`] or [`ProvideCredentials`]. The local emulator (crate
//! `modelarts-emulator`) is used in the same way, with its own address and keys:
//!
//! ```
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use modelarts_emulator::Emulator;
//! use modelarts_ext::{Client, Credentials};
//!
//! let emulator = Emulator::start().await?;
//! let client = Client::builder()
//!     .endpoint(emulator.url())
//!     .project_id(emulator.project_id())
//!     .credentials(Credentials::keys(emulator.access_key(), emulator.secret_key()))
//!     .build()?;
//!
//! let jobs = client.training_jobs().list().collect(10).await?;
//! assert!(jobs.is_empty());
//! # Ok(()) }
//! ```
//!
//! # Jobs
//!
//! [`Client::training_jobs`] finds jobs ([`list`](TrainingJobs::list) with a
//! [`Filter`], [`get`](TrainingJobs::get)) and makes them
//! ([`create`](TrainingJobs::create)). A [`Job`] is a job as it was when it was
//! last looked at; [`Job::details`] is everything that the service said.
//!
//! Making one is a builder that never fails in the middle: [`CreateJob::check`]
//! says everything that is wrong with it at once, and
//! [`submit`](CreateJob::submit) refuses that before anything is sent. A job can be
//! [read from YAML](TrainingJobs::from_yaml) and [copied](Job::copy_as), too. The
//! page `CREATING.md` in this crate goes from a script on disk to a running job, and
//! lists all parameters.
//!
//! * [`Job::wait`] is a value: await it for the [`Outcome`], or
//!   [`observe`](Wait::observe) it as a stream.
//! * [`Job::events`] and [`Job::logs`] are read as they are, or followed until the
//!   job has ended.
//!
//! Lists and everything that is followed are streams that ask for more as they
//! are polled, and stop when they are dropped.
//!
//! # When something fails
//!
//! There is one [`Error`]. Ask it what it is ([`Error::is_not_found`],
//! [`Error::is_throttled`], …) and what is known ([`Error::code`],
//! [`Error::request_id`], [`Error::attempts`], …).
//!
//! Calls are sent again when that is safe: what only reads, or changes nothing
//! when it is done twice, after lost connections and passing faults of the
//! service; what makes a new thing, only if it cannot have been executed.
//! [`RetryPolicy`] says how often and for how long.
//!
//! # Everything else
//!
//! [`Client::call`] reaches every operation of the description through the
//! generated client ([`Client::api`]), signed and retried, with the same errors.
//! The types are in [`types`].

mod algorithm_facts;
mod auth;
mod chain;
mod change;
mod channel;
mod client;
mod clock;
mod cloud;
mod clouds;
mod code_dir;
mod codes;
mod copy;
mod create;
mod create_code;
mod create_data;
mod create_extras;
mod create_place;
mod document;
mod draft;
mod environment;
mod error;
mod event_kind;
mod events;
mod filter;
mod flavor_facts;
mod from_document;
mod iam;
mod input_size;
mod job;
mod limits;
mod list;
mod logs;
mod look_up;
mod metadata;
mod mismatch;
mod obs_path;
mod oidc;
mod page;
mod parameters;
mod patience;
mod place;
mod profile;
mod recommendations;
mod record;
mod refusal;
mod region;
mod renew;
mod retry;
mod rules;
mod rules_on_channels;
mod rules_on_code;
mod rules_on_extras;
mod rules_on_parameters;
mod rules_on_resources;
mod rules_on_switches;
mod rules_on_volumes;
mod search;
mod settle;
mod sign;
mod tail;
mod tls;
mod token;
mod transport;
mod violation;
mod volume;
mod wait;

pub use algorithm_facts::AlgorithmFacts;
pub use auth::{Credentials, ProvideCredentials, Tools};
pub use channel::{Input, Output};
pub use client::{Answer, Client, ClientBuilder};
pub use clock::{Clock, SystemClock};
pub use cloud::Cloud;
pub use code_dir::CodeDir;
pub use create::CreateJob;
pub use environment::Environment;
pub use error::{Error, ErrorKind};
pub use event_kind::EventKind;
pub use events::{Event, Events};
pub use filter::{Between, Filter, Like, OneOf};
pub use flavor_facts::FlavorFacts;
pub use input_size::check_input_size;
pub use job::{Job, TrainingJobs};
pub use list::ListJobs;
pub use logs::{LogItem, Logs};
pub use metadata::Metadata;
pub use modelarts_api::{self as api, lenient::Dropped, types};
pub use oidc::Oidc;
pub use page::{Page, Results};
#[doc(hidden)]
pub use parameters::parameters_as_markdown;
pub use renew::{FetchCredentials, Fetched, Renewing};
pub use retry::RetryPolicy;
pub use search::Search;
pub use sign::Signing;
pub use token::Password;
pub use violation::{Report, Violation, Warning};
pub use volume::Volume;
pub use wait::{Observation, Outcome, TerminatedBy, Wait, Waited};

/// The Rust in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So is the Rust in the page on creating jobs.
#[cfg(doctest)]
#[doc = include_str!("../CREATING.md")]
struct Creating;
