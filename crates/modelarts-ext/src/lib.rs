//! SDK for ModelArts training management on Huawei Cloud and Open Telekom Cloud: submits training
//! jobs, follows their events and logs, and waits for their end.
//!
//! Requests are authenticated, and retried if a retry is safe. Lists are streams. A job is
//! validated before it is created. A local emulator ([modelarts-emulator]) implements the same API
//! and runs training scripts, so programs and tests can run without an account.
//!
#![doc = include_str!("../FROM-ZERO.md")]
//!
//! # Modules
//!
//! The crate root exports the most common types.
//!
//! | module | for |
//! |---|---|
//! | [`client`] | connecting, settings, time limits, calling generated operations, traces |
//! | [`config`] | the two clouds; other environment variables and files than those of the process |
//! | [`credentials`] | keys, passwords, identity tokens, the metadata service, custom providers |
//! | [`jobs`] | handles and details of jobs, search, metrics, stopping and deleting |
//! | [`jobs::create`] | building, checking and submitting a job |
//! | [`guide::creating`] | from a local script to a running job |
//! | [`guide::parameters`], [`guide::environment`] | all parameters of a job; environment variables |
//! | [`jobs::wait`] | waiting for the end of one job or of hundreds of jobs |
//! | [`jobs::follow`] | phases, events and log lines of a job in one stream |
//! | [`jobs::events`], [`jobs::logs`] | events of a job; the log of a task, and numbers in it |
//! | [`jobs::diagnosis`] | the cause of a failure, a stop or a wait, with evidence and advice |
//! | [`pagination`] | reading, stopping and resuming lists |
//! | [`catalog`] | algorithms, flavors, images, quotas, experiments, tags, trials |
//! | [`operations`] | every operation of the API by its name, with JSON |
//! | [`error`] | the error type: kinds, codes, advice |
//! | [`retry`] | the retry policy, and its time limit |
//! | [`validation`] | the report of a check, and the specs that it uses |
//! | [`signing`] | the two forms of request signatures |
//! | [`connector`] | a custom HTTP connector |
//! | [`clock`] | a custom clock |
//! | `blocking` | programs without async; requires the feature `blocking` |
//! | [`types`], [`api`] | types and client that are generated from the OpenAPI description |
//!
//! The folder `examples/` contains longer programs.
//!
//! # Testing
//!
//! The emulator can simulate faults ([`retry`] has an example), and tests can advance the clock of
//! the emulator and count requests. The page [testing] describes the use of the emulator.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `rustls` (default) | TLS by rustls, with ring and the certificates of the platform |
//! | `native-tls` | TLS by the library of the platform, with `default-features = false` |
//! | `blocking` | the module `blocking`: calls without async, on a background runtime |
//! | `jiff` | conversions between [`Timestamp`] and the times of jiff 1 |
//! | `contexts` | [`Client::from_context`]: the settings of the tool `modelarts` |
//! | `chrono` | conversions between [`Timestamp`] and the times of chrono 0.4 |
//! | `generate` | generates the code of modelarts-api at build time, instead of the packaged code |
//!
//! The crate installs no process-wide crypto provider; see [`client`] for programs with reqwest.
//!
//! [modelarts-emulator]: https://docs.rs/modelarts-emulator
//! [modelarts-obs]: https://docs.rs/modelarts-obs
//! [testing]: https://docs.rs/modelarts-emulator/latest/modelarts_emulator/guide/testing/

#[cfg(feature = "blocking")]
pub mod blocking;
pub mod catalog;
pub mod client;
pub mod clock;
pub mod config;
pub mod credentials;
pub mod error;
mod http;
pub mod jobs;
mod list_position;
#[doc(hidden)]
pub mod masking;
pub mod operations;
pub mod pagination;
#[doc(hidden)]
pub mod spelling;
mod timestamp;
mod transport;
pub mod validation;

pub mod guide {
    //! Guides, which the repository contains as Markdown files.

    // The examples use modelarts-obs, so the doc tests of that crate compile the page.
    #[cfg_attr(not(doctest), doc = include_str!("../CREATING.md"))]
    #[cfg_attr(doctest, doc = "The page is tested by modelarts-obs.")]
    pub mod creating {}

    #[doc = include_str!("../PARAMETERS.md")]
    pub mod parameters {}

    #[doc = include_str!("../ENVIRONMENT.md")]
    pub mod environment {}
}

pub use client::{Client, ClientBuilder, Response};
pub use credentials::Credentials;
pub use error::{Error, ErrorKind};
pub use http::signing;
pub use jobs::{
    Filter, Job, JobHandle, TrainingJobs,
    create::CreateJob,
    events::{Event, EventKind},
    logs::LogItem,
    wait::Outcome,
};
pub use modelarts_api::{self as api, types};
#[doc(no_inline)]
pub use retry::RetryPolicy;
pub use timestamp::Timestamp;
pub use transport::{connector, retry};
